// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.drains;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.backends.BackendView.Draining;
import io.fairlead.controller.resources.muxes.SettledMoves;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A drain as the leader knows it.
 *
 * @param address absent once nothing knows it any more
 * @param state "draining", "ended" or "removed"
 */
public record DrainView(
    String service,
    int backend,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<String> address,
    String state,
    @JsonUnwrapped Draining drain,
    @JsonUnwrapped Now now) {
  /**
   * @param connections that the agent reported last, half-open ones included; absent if unknown
   * @param ageSeconds seconds since that report
   * @param rate by which they become fewer in a second
   * @param secondsLeft until none is left, if it goes on like that
   * @param waitingFor muxes that may still send it new connections, as far as they are known
   * @param note what the numbers do not say, in a sentence
   */
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record Now(
      Optional<Long> connections,
      Optional<Double> ageSeconds,
      Optional<Double> rate,
      Optional<Long> secondsLeft,
      List<String> waitingFor,
      String note) {}

  /** By which pages of the list are cut. */
  @JsonIgnore
  public String key() {
    return "%s/%05d".formatted(service, backend);
  }

  /** The drains of a service by ascending backend. */
  public static List<DrainView> of(ServiceImage image, DrainWatch watch) {
    SortedMap<Integer, Drain> all = new TreeMap<>(image.transitions().former());
    all.putAll(image.transitions().drains());
    return all.entrySet().stream()
        .map(each -> of(image, each.getKey(), each.getValue(), watch))
        .toList();
  }

  private static DrainView of(ServiceImage image, int id, Drain drain, DrainWatch watch) {
    DrainWatch.Progress progress = watch.progress(image, id, drain);
    return new DrainView(
        image.config().name(),
        id,
        Optional.ofNullable(image.ring().backends().get(id)).map(at -> at.address().toString()),
        state(image, id, drain),
        Draining.of(drain),
        new Now(
            progress.connections().map(count -> count.all()),
            progress.connections().map(count -> count.age().toMillis() / 1000.0),
            progress.rate().filter(rate -> drain.isRunning()),
            progress.secondsLeft().filter(seconds -> drain.isRunning()),
            progress.waitingFor().stream().flatMap(wait -> wait.mux().stream()).toList(),
            note(image, id, drain, progress)));
  }

  static String state(ServiceImage image, int id, Drain drain) {
    if (drain.isRunning()) {
      return "draining";
    }
    return image.pool().containsKey(id) ? "ended" : "removed";
  }

  private static String note(
      ServiceImage image, int id, Drain drain, DrainWatch.Progress progress) {
    if (drain.end().isPresent()) {
      return "ended: " + drain.end().get().words();
    }
    int owned = image.ring().owned()[id];
    if (owned > 0) {
      return "does not end while it owns buckets, %d now".formatted(owned);
    }
    Optional<String> what = Optional.empty();
    if (progress.connections().isEmpty()) {
      what =
          Optional.of(
              "connections unknown, as no agent has reported within %d s"
                  .formatted(LiveConnections.SILENCE.toSeconds()));
    } else if (!progress.waitingFor().isEmpty()) {
      what =
          Optional.of(
              "its reports do not count yet: "
                  + progress.waitingFor().stream()
                      .map(SettledMoves.Wait::words)
                      .collect(Collectors.joining("; ")));
    } else if (progress.connections().get().isNone()) {
      return "empty: about to end";
    }
    return Stream.of(what, progress.expires())
        .flatMap(Optional::stream)
        .collect(Collectors.joining("; "));
  }
}
