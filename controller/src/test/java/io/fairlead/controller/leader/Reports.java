// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static java.util.stream.Collectors.toSet;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.resources.agents.AgentReports;
import io.fairlead.controller.resources.agents.Report;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** What agents report to a controller of this process about its service "web". */
final class Reports {
  private long sequence;

  static Report.Service web(
      long established, Optional<Report.Answer> answer, Optional<Report.Load> load) {
    return new Report.Service(
        "web",
        established,
        0,
        Optional.empty(),
        0,
        0,
        answer,
        Optional.empty(),
        load,
        Optional.empty());
  }

  /** The server of a backend that {@link Requests#add} has added; returns what it is asked. */
  List<Report.Question> from(
      FairleadController controller, int backend, Report.Service... services) {
    return from(controller, Set.of("10.1.0." + backend), List.of(backend), services);
  }

  List<Report.Question> from(
      FairleadController controller,
      Set<String> addresses,
      List<Integer> backends,
      Report.Service... services) {
    ServiceConfig config = controller.plane().read("web", stored -> stored.image().config());
    Report report =
        new Report(
            Report.FORMAT,
            "%032x".formatted(backends.get(0)),
            ++sequence,
            "test",
            "events",
            List.copyOf(addresses),
            "v",
            0,
            List.of(services),
            Optional.empty());
    return controller
        .softState()
        .reports()
        .accept(
            report,
            addresses.stream().map(each -> Address.parse(each).orElseThrow()).collect(toSet()),
            true,
            List.of(new AgentReports.Place(config, backends)))
        .questions();
  }
}
