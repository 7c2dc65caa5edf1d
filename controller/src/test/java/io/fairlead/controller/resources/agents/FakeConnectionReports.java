// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import io.fairlead.controller.resources.agents.AgentReports.Place;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/** Asks for the connections of some services, and keeps what it is told. */
public final class FakeConnectionReports implements ConnectionReports {
  public final Set<String> asking = new HashSet<>();
  public final List<Changes> taken = new ArrayList<>();

  @Override
  public boolean asks(String service) {
    return asking.contains(service);
  }

  @Override
  public Optional<Report.Remembered> accept(Place place, Optional<Changes> changes) {
    changes.ifPresent(taken::add);
    return asks(place.service())
        ? Optional.of(new Report.Remembered(place.service(), "memory", "mark", Optional.empty()))
        : Optional.empty();
  }

  @Override
  public OptionalInt nextSeconds(String service) {
    return asks(service) ? OptionalInt.of(5) : OptionalInt.empty();
  }
}
