// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import com.google.common.hash.Hashing;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.http.Answer;
import io.fairlead.controller.resources.agents.AgentReports.Place;
import io.fairlead.controller.resources.agents.ServedService.ServedBackend;
import io.fairlead.controller.store.repository.StoredService;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which services each server serves, of one state of all services. A removed backend counts while a
 * bucket's history names it: its connections are asked for. Every controller computes the same
 * version from the same services.
 */
public final class ServedServices {
  /**
   * The answer to an agent.
   *
   * @param version of the services
   * @param asksForm whether reports are to say if a server is attached: agents do not tell older
   *     controllers, who would refuse it
   * @param asksSignals whether reports are to have signals; likewise
   */
  public record View(
      int format,
      String version,
      boolean asksForm,
      boolean asksSignals,
      List<ServedService> services) {}

  /** A service and the backends at an address. */
  private record Spot(ServiceConfig config, Backend backend) {}

  /** Of one service, as of an image. */
  private record Listed(ServiceImage image, List<Backend> backends) {
    boolean isLike(Listed other) {
      return other != null
          && image.config().equals(other.image().config())
          && backends.equals(other.backends());
    }
  }

  /** Hashed, since each report looks all of them up. */
  private final Map<String, Listed> services;

  private final Map<Address, List<Spot>> spots = new HashMap<>();
  private final Map<Optional<Set<Address>>, View> views = new ConcurrentHashMap<>();

  private ServedServices(Map<String, Listed> services) {
    this.services = new HashMap<>(services);
    for (Listed listed : services.values()) {
      for (Backend backend : listed.backends()) {
        spots
            .computeIfAbsent(backend.address(), address -> new ArrayList<>(1))
            .add(new Spot(listed.image().config(), backend));
      }
    }
  }

  static ServedServices none() {
    return new ServedServices(new TreeMap<>());
  }

  /**
   * The state of {@code stored}: this one, if no agent would notice a difference. Rings that are
   * known are not walked again. Not thread-safe, unlike all other methods.
   */
  ServedServices next(Collection<StoredService> stored) {
    if (isOf(stored)) {
      return this;
    }
    SortedMap<String, Listed> now = new TreeMap<>();
    boolean isLike = stored.size() == services.size();
    for (StoredService each : stored) {
      Listed before = services.get(each.image().config().name());
      Listed listed = listed(each.image(), before);
      isLike &= listed.isLike(before);
      now.put(each.image().config().name(), listed);
    }
    if (isLike) {
      services.putAll(now);
      return this;
    }
    return new ServedServices(now);
  }

  private boolean isOf(Collection<StoredService> stored) {
    if (stored.size() != services.size()) {
      return false;
    }
    for (StoredService each : stored) {
      Listed known = services.get(each.image().config().name());
      if (known == null || known.image() != each.image()) {
        return false;
      }
    }
    return true;
  }

  private static Listed listed(ServiceImage image, Listed before) {
    boolean isSameRing = before != null && before.image().ring() == image.ring();
    return new Listed(image, isSameRing ? before.backends() : image.ring().listedBackends());
  }

  /** The addresses of all servers. */
  Set<Address> addresses() {
    return spots.keySet();
  }

  Set<String> names() {
    return Set.copyOf(services.keySet());
  }

  /** What the agent at these addresses counts; without addresses, what all agents count. */
  View view(Optional<Set<Address>> addresses) {
    return views.computeIfAbsent(addresses, this::make);
  }

  private View make(Optional<Set<Address>> addresses) {
    List<ServedService> served = new ArrayList<>();
    at(addresses.orElse(spots.keySet()))
        .forEach(
            (name, found) ->
                served.add(
                    ServedService.of(
                        found.get(0).config(),
                        found.stream()
                            .map(Spot::backend)
                            .map(each -> new ServedBackend(each.id(), each.address().toString()))
                            .toList())));
    String version =
        Hashing.sha256().hashBytes(Answer.encode(served).getBytes()).toString().substring(0, 16);
    return new View(Report.FORMAT, version, true, true, served);
  }

  /** Where these addresses stand, by ascending name of the service. */
  List<Place> places(Set<Address> addresses) {
    List<Place> places = new ArrayList<>();
    at(addresses)
        .forEach(
            (name, found) -> {
              places.add(
                  new Place(
                      found.get(0).config(),
                      found.stream().map(spot -> spot.backend().id()).toList()));
            });
    return places;
  }

  /** By service, the backends at these addresses by ascending id. */
  private SortedMap<String, List<Spot>> at(Set<Address> addresses) {
    SortedMap<String, List<Spot>> found = new TreeMap<>();
    for (Address address : addresses) {
      for (Spot spot : spots.getOrDefault(address, List.of())) {
        found.computeIfAbsent(spot.config().name(), name -> new ArrayList<>()).add(spot);
      }
    }
    found
        .values()
        .forEach(list -> list.sort((a, b) -> Integer.compare(a.backend().id(), b.backend().id())));
    return found;
  }
}
