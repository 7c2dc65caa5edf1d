// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Which ids of services are free, as in the ZooKeeper node (protocol/README.md §4). An id is given
 * to another service {@link #QUARANTINE} after the one before was deleted: by then no packet of
 * that one is under way, and no mux serves it. Servers have seen its generations, so the next
 * service starts above them.
 *
 * @param last the highest id that any service ever had
 * @param first the generation at which a service starts whose id none had before: 1, or after a
 *     restore what restored services started at
 * @param free by id, those up to {@code last} that no service has
 */
@JsonPropertyOrder({"format", "last", "first", "free"})
public record ServiceIds(
    @JsonProperty(required = true) int format,
    @JsonProperty(required = true) int last,
    @JsonProperty(required = true) long first,
    @JsonProperty(required = true) SortedMap<Integer, Free> free) {
  public static final int FORMAT = 1;
  public static final int MAX = 65_535;
  public static final Duration QUARANTINE = Duration.ofHours(24);

  /** So that they fit into a node: 52 bytes each. */
  public static final int FREE_MAX = 8192;

  private static final long GENERATION_MAX = 0xffff_ffffL;

  public static final ServiceIds NONE = new ServiceIds(FORMAT, 0, 1, new TreeMap<>());

  public ServiceIds {
    if (last < 0 || last > MAX) {
      throw new IllegalArgumentException("last is %d; allowed: 0..65535".formatted(last));
    }
    if (first < 1 || first > GENERATION_MAX) {
      throw new IllegalArgumentException(
          "first is %d; allowed: 1..%d".formatted(first, GENERATION_MAX));
    }
    for (Map.Entry<Integer, Free> each : free.entrySet()) {
      if (each.getKey() < 1 || each.getKey() > last || each.getValue() == null) {
        throw new IllegalArgumentException(
            "free.%d is %s; allowed: ids 1..%d".formatted(each.getKey(), each.getValue(), last));
      }
    }
    free = Collections.unmodifiableSortedMap(new TreeMap<>(free));
  }

  /**
   * An id that no service has.
   *
   * @param since Unix seconds at which the one before was deleted
   * @param generation at which the next one starts, or higher
   */
  @JsonPropertyOrder({"since", "generation"})
  public record Free(
      @JsonProperty(required = true) long since, @JsonProperty(required = true) long generation) {
    public Free {
      if (since < 0 || generation < 1 || generation > GENERATION_MAX) {
        throw new IllegalArgumentException(
            "since %d, generation %d; allowed: 0 and more, 1..%d"
                .formatted(since, generation, GENERATION_MAX));
      }
    }

    long until() {
      return since + QUARANTINE.toSeconds();
    }
  }

  /** What a new service gets. */
  public record Next(int id, long generation) {}

  /**
   * The id that has been free for longest, or else one that no service had before; empty if there
   * is neither.
   */
  public Optional<Next> next(Instant now) {
    Optional<Next> again =
        free.entrySet().stream()
            .filter(each -> now.getEpochSecond() >= each.getValue().until())
            .min(Comparator.comparingLong(each -> each.getValue().since()))
            .map(each -> new Next(each.getKey(), Math.max(first, each.getValue().generation())));
    return again.isPresent() || last == MAX || free.size() >= FREE_MAX
        ? again
        : Optional.of(new Next(last + 1, first));
  }

  /** Unix seconds from which an id can be given that can't be now; 0 if there is none. */
  public long nextAt() {
    return free.values().stream().mapToLong(Free::until).min().orElse(0);
  }

  public boolean isTaken(int id) {
    return id <= last && !free.containsKey(id);
  }

  ServiceIds taking(int id) {
    SortedMap<Integer, Free> left = new TreeMap<>(free);
    left.remove(id);
    return new ServiceIds(FORMAT, Math.max(last, id), first, left);
  }

  /**
   * @param since Unix seconds
   * @param latest its latest generation
   */
  ServiceIds freeing(int id, long since, long latest) {
    SortedMap<Integer, Free> more = new TreeMap<>(free);
    more.put(id, new Free(since, Math.min(latest + 1, GENERATION_MAX)));
    return new ServiceIds(FORMAT, Math.max(last, id), first, more);
  }

  /**
   * After a restore. Servers may have seen services of any id that the backup does not know of, so
   * all that no restored service has are free a day later, as many as fit.
   *
   * @param start the generation of all restored services
   * @param used their ids
   */
  public ServiceIds restored(Instant now, long start, Set<Integer> used) {
    SortedMap<Integer, Free> again = new TreeMap<>();
    for (int id = 1; id <= last && again.size() < FREE_MAX; id++) {
      if (!used.contains(id)) {
        Free before = free.get(id);
        again.put(
            id,
            new Free(
                now.getEpochSecond(),
                before == null ? start : Math.max(start, before.generation())));
      }
    }
    return new ServiceIds(FORMAT, last, Math.max(first, start), again);
  }
}
