// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import io.fairlead.controller.resources.health.ProbeNode.Fault;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What the probes that reach anything say of one service's backends. Pure.
 *
 * <p>More than half of them decide. While several muxes live, one alone calls no backend down: its
 * own way may be broken.
 *
 * @param probes that have probed the service by its present check
 * @param needed of them, at least, that call a backend down
 * @param unprobed probes that do not probe it, or not all backends: "mux1: no_source"
 */
public record Evidence(int probes, int needed, List<String> unprobed, Map<Integer, Votes> votes) {
  /** Of a backend. */
  public enum Verdict {
    UP,
    DOWN,
    UNKNOWN
  }

  /**
   * Probes by what they say of a backend.
   *
   * @param silent those of {@code down} to which nothing came back
   * @param skipped those that do not probe it
   * @param faults by mux
   */
  public record Votes(int up, int down, int silent, int skipped, SortedMap<String, Fault> faults) {
    public static final Votes NONE = new Votes(0, 0, 0, 0, new TreeMap<>());

    /** The reason of most probes. */
    public Optional<String> reason() {
      Map<String, Integer> counts = new TreeMap<>();
      faults.values().forEach(fault -> counts.merge(fault.reason(), 1, Integer::sum));
      return counts.entrySet().stream()
          .max(
              Map.Entry.<String, Integer>comparingByValue()
                  .thenComparing(Map.Entry.comparingByKey(Comparator.reverseOrder())))
          .map(Map.Entry::getKey);
    }
  }

  /**
   * @param config when the service's present configuration was written, Unix milliseconds
   * @param fresh nodes of probes that are there
   * @param muxes that live
   */
  public static Evidence of(
      String service, int id, long config, Collection<ProbeNode> fresh, int muxes) {
    int probes = 0;
    List<String> unprobed = new ArrayList<>();
    Map<Integer, Votes> votes = new TreeMap<>();
    for (ProbeNode node : fresh) {
      ProbeNode.Service found = node.services().get(service);
      if (found == null || found.config() != config) {
        continue;
      }
      if (found.unprobed().isPresent()) {
        unprobed.add(node.id() + ": " + found.why().orElse(found.unprobed().get()));
      } else if (found.id() == id && node.reachesAny()) {
        probes++;
        found.up().stream().forEach(each -> votes.merge(each, UP, Evidence::sum));
        found
            .down()
            .forEach(
                (each, fault) -> {
                  SortedMap<String, Fault> faults = new TreeMap<>(Map.of(node.id(), fault));
                  int silent = found.silent().get(each) ? 1 : 0;
                  votes.merge(each, new Votes(0, 1, silent, 0, faults), Evidence::sum);
                });
        found.skipped().stream().forEach(each -> votes.merge(each, SKIPPED, Evidence::sum));
        if (!found.skipped().isEmpty()) {
          unprobed.add(
              "%s, %d of its backends: %s"
                  .formatted(
                      node.id(), found.skipped().cardinality(), found.why().orElse("no_source")));
        }
      }
    }
    return new Evidence(probes, muxes > 1 ? 2 : 1, unprobed, votes);
  }

  private static final Votes UP = new Votes(1, 0, 0, 0, new TreeMap<>());
  private static final Votes SKIPPED = new Votes(0, 0, 0, 1, new TreeMap<>());

  private static Votes sum(Votes one, Votes other) {
    SortedMap<String, Fault> faults = new TreeMap<>(one.faults());
    faults.putAll(other.faults());
    return new Votes(
        one.up() + other.up(),
        one.down() + other.down(),
        one.silent() + other.silent(),
        one.skipped() + other.skipped(),
        faults);
  }

  public Votes votes(int backend) {
    return votes.getOrDefault(backend, Votes.NONE);
  }

  /** Whether nothing comes back from it to any of the probes, of which there are enough. */
  public boolean isSilent(int backend) {
    Votes of = votes(backend);
    return of.silent() >= needed && of.silent() == probes - of.skipped();
  }

  /** What more than half of its probes say; those that do not know yet count as well. */
  public Verdict verdict(int backend) {
    Votes of = votes(backend);
    int all = probes - of.skipped();
    if (2 * of.down() > all && of.down() >= needed) {
      return Verdict.DOWN;
    }
    return 2 * of.up() > all ? Verdict.UP : Verdict.UNKNOWN;
  }
}
