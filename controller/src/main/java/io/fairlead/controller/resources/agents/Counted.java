// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import io.fairlead.controller.resources.agents.AgentReports.Place;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What reports of a server added up to, of one service. It goes on when the server's services
 * change.
 *
 * @param service the id
 * @param signals empty if no report had any
 */
record Counted(int service, Offers offers, Optional<Signaled> signals) {
  /**
   * By service, with a report. An agent may not know the current list of services yet; what it
   * reports counts all the same. Its numbers belong to the service of that name if that service is
   * known.
   *
   * @param last what the reports before it added up to
   */
  static Map<String, Counted> of(
      Report report,
      Map<String, Counted> last,
      boolean isSameBoot,
      boolean isCurrent,
      Map<String, Place> places) {
    Map<String, Counted> counts = new HashMap<>();
    last.forEach(
        (name, counted) -> {
          Place place = places.get(name);
          if (place != null && place.id() == counted.service()) {
            counts.put(name, counted);
          }
        });
    for (Report.Service service : report.services()) {
      Place place = places.get(service.name());
      if (place == null || !isCurrent && !counts.containsKey(service.name())) {
        continue;
      }
      Counted before =
          counts.getOrDefault(
              service.name(), new Counted(place.id(), Offers.NONE, Optional.empty()));
      counts.put(service.name(), before.plus(service, isSameBoot));
    }
    return counts;
  }

  private Counted plus(Report.Service report, boolean isSameBoot) {
    return new Counted(
        service,
        report.load().map(offers::plus).orElse(offers),
        report.signals().map(told -> Signaled.of(told, signals, isSameBoot)).or(() -> signals));
  }
}
