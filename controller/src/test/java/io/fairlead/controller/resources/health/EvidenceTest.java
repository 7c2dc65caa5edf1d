// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.resources.health.Evidence.Verdict;
import io.fairlead.controller.resources.health.ProbeNode.Fault;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What probes say of backend 1, of which each row has a letter a probe. */
class EvidenceTest {
  private static final Fault REFUSED = new Fault("refused", "10.99.0.1", "tcp", 80);

  /**
   * u: up, d: down, s: down and silent as are all, ?: unknown, o: down by an older check, i: down
   * in a service of another id, n: not probed, k: skipped by a probe of others.
   */
  private static ProbeNode node(int number, char found) {
    BitSet up = new BitSet();
    BitSet silent = new BitSet();
    BitSet skipped = new BitSet();
    SortedMap<Integer, Fault> down = new TreeMap<>();
    if (found == 'u') {
      up.set(1);
    } else if (found == 'k') {
      skipped.set(1);
    } else if (found != '?' && found != 'n') {
      down.put(1, REFUSED);
    }
    if (found == 's' || found == 'S') {
      silent.set(1);
    }
    if (found != 's') {
      up.set(2);
    }
    SortedMap<String, ProbeNode.Service> services = new TreeMap<>();
    services.put(
        "web",
        new ProbeNode.Service(
            found == 'i' ? 8 : 7,
            found == 'o' ? 99 : 100,
            found == 'n' ? Optional.of("no_source") : Optional.empty(),
            Optional.empty(),
            up,
            down,
            silent,
            skipped));
    return new ProbeNode("mux" + number, services);
  }

  @ParameterizedTest
  @CsvSource({
    "'', 2, UNKNOWN, 0",
    "u, 1, UP, 1",
    "d, 1, DOWN, 1",
    "d, 2, UNKNOWN, 1",
    "u, 2, UP, 1",
    "ud, 2, UNKNOWN, 2",
    "dd, 2, DOWN, 2",
    "d?, 2, UNKNOWN, 2",
    "u?, 2, UNKNOWN, 2",
    "ddu, 3, DOWN, 3",
    "duu, 3, UP, 3",
    "dd?, 3, DOWN, 3",
    "dduu, 4, UNKNOWN, 4",
    "ssu, 3, UP, 1",
    "ss, 2, UNKNOWN, 0",
    "dds, 3, DOWN, 2",
    "ddoo, 4, DOWN, 2",
    "do, 2, UNKNOWN, 1",
    "ii, 2, UNKNOWN, 0",
    "ddn, 3, DOWN, 2",
    "dn, 2, UNKNOWN, 1",
    "dddd, 1, DOWN, 4",
    "ddk, 3, DOWN, 3",
    "dk, 2, UNKNOWN, 2",
    "dk, 1, DOWN, 2",
    "uk, 2, UP, 2",
    "ukk, 3, UP, 3",
    "kk, 2, UNKNOWN, 2",
    "duk, 3, UNKNOWN, 3",
  })
  void mostOfTheProbesThatReachAnythingDecide(
      String found, int muxes, Verdict verdict, int probes) {
    List<ProbeNode> nodes = new ArrayList<>();
    for (int i = 0; i < found.length(); i++) {
      nodes.add(node(i, found.charAt(i)));
    }
    Evidence evidence = Evidence.of("web", 7, 100, nodes, muxes);
    assertThat(evidence.verdict(1)).isEqualTo(verdict);
    assertThat(evidence.probes()).isEqualTo(probes);
    assertThat(evidence.verdict(3)).isEqualTo(Verdict.UNKNOWN);
    assertThat(Evidence.of("other", 7, 100, nodes, muxes).verdict(1)).isEqualTo(Verdict.UNKNOWN);
    assertThat(evidence.unprobed())
        .hasSize((int) found.chars().filter(c -> c == 'n' || c == 'k').count());
    if (verdict == Verdict.DOWN) {
      assertThat(evidence.votes(1).reason()).contains("refused");
    }
  }

  /** S: silent, where others answer. */
  @ParameterizedTest
  @CsvSource({
    "'', 1, false",
    "S, 1, true",
    "S, 2, false",
    "SS, 2, true",
    "SSd, 3, false",
    "SSu, 3, false",
    "SS?, 3, false",
    "SSs, 3, true",
    "SSn, 3, true",
    "SSo, 3, true",
    "SSk, 3, true",
    "Sk, 2, false",
    "kk, 2, false",
  })
  void silentIsWhatAllOfThemFindSilent(String found, int muxes, boolean isSilent) {
    List<ProbeNode> nodes = new ArrayList<>();
    for (int i = 0; i < found.length(); i++) {
      nodes.add(node(i, found.charAt(i)));
    }
    assertThat(Evidence.of("web", 7, 100, nodes, muxes).isSilent(1)).isEqualTo(isSilent);
  }
}
