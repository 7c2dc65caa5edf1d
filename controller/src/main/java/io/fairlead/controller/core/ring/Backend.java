// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

/**
 * A backend of a ring. A removed one keeps its address, because histories of buckets that it owned
 * still name it.
 *
 * @param weight its share of the buckets, 0..65535; 0 if it is draining or removed
 * @param dead whether it was removed since its machine is gone: no history names it
 * @param foreign whether it is an SRv6 end-point that does not know the protocol: packets to it
 *     carry no list, and it is the last of any
 */
public record Backend(
    int id, Address address, int weight, boolean removed, boolean dead, boolean foreign) {
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
    if (dead && !removed) {
      throw new IllegalArgumentException("backend %d is dead and not removed".formatted(id));
    }
  }

  public Backend(int id, Address address, int weight, boolean removed) {
    this(id, address, weight, removed, false, false);
  }

  /** A backend of which only the address matters. */
  public Backend(int id, Address address, boolean removed) {
    this(id, address, 0, removed);
  }

  /** One whose machine is gone. */
  public static Backend dead(int id, Address address) {
    return new Backend(id, address, 0, true, true, false);
  }
}
