// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.targets;

import io.fairlead.controller.resources.muxes.MetricsUrl;
import io.fairlead.controller.resources.muxes.MuxView;
import java.net.URI;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * What runs and can be scraped, in the form of Prometheus' service discovery by HTTP or file.
 * Servers and their agents are not among them: they listen nowhere.
 *
 * @param controllers ids of those that run, HOSTNAME/HOST:PORT as {@code Main} makes them
 * @param own this controller's URL; others are taken to speak TLS if it does
 * @param muxes as they describe themselves
 * @param probes likewise, by the mux beside them, whose address they must have
 */
public record MetricsTargets(
    Supplier<List<String>> controllers,
    Supplier<Optional<URI>> own,
    Supplier<List<MuxView>> muxes,
    Supplier<Map<String, MetricsUrl>> probes) {
  /** The words for {@code part}, also those of the API. */
  public enum Part {
    CONTROLLER,
    MUX,
    PROBE;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * One process. Labels that begin with two underscores are Prometheus' own; {@code instance} is
   * the id, so that alerts name it rather than an address.
   */
  public record Target(List<String> targets, Map<String, String> labels) {
    static Target of(Part part, String id, MetricsUrl url) {
      Map<String, String> labels = new TreeMap<>();
      labels.put("__scheme__", url.scheme());
      labels.put("__metrics_path__", MetricsUrl.PATH);
      labels.put("instance", id);
      labels.put("part", part.toString());
      return new Target(List.of(url.target()), labels);
    }
  }

  /** By part, then by id. */
  public List<Target> list(Optional<Part> only) {
    List<Target> targets = new ArrayList<>();
    for (Part part : Part.values()) {
      if (only.isEmpty() || only.get() == part) {
        targets.addAll(
            switch (part) {
              case CONTROLLER -> controllerTargets();
              case MUX -> muxTargets();
              case PROBE -> probeTargets();
            });
      }
    }
    return List.copyOf(targets);
  }

  private List<Target> muxTargets() {
    return muxes.get().stream()
        .filter(mux -> mux.metrics().isPresent())
        .map(mux -> Target.of(Part.MUX, mux.id(), mux.metrics().get()))
        .toList();
  }

  private List<Target> probeTargets() {
    List<Target> targets = new ArrayList<>();
    Map<String, MetricsUrl> urls = probes.get();
    for (MuxView mux : muxes.get()) {
      Optional.ofNullable(urls.get(mux.id()))
          .filter(url -> url.isAt(mux.addresses()))
          .ifPresent(url -> targets.add(Target.of(Part.PROBE, mux.id(), url)));
    }
    return targets;
  }

  private List<Target> controllerTargets() {
    String scheme = own.get().map(URI::getScheme).orElse("http");
    return controllers.get().stream()
        .flatMap(id -> endpoint(id).stream())
        .distinct()
        .sorted(Comparator.naturalOrder())
        .map(endpoint -> Target.of(Part.CONTROLLER, endpoint, new MetricsUrl(scheme, endpoint)))
        .toList();
  }

  /** Where controllers are reached, without a path. */
  List<String> controllerUrls() {
    return controllerTargets().stream()
        .map(target -> target.labels().get("__scheme__") + "://" + target.targets().get(0))
        .toList();
  }

  /** Where a controller listens; at its host's name if it listens everywhere. Empty: unknown. */
  static Optional<String> endpoint(String id) {
    int slash = id.indexOf('/');
    int colon = id.lastIndexOf(':');
    if (slash < 0 || colon < slash) {
      return Optional.empty();
    }
    String host = id.substring(slash + 1, colon);
    boolean isEverywhere = List.of("0.0.0.0", "[::]", "::").contains(host);
    return Optional.of((isEverywhere ? id.substring(0, slash) : host) + id.substring(colon));
  }
}
