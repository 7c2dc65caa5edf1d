// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering;

import io.fairlead.controller.core.words.Encap;
import java.util.ArrayList;
import java.util.List;

/**
 * The bucket is what two arrays give for a hash; the controller computes them so that connections
 * which it knows keep their servers (protocol/README.md §12). Before there are any arrays, the
 * bucket is the low bits of the hash, as with {@code ring}.
 */
final class OthelloSteering implements Steering {
  private static final int BUCKETS_MAX = 65_536;

  @Override
  public String word() {
    return "othello";
  }

  @Override
  public List<Violation> check(Spec spec) {
    List<Violation> found = new ArrayList<>();
    if (!spec.hasOnlyTcp()) {
      found.add(
          violation(
              "ports", "udp", "tcp only; for udp ports, a service of its own with steering ring"));
    }
    if (spec.buckets() > BUCKETS_MAX) {
      found.add(violation("buckets", spec.buckets(), "256..65536"));
    }
    if (spec.encap() != Encap.GUE) {
      found.add(violation("encap", spec.encap(), "gue"));
    }
    if (spec.holdSeconds() > 0) {
      found.add(
          violation("holdSeconds", spec.holdSeconds(), "0: known connections outlive the window"));
    }
    if (spec.namesQuicServers()) {
      found.add(violation("quicServerId", "a place", "none"));
    }
    if (spec.statelessUdp()) {
      found.add(violation("statelessUdp", true, "false"));
    }
    return found;
  }

  private static Violation violation(String field, Object value, String allowed) {
    return new Violation(field, value, allowed + ", with steering othello");
  }
}
