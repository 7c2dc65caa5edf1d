// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Backends that muxes can't send to now, by what muxes say in their nodes. Nothing is refused: a
 * machine may be added before it is switched on.
 */
public final class Unreachable {
  private static final int NAMED = 8;

  private Unreachable() {}

  /** The muxes that can't send to an address, by ascending id. */
  public static List<String> muxesOf(String address, List<MuxView> muxes) {
    return muxes.stream()
        .filter(mux -> mux.unreachable().containsKey(address))
        .map(MuxView::id)
        .toList();
  }

  /** A warning for each set of muxes and reason, over these addresses. */
  public static List<String> warnings(Collection<String> addresses, List<MuxView> muxes) {
    Map<String, List<String>> warned = new TreeMap<>();
    List<MuxView> missing = muxes.stream().filter(mux -> !mux.unreachable().isEmpty()).toList();
    for (String address : addresses) {
      List<String> ids = muxesOf(address, missing);
      if (!ids.isEmpty()) {
        String by =
            ids.size() == muxes.size()
                ? (muxes.size() == 1 ? "the only mux" : "all %d muxes".formatted(muxes.size()))
                : named(ids);
        MuxView first =
            missing.stream().filter(mux -> mux.id().equals(ids.get(0))).findFirst().get();
        String why = "%s (%s)".formatted(by, meaning(first.unreachable().get(address)));
        warned.computeIfAbsent(why, key -> new ArrayList<>()).add(address);
      }
    }
    return warned.entrySet().stream()
        .map(
            each ->
                "packets to %s are dropped by %s".formatted(listed(each.getValue()), each.getKey()))
        .toList();
  }

  private static String meaning(String word) {
    return switch (word) {
      case "no_neighbour" -> "no_neighbour: no route, or no answer to ARP or neighbour discovery";
      case "loop" -> "loop: the address is a VIP or a mux";
      default -> word;
    };
  }

  /** Muxes, the first of them by their ids. */
  static String named(List<String> ids) {
    return (ids.size() == 1 ? "mux " : "muxes ") + listed(ids);
  }

  private static String listed(List<String> words) {
    int more = words.size() - NAMED;
    String first = String.join(", ", words.subList(0, Math.min(words.size(), NAMED)));
    return more > 0 ? "%s and %d more".formatted(first, more) : first;
  }
}
