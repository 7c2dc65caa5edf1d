// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import java.util.Map;
import java.util.Set;

/**
 * Codes that the next arrays give to connections that several servers claim: since it is not known
 * whose they are, their packets must reach all of these.
 *
 * @param codes by connection
 * @param split those of them of whose claimants no single code leads to all. The next arrays give
 *     them the other one, so that both codes stay; until then they need the arrays before
 */
public record Pins(Map<Long, Integer> codes, Set<Long> split) {
  public static final Pins NONE = new Pins(Map.of(), Set.of());

  /** Which code a connection must have. */
  public record Pin(int code, boolean isSplit) {}

  void put(long key, Pin pin) {
    codes.put(key, pin.code());
    if (pin.isSplit()) {
      split.add(key);
    }
  }

  /** The connection's code, null if it may have any of its server. */
  Integer code(long key) {
    return codes.isEmpty() ? null : codes.get(key);
  }

  /** Whether a connection that has a pin needs no other code. */
  boolean fits(long key, int code) {
    return codes.get(key) == code || split.contains(key);
  }
}
