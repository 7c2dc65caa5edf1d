// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.Collections;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What health has done to a service's backends, as in ZooKeeper (protocol/README.md §4), from which
 * any controller continues. Immutable.
 *
 * @param out by backend id; those that are out have weight 0
 * @param holds by backend id, Unix seconds since when health leaves the backend alone
 */
@JsonPropertyOrder({"out", "holds"})
@JsonInclude(JsonInclude.Include.NON_EMPTY)
public record Unhealthy(SortedMap<Integer, Outage> out, SortedMap<Integer, Long> holds) {
  public static final Unhealthy NONE = new Unhealthy(new TreeMap<>(), new TreeMap<>());

  public Unhealthy {
    out = Collections.unmodifiableSortedMap(out == null ? new TreeMap<>() : out);
    holds = Collections.unmodifiableSortedMap(holds == null ? new TreeMap<>() : holds);
  }

  /**
   * A backend that health took out of service, or had taken out lately.
   *
   * @param since Unix seconds
   * @param weight the operator's
   * @param reason the word of most probes
   * @param times how often lately, this time included
   * @param returned Unix seconds at which it came back; empty while it is out
   */
  @JsonPropertyOrder({"since", "weight", "reason", "times", "returned"})
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record Outage(long since, int weight, String reason, int times, Optional<Long> returned) {
    public Outage {
      returned = returned == null ? Optional.empty() : returned; // absent in JSON
    }

    public boolean isOut() {
      return returned.isEmpty();
    }

    Outage weighing(int newWeight) {
      return new Outage(since, newWeight, reason, times, returned);
    }

    Outage back(long now) {
      return new Outage(since, weight, reason, times, Optional.of(now));
    }
  }

  public boolean isOut(int id) {
    return out.containsKey(id) && out.get(id).isOut();
  }

  /** With the backend in this outage. */
  public Unhealthy with(int id, Outage outage) {
    SortedMap<Integer, Outage> all = new TreeMap<>(out);
    all.put(id, outage);
    return new Unhealthy(all, holds);
  }

  /** With another weight that the backend will return to. */
  public Unhealthy weighing(int id, int weight) {
    return with(id, out.get(id).weighing(weight));
  }

  /** With the backend's outage over, if it is in one. */
  public Unhealthy back(int id, long now) {
    return isOut(id) ? with(id, out.get(id).back(now)) : this;
  }

  /** Without outages that were over before {@code time}, Unix seconds. */
  public Unhealthy since(long time) {
    SortedMap<Integer, Outage> kept = new TreeMap<>(out);
    kept.values().removeIf(outage -> outage.returned().filter(at -> at < time).isPresent());
    return kept.size() == out.size() ? this : new Unhealthy(kept, holds);
  }

  public Unhealthy held(int id, long now) {
    SortedMap<Integer, Long> all = new TreeMap<>(holds);
    all.putIfAbsent(id, now);
    return new Unhealthy(out, all);
  }

  public Unhealthy released(int id) {
    SortedMap<Integer, Long> kept = new TreeMap<>(holds);
    kept.remove(id);
    return new Unhealthy(out, kept);
  }

  /** Only what the weights of these backends allow. */
  Unhealthy within(SortedMap<Integer, ServiceImage.Member> pool) {
    SortedMap<Integer, Outage> kept = new TreeMap<>(out);
    kept.entrySet()
        .removeIf(
            each ->
                !pool.containsKey(each.getKey())
                    || each.getValue().isOut() && pool.get(each.getKey()).weight() > 0);
    SortedMap<Integer, Long> held = new TreeMap<>(holds);
    held.keySet().retainAll(pool.keySet());
    return new Unhealthy(kept, held);
  }
}
