// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;

/** Counts what keepers do, by service; all of them there from a service's start. */
public final class OthelloCounters {
  private static final String BUILDS = "fairlead.othello.builds";
  private static final String CLAIMS = "fairlead.othello.refused.claims";
  private static final String REPORTS = "fairlead.othello.refused.reports";
  private static final String COMMITS = "fairlead.othello.commits";
  private static final String BYTES = "fairlead.othello.committed.bytes";

  private final MeterRegistry registry;

  public OthelloCounters(MeterRegistry registry) {
    this.registry = registry;
  }

  void began(String service) {
    List.of("change", "fresh").forEach(kind -> add(BUILDS, service, "kind", kind, 0));
    List.of("whole", "patch", "repair", "settle", "release")
        .forEach(kind -> add(COMMITS, service, "kind", kind, 0));
    refusedClaims(service, RefusedClaims.NONE);
    registry.counter(REPORTS, "service", service);
    registry.counter(BYTES, "service", service);
  }

  void built(String service, String kind) {
    add(BUILDS, service, "kind", kind, 1);
  }

  void refusedClaims(String service, RefusedClaims refused) {
    add(CLAIMS, service, "reason", "implausible", refused.implausible());
    add(CLAIMS, service, "reason", "contested", refused.contested());
  }

  void refusedReport(String service) {
    registry.counter(REPORTS, "service", service).increment();
  }

  /**
   * A generation.
   *
   * @param kind what it did to the arrays, or {@code keep}: it kept buckets open
   * @param bytes of arrays
   */
  void committed(String service, String kind, long bytes) {
    add(COMMITS, service, "kind", kind, 1);
    registry.counter(BYTES, "service", service).increment(bytes);
  }

  private void add(String name, String service, String label, String value, long count) {
    registry.counter(name, "service", service, label, value).increment(count);
  }
}
