// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.services.Listeners;
import io.fairlead.controller.store.ServiceIds;
import io.fairlead.controller.store.ServiceStore.Deleted;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Services that were deleted, and are kept for {@link #KEPT} so that they can be brought back with
 * their hash keys and rings. A new service at the VIP and port of one gives its connections to
 * other servers, which reset them.
 */
final class DeletedServices {
  static final Duration KEPT = Duration.ofDays(7);

  /** Deleted at this time of a monotonic clock, or before. */
  private record Kept(Deleted deleted, Duration since) {
    boolean isKept(Duration now) {
      return now.minus(since).compareTo(KEPT) < 0;
    }

    String name() {
      return deleted.config().name();
    }
  }

  @GuardedBy("this")
  private final Map<String, Kept> byName = new TreeMap<>();

  /**
   * What a new service gets.
   *
   * @throws Refusal if no id is free
   */
  static ServiceIds.Next nextId(ServiceIds ids, Instant now) {
    return ids.next(now)
        .orElseThrow(
            () ->
                Refusal.conflict(
                    "id",
                    "none is free",
                    "this in %d s: ids of deleted services, %d now, are free %d h after the deletion"
                        .formatted(
                            Math.max(0, ids.nextAt() - now.getEpochSecond()),
                            ids.free().size(),
                            ServiceIds.QUARANTINE.toHours())));
  }

  /**
   * @param since by the monotonic clock that all methods go by
   * @param hide ends the service for {@link #idsWith}, in the same step
   */
  synchronized void add(Deleted deleted, Duration since, Runnable hide) {
    byName.put(deleted.config().name(), new Kept(deleted, since));
    hide.run();
  }

  /**
   * @param show makes the service of this name one that exists, in the same step
   */
  synchronized void remove(String name, Runnable show) {
    show.run();
    byName.remove(name);
  }

  /** The ids of all that are kept, and of all that exist at the same moment. */
  synchronized Set<Integer> idsWith(Supplier<List<Integer>> existing) {
    Set<Integer> ids = new HashSet<>(existing.get());
    byName.values().forEach(kept -> ids.add(kept.deleted().config().id()));
    return ids;
  }

  /** Forgets those that are kept no more, and returns their names. */
  synchronized List<String> expire(Duration now) {
    List<String> expired =
        byName.values().stream().filter(kept -> !kept.isKept(now)).map(Kept::name).toList();
    expired.forEach(byName::remove);
    return expired;
  }

  synchronized boolean hasExpired(Duration now) {
    return byName.values().stream().anyMatch(kept -> !kept.isKept(now));
  }

  synchronized Optional<Deleted> find(String name, Duration now) {
    return Optional.ofNullable(byName.get(name))
        .filter(kept -> kept.isKept(now))
        .map(Kept::deleted);
  }

  synchronized Optional<ServiceConfig> config(String name) {
    return Optional.ofNullable(byName.get(name)).map(kept -> kept.deleted().config());
  }

  /** That this one is not kept, with those that are. */
  synchronized Refusal missing(String name, Duration now) {
    String names =
        byName.values().stream()
            .filter(kept -> kept.isKept(now))
            .map(Kept::name)
            .collect(Collectors.joining(", "));
    return Refusal.missing(
        "service",
        name,
        "a service that was deleted within %d days: %s"
            .formatted(KEPT.toDays(), names.isEmpty() ? "none" : names));
  }

  /**
   * What becomes of deleted services if {@code wanted} is committed.
   *
   * @param isNew whether it takes the place of a deleted service of its name
   */
  synchronized List<String> warnings(ServiceConfig wanted, boolean isNew, Duration now) {
    List<String> warnings = new ArrayList<>();
    for (Kept kept : byName.values()) {
      Deleted deleted = kept.deleted();
      String name = kept.name();
      boolean isReplaced = isNew && name.equals(wanted.name());
      Optional<String> shared = Listeners.shared(wanted, deleted.config());
      if (kept.isKept(now) && (isReplaced || shared.isPresent())) {
        warnings.add(
            "%s of service '%s', deleted at %s: %s%s"
                .formatted(
                    shared.map(what -> what + " was").orElse("it has the name"),
                    name,
                    deleted.at(),
                    shared.isPresent() ? "connections that are older are reset; " : "",
                    isReplaced
                        ? "with this new service it can't be brought back by 'service undelete'"
                        : "'fairleadctl service undelete %s' in its place keeps them"
                            .formatted(name)));
      }
    }
    return warnings;
  }
}
