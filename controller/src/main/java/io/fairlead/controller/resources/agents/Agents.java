// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.http.Sender;
import io.fairlead.controller.resources.agents.AgentReports.Outcome;
import io.fairlead.controller.resources.agents.AgentReports.Place;
import io.fairlead.controller.resources.agents.AgentReports.Standing;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.store.repository.StoredService;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** What agents ask for and what they may report: the rules in front of {@link AgentReports}. */
public final class Agents {
  private final Plane plane;
  private final AgentReports reports;
  private final ConnectionReports connections;

  @GuardedBy("this")
  private ServedServices served = ServedServices.none();

  public Agents(Plane plane, AgentReports reports, ConnectionReports connections) {
    this.plane = plane;
    this.reports = reports;
    this.connections = connections;
  }

  /** The services that the sender's server serves. */
  ServedServices.View services(Sender sender) {
    return served(plane.services()).view(sender.addresses());
  }

  /**
   * Takes in a report.
   *
   * @throws Refusal naming the field
   */
  Taken report(Sender sender, Report report) {
    Set<Address> addresses = addresses(report);
    sender.addresses().ifPresent(own -> checkOwn(sender, own, report, addresses));
    ServedServices now = served(plane.services());
    String version = now.view(sender.addresses()).version();
    boolean isCurrent = report.servicesVersion().equals(version);
    List<Place> places = now.places(addresses);
    checkServices(report, places, isCurrent);
    checkLoads(report, places, isCurrent);
    Map<String, ConnectionReports.Changes> changes = changes(report, isCurrent);
    Outcome outcome = reports.accept(report, addresses, isCurrent, places);
    int nextSeconds = outcome.nextSeconds();
    List<Report.Remembered> remembered = new ArrayList<>();
    for (Place place : places) {
      connections
          .accept(
              place,
              Optional.ofNullable(changes.get(place.service())).filter(any -> outcome.isNew()))
          .ifPresent(remembered::add);
      nextSeconds =
          Math.min(nextSeconds, connections.nextSeconds(place.service()).orElse(nextSeconds));
    }
    return new Taken(
        outcome.isNew(),
        isCurrent,
        new Report.Reply(
            Report.FORMAT, version, nextSeconds, outcome.questions(), List.copyOf(remembered)));
  }

  /** The connections of a report, decoded: by service, of those that ask. */
  private Map<String, ConnectionReports.Changes> changes(Report report, boolean isCurrent) {
    Map<String, ConnectionReports.Changes> changes = new HashMap<>();
    for (int i = 0; isCurrent && i < report.services().size(); i++) {
      Report.Service service = report.services().get(i);
      if (service.connections().isPresent()) {
        String field = "services[%d].connections".formatted(i);
        if (!connections.asks(service.name())) {
          throw Refusal.invalid(field, service.name(), "services that ask for connections");
        }
        changes.put(
            service.name(), ConnectionReports.Changes.of(field, service.connections().get()));
      }
    }
    return changes;
  }

  /**
   * @param isNew whether it is newer than those before
   * @param isCurrent whether the agent counts for the services as they are now
   */
  record Taken(boolean isNew, boolean isCurrent, Report.Reply reply) {}

  /** What is known of every backend in service, by service and number. */
  public List<AgentView> list() {
    return list(plane.services());
  }

  /** As {@link #list()}, of these services by ascending name. */
  public List<AgentView> list(Collection<StoredService> services) {
    List<AgentView> views = new ArrayList<>();
    for (StoredService service : services) {
      ServiceImage image = service.image();
      String name = image.config().name();
      for (Backend backend : image.ring().backends().values()) {
        if (!backend.removed()) {
          views.add(
              AgentView.of(
                  name,
                  backend.id(),
                  backend.address().toString(),
                  reports.seen(name, new Standing(image.config().id(), backend.address()))));
        }
      }
    }
    return views;
  }

  private synchronized ServedServices served(Collection<StoredService> services) {
    ServedServices next = served.next(services);
    if (next != served) {
      served = next;
      reports.retain(next.addresses(), next.names());
    }
    return next;
  }

  private static Set<Address> addresses(Report report) {
    Set<Address> addresses = new LinkedHashSet<>();
    for (int i = 0; i < report.addresses().size(); i++) {
      String text = report.addresses().get(i);
      Optional<Address> address = Address.parse(text).filter(Address::isUnicast);
      if (address.isEmpty()) {
        throw Refusal.invalid(
            "addresses[%d]".formatted(i), text, "an IPv4 or IPv6 address of a server");
      }
      if (!addresses.add(address.get())) {
        throw Refusal.invalid("addresses[%d]".formatted(i), text, "each address once");
      }
    }
    return addresses;
  }

  private static void checkOwn(
      Sender sender, Set<Address> own, Report report, Set<Address> addresses) {
    int at = 0;
    for (Address address : addresses) {
      if (!own.contains(address)) {
        throw Refusal.forbidden(
            "addresses[%d]".formatted(at),
            report.addresses().get(at),
            "%s, of which %s is"
                .formatted(
                    own.stream().map(Address::toString).sorted().collect(Collectors.joining(", ")),
                    sender.name()));
      }
      at++;
    }
  }

  private static void checkLoads(Report report, List<Place> places, boolean isCurrent) {
    Set<String> loaded =
        places.stream()
            .filter(place -> place.config().hasTwoBuckets())
            .map(Place::service)
            .collect(Collectors.toSet());
    for (int i = 0; isCurrent && i < report.services().size(); i++) {
      Report.Service service = report.services().get(i);
      if (service.load().isPresent() && !loaded.contains(service.name())) {
        throw Refusal.invalid(
            "services[%d].load".formatted(i),
            service.name(),
            "services with steering hunt or maat");
      }
    }
  }

  /** What an agent with other services reports is not used, so it may name former services. */
  private static void checkServices(Report report, List<Place> places, boolean isCurrent) {
    Set<String> names = places.stream().map(Place::service).collect(Collectors.toSet());
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < report.services().size(); i++) {
      String name = report.services().get(i).name();
      if (!seen.add(name)) {
        throw Refusal.invalid("services[%d].name".formatted(i), name, "each service once");
      }
      if (isCurrent && !names.contains(name)) {
        throw Refusal.forbidden(
            "services[%d].name".formatted(i),
            name,
            "services in whose pool one of %s stands: %s"
                .formatted(
                    String.join(", ", report.addresses()),
                    names.isEmpty() ? "none" : String.join(", ", names)));
      }
    }
  }
}
