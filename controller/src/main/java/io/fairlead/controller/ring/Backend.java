// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

/**
 * A backend as the ring knows it. A removed one keeps its address, because buckets that it owned
 * name it as previous until their window closes.
 *
 * @param weight its share of the buckets, 0..65535; 0 is draining, and that of a removed one
 */
public record Backend(int id, Address address, int weight, boolean removed) {
  public static final int WEIGHT_MAX = 65535;
  public static final int NONE = 0;
  public static final int MAX = 65535;

  public Backend {
    if (id <= NONE || id > MAX) {
      throw new IllegalArgumentException("backend id %d; allowed: 1..65535".formatted(id));
    }
    if (weight < 0 || weight > WEIGHT_MAX) {
      throw new IllegalArgumentException(
          "weight %d of backend %d; allowed: 0..65535".formatted(weight, id));
    }
  }

  /** One of whom only the address counts. */
  public Backend(int id, Address address, boolean removed) {
    this(id, address, 0, removed);
  }
}
