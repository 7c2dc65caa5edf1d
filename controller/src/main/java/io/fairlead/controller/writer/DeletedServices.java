// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.agents.LiveConnections;
import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.services.Listeners;
import io.fairlead.controller.store.ServiceStore.Deleted;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Services that were deleted, and are kept for {@link #KEPT} so that they can be brought back with
 * their hash keys and rings. A new service at the VIP and port of one gives its connections to
 * other servers, which reset them.
 */
final class DeletedServices {
  static final Duration KEPT = Duration.ofDays(7);

  private final Map<String, Deleted> byName = new TreeMap<>();

  static boolean isKept(Deleted deleted, Instant now) {
    return now.isBefore(deleted.at().plus(KEPT));
  }

  /** What ends with a service. */
  static Result.Ended ended(ServiceImage image, LiveConnections live) {
    long connections = 0;
    int uncounted = 0;
    for (int backend : image.pool().keySet()) {
      Optional<LiveConnections.Count> count = live.connections(image.config().name(), backend);
      connections += count.map(LiveConnections.Count::all).orElse(0L);
      uncounted += count.isPresent() ? 0 : 1;
    }
    return new Result.Ended(connections, uncounted);
  }

  synchronized void add(Deleted deleted) {
    byName.put(deleted.config().name(), deleted);
  }

  synchronized void remove(String name) {
    byName.remove(name);
  }

  /** Forgets those that are kept no more, and returns their names. */
  synchronized List<String> expire(Instant now) {
    List<String> expired =
        byName.values().stream()
            .filter(deleted -> !isKept(deleted, now))
            .map(deleted -> deleted.config().name())
            .toList();
    expired.forEach(byName::remove);
    return expired;
  }

  synchronized Optional<Deleted> find(String name) {
    return Optional.ofNullable(byName.get(name));
  }

  /** Their names. */
  synchronized String names() {
    return byName.isEmpty() ? "none" : String.join(", ", byName.keySet());
  }

  /** What becomes of connections of deleted services, if {@code created} is made. */
  synchronized List<String> warnings(ServiceConfig created) {
    List<String> warnings = new ArrayList<>();
    byName
        .values()
        .forEach(
            deleted ->
                Listeners.shared(created, deleted.config())
                    .ifPresent(
                        what ->
                            warnings.add(
                                ("%s was of service '%s', deleted at %s: connections that are older"
                                     + " are reset; 'fairleadctl service undelete %s' in place of a"
                                     + " new service keeps them")
                                    .formatted(
                                        what,
                                        deleted.config().name(),
                                        deleted.at(),
                                        deleted.config().name()))));
    return warnings;
  }
}
