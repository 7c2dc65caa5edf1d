// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.words;

import java.util.Arrays;
import java.util.stream.Collectors;

/** How muxes wrap a service's packets (protocol/README.md §2). */
public enum Encap implements Word {
  GUE(true, true, true),
  SRV6(true, true, false),
  IPIP(false, false, true);

  /** The option's help text. */
  public static final String HELP =
      "gue (default); srv6: segment routing, to IPv6 servers; ipip: as in the Beamer paper, IPv4"
          + " only.";

  private final boolean carriesIpv6;
  private final boolean carriesNamed;
  private final boolean reachesIpv4;

  /**
   * An encapsulation.
   *
   * @param carriesIpv6 whether VIPs and backends may be IPv6
   * @param carriesNamed whether it carries packets that name their backend: of MPTCP and QUIC
   * @param reachesIpv4 whether backends may be IPv4
   */
  Encap(boolean carriesIpv6, boolean carriesNamed, boolean reachesIpv4) {
    this.carriesIpv6 = carriesIpv6;
    this.carriesNamed = carriesNamed;
    this.reachesIpv4 = reachesIpv4;
  }

  public boolean carriesIpv6() {
    return carriesIpv6;
  }

  public boolean carriesNamed() {
    return carriesNamed;
  }

  public boolean reachesIpv4() {
    return reachesIpv4;
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
