// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.time.Instant;
import java.util.Collections;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What health has done to a service's backends, as in ZooKeeper (protocol/README.md §4), from which
 * any controller continues. Immutable.
 *
 * @param out by backend id; those that are out have weight 0
 * @param holds by backend id, Unix seconds since when health leaves the backend alone
 * @param gone by the id that they had, backends that were removed as dead and are not back in the
 *     pool
 */
@JsonPropertyOrder({"out", "holds", "gone"})
@JsonInclude(JsonInclude.Include.NON_EMPTY)
public record Unhealthy(
    SortedMap<Integer, Outage> out, SortedMap<Integer, Long> holds, SortedMap<Integer, Gone> gone) {
  public static final Unhealthy NONE =
      new Unhealthy(new TreeMap<>(), new TreeMap<>(), new TreeMap<>());

  public Unhealthy {
    out = Collections.unmodifiableSortedMap(out == null ? new TreeMap<>() : out);
    holds = Collections.unmodifiableSortedMap(holds == null ? new TreeMap<>() : holds);
    gone = Collections.unmodifiableSortedMap(gone == null ? new TreeMap<>() : gone);
  }

  /**
   * A backend that health took out of service, or had taken out lately.
   *
   * @param since Unix seconds
   * @param weight the operator's
   * @param reason the word of most probes
   * @param times how often lately, this time included
   * @param returned Unix seconds at which it came back; empty while it is out
   * @param dead Unix seconds at which it was removed as dead, meanwhile
   */
  @JsonPropertyOrder({"since", "weight", "reason", "times", "returned", "dead"})
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record Outage(
      long since,
      int weight,
      String reason,
      int times,
      Optional<Long> returned,
      Optional<Long> dead) {
    public Outage {
      returned = returned == null ? Optional.empty() : returned; // absent in JSON
      dead = dead == null ? Optional.empty() : dead;
    }

    public boolean isOut() {
      return returned.isEmpty();
    }

    Outage weighing(int newWeight) {
      return new Outage(since, newWeight, reason, times, returned, dead);
    }

    Outage back(Instant now) {
      return new Outage(since, weight, reason, times, Optional.of(now.getEpochSecond()), dead);
    }

    Outage died(Instant now) {
      return new Outage(since, weight, reason, times, returned, Optional.of(now.getEpochSecond()));
    }
  }

  /**
   * A backend that was removed as dead.
   *
   * @param outage with the weight that it returns to
   */
  @JsonPropertyOrder({"address", "outage"})
  public record Gone(String address, Outage outage) {}

  public boolean isOut(int id) {
    return out.containsKey(id) && out.get(id).isOut();
  }

  /** With the backend in this outage. */
  public Unhealthy with(int id, Outage outage) {
    SortedMap<Integer, Outage> all = new TreeMap<>(out);
    all.put(id, outage);
    return new Unhealthy(all, holds, gone);
  }

  /** The backend's outage, also of one that is gone. */
  public Optional<Outage> outage(int id) {
    return Optional.ofNullable(gone.containsKey(id) ? gone.get(id).outage() : out.get(id));
  }

  /** With a backend that is out as one that is gone. */
  public Unhealthy died(int id, String address, Instant now) {
    SortedMap<Integer, Outage> left = new TreeMap<>(out);
    SortedMap<Integer, Gone> all = new TreeMap<>(gone);
    all.put(id, new Gone(address, left.remove(id).died(now)));
    return new Unhealthy(left, holds, all);
  }

  /** With a backend that was gone in the pool again, still out. */
  public Unhealthy again(int id) {
    SortedMap<Integer, Outage> all = new TreeMap<>(out);
    SortedMap<Integer, Gone> left = new TreeMap<>(gone);
    all.put(id, left.remove(id).outage());
    return new Unhealthy(all, holds, left);
  }

  /** With another weight that the backend will return to. */
  public Unhealthy weighing(int id, int weight) {
    return with(id, out.get(id).weighing(weight));
  }

  /** With the backend's outage over, if it is in one. */
  public Unhealthy back(int id, Instant now) {
    return isOut(id) ? with(id, out.get(id).back(now)) : this;
  }

  /** Without outages that were over before {@code time}. */
  public Unhealthy since(Instant time) {
    SortedMap<Integer, Outage> kept = new TreeMap<>(out);
    kept.values()
        .removeIf(outage -> outage.returned().filter(at -> at < time.getEpochSecond()).isPresent());
    return kept.size() == out.size() ? this : new Unhealthy(kept, holds, gone);
  }

  public Unhealthy held(int id, Instant now) {
    SortedMap<Integer, Long> all = new TreeMap<>(holds);
    all.putIfAbsent(id, now.getEpochSecond());
    return new Unhealthy(out, all, gone);
  }

  public Unhealthy released(int id) {
    SortedMap<Integer, Long> kept = new TreeMap<>(holds);
    kept.remove(id);
    return new Unhealthy(out, kept, gone);
  }

  /**
   * Only what the weights of these backends allow; of those that are gone, such whose id and
   * address none of them has.
   */
  Unhealthy within(SortedMap<Integer, ServiceImage.Member> pool) {
    SortedMap<Integer, Outage> kept = new TreeMap<>(out);
    kept.entrySet()
        .removeIf(
            each ->
                !pool.containsKey(each.getKey())
                    || each.getValue().isOut() && pool.get(each.getKey()).weight() > 0);
    SortedMap<Integer, Long> held = new TreeMap<>(holds);
    held.keySet().retainAll(pool.keySet());
    SortedMap<Integer, Gone> left = new TreeMap<>(gone);
    left.keySet().removeAll(pool.keySet());
    if (!left.isEmpty()) {
      Set<String> taken =
          pool.values().stream()
              .map(member -> member.address().toString())
              .collect(Collectors.toSet());
      left.values().removeIf(each -> taken.contains(each.address()));
    }
    return new Unhealthy(kept, held, left);
  }
}
