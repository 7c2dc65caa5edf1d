// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.image;

/**
 * A backend as the ring knows it. A removed one keeps its address, because buckets that it owned
 * name it as previous until their window closes.
 */
public record Backend(int id, Address address, boolean removed) {
  public static final int NONE = 0;
  public static final int MAX = 65535;

  public Backend {
    if (id <= NONE || id > MAX) {
      throw new IllegalArgumentException("backend id %d; allowed: 1..65535".formatted(id));
    }
  }
}
