// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.word;

import java.util.Arrays;
import java.util.stream.Collectors;

/** How muxes wrap a service's packets (protocol/README.md §2). */
public enum Encap implements Word {
  GUE(true, true),
  IPIP(false, false);

  /** What the help of commands says. */
  public static final String HELP = "gue (default), or ipip: the Beamer paper's, IPv4 alone.";

  private final boolean carriesIpv6;
  private final boolean carriesNamed;

  /**
   * An encapsulation.
   *
   * @param carriesIpv6 whether VIPs and backends may be IPv6
   * @param carriesNamed whether it carries packets that name their backend: of MPTCP and QUIC
   */
  Encap(boolean carriesIpv6, boolean carriesNamed) {
    this.carriesIpv6 = carriesIpv6;
    this.carriesNamed = carriesNamed;
  }

  public boolean carriesIpv6() {
    return carriesIpv6;
  }

  public boolean carriesNamed() {
    return carriesNamed;
  }

  /** The words of those that carry packets that name their backend, for error messages. */
  public static String wordsThatCarryNamed() {
    return Arrays.stream(values())
        .filter(Encap::carriesNamed)
        .map(Word::word)
        .collect(Collectors.joining(", "));
  }

  @Override
  public String toString() {
    return word();
  }
}
