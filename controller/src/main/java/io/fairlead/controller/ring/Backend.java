// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

/**
 * A backend of a ring. A removed one keeps its address, because buckets that it owned name it as
 * previous owner until their window closes.
 *
 * @param weight its share of the buckets, 0..65535; 0 if it is draining or removed, {@link
 *     #DEAD_WEIGHT} if it was removed since its machine is gone
 */
public record Backend(int id, Address address, int weight, boolean removed) {
  public static final int WEIGHT_MAX = 65535;
  public static final int DEAD_WEIGHT = 1;
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

  /** Whether its machine is gone: nothing is chained to it, and it passes nothing on. */
  public boolean isDead() {
    return removed && weight == DEAD_WEIGHT;
  }

  /** A backend of which only the address matters. */
  public Backend(int id, Address address, boolean removed) {
    this(id, address, 0, removed);
  }
}
