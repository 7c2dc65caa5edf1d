// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import io.fairlead.controller.core.image.ServiceImage.Member;
import io.fairlead.controller.core.words.Word;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A change of weights that takes effect in steps, as in ZooKeeper (protocol/README.md §4): at each
 * step a share of the buckets has moved that the whole change moves. The ring has the weights of
 * the whole change. Immutable.
 *
 * @param started Unix seconds
 * @param since Unix seconds of the latest step
 * @param shares in thousandths, ascending; the last is {@link #WHOLE}
 * @param step index of the share that has moved
 * @param bakeSeconds that each step lasts
 * @param former weights before the change, by backend id; 0 of one that was not in service
 * @param end of one that is over
 */
@JsonPropertyOrder({"started", "since", "shares", "step", "bakeSeconds", "former", "end"})
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record Stage(
    long started,
    long since,
    List<Integer> shares,
    int step,
    int bakeSeconds,
    SortedMap<Integer, Integer> former,
    Optional<End> end) {
  public static final int WHOLE = 1000;

  /** To which weights are scaled between those before and those of the whole change. */
  private static final double SCALE = 1 << 30;

  /** Of a bucket more than one, so that rounding down leaves one. */
  private static final double ONE_BUCKET = 1.01;

  public Stage {
    shares = List.copyOf(shares);
    former = Collections.unmodifiableSortedMap(former);
    end = end == null ? Optional.empty() : end; // absent in JSON
  }

  /** How a staged change ended. */
  public enum Outcome implements Word {
    /** The whole change has taken effect. */
    DONE,
    /** The weights before the change are back. */
    ROLLED_BACK,
    /** None of its backends is in service any more. */
    EMPTY;

    @Override
    public String toString() {
      return word();
    }
  }

  /**
   * @param at Unix seconds
   * @param why in words
   */
  @JsonPropertyOrder({"outcome", "at", "why"})
  public record End(Outcome outcome, long at, String why) {}

  /** The first step of a change, at {@code now}. */
  public static Stage of(Steps steps, SortedMap<Integer, Integer> former, Instant now) {
    long seconds = now.getEpochSecond();
    return new Stage(
        seconds, seconds, steps.shares(), 0, steps.bakeSeconds(), former, Optional.empty());
  }

  /**
   * In which steps a change takes effect.
   *
   * @param shares as in {@link Stage}
   */
  public record Steps(List<Integer> shares, int bakeSeconds) {
    /** Most steps of a change. */
    public static final int MAX = 10;

    private static final Pattern SHARE = Pattern.compile("(100|[1-9]?[0-9])(?:[.]([0-9]))?%?");

    public Steps {
      shares = List.copyOf(shares);
    }

    /**
     * Reads ascending percentages such as {@code 1%,10%,100%}, the last of which is 100, with at
     * most one decimal; empty if it is malformed.
     */
    public static Optional<Steps> parse(String text, int bakeSeconds) {
      List<Integer> shares = new ArrayList<>();
      for (String each : text.split(",", -1)) {
        Matcher match = SHARE.matcher(each.strip());
        if (!match.matches()) {
          return Optional.empty();
        }
        int tenths = match.group(2) == null ? 0 : Integer.parseInt(match.group(2));
        int share = 10 * Integer.parseInt(match.group(1)) + tenths;
        if (share <= (shares.isEmpty() ? 0 : shares.get(shares.size() - 1))) {
          return Optional.empty();
        }
        shares.add(share);
      }
      return shares.size() <= MAX && shares.get(shares.size() - 1) == WHOLE
          ? Optional.of(new Steps(shares, bakeSeconds))
          : Optional.empty();
    }
  }

  public boolean isRunning() {
    return end.isEmpty();
  }

  /** The share that has moved, in thousandths. */
  public int share() {
    return shares.get(step);
  }

  /** The share of the next step; empty at the last. */
  public Optional<Integer> next() {
    return step + 1 < shares.size() ? Optional.of(shares.get(step + 1)) : Optional.empty();
  }

  /** Unix seconds at which the next step is due, or the end. */
  public long due() {
    return since + bakeSeconds;
  }

  /** At the next step, or after the last one done. */
  public Stage advanced(Instant now, String why) {
    return next().isEmpty()
        ? ended(Outcome.DONE, now, why)
        : new Stage(
            started, now.getEpochSecond(), shares, step + 1, bakeSeconds, former, Optional.empty());
  }

  public Stage ended(Outcome outcome, Instant now, String why) {
    return with(former, Optional.of(new End(outcome, now.getEpochSecond(), why)));
  }

  private Stage with(SortedMap<Integer, Integer> newFormer, Optional<End> newEnd) {
    return new Stage(started, since, shares, step, bakeSeconds, newFormer, newEnd);
  }

  /** Only the backends of {@code pool} that have a weight, or will have it back. */
  Stage within(SortedMap<Integer, Member> pool, Unhealthy health, long now) {
    if (!isRunning()) {
      return this;
    }
    SortedMap<Integer, Integer> kept = new TreeMap<>(former);
    kept.keySet()
        .removeIf(id -> !pool.containsKey(id) || pool.get(id).weight() == 0 && !health.isOut(id));
    if (kept.size() == former.size()) {
      return this;
    }
    return kept.isEmpty()
        ? ended(Outcome.EMPTY, Instant.ofEpochSecond(now), "its backends are out of service")
        : with(kept, end);
  }

  /**
   * Weights by which {@link #share()} of the buckets have moved that lead from the weights before
   * to {@code whole}; at least one bucket.
   *
   * @param set the weights in the ring, from which {@code whole} is derived
   */
  int[] lessened(int[] whole, int[] set, int buckets) {
    if (!isRunning() || share() == WHOLE) {
      return whole;
    }
    double[] before = new double[whole.length];
    double total = 0;
    double totalBefore = 0;
    for (int id = 1; id < whole.length; id++) {
      Integer weight = whole[id] == 0 ? null : former.get(id);
      before[id] = weight == null ? whole[id] : (double) whole[id] * weight / set[id];
      total += whole[id];
      totalBefore += before[id];
    }
    if (totalBefore == 0) {
      return whole;
    }
    double most = 0;
    for (int id : former.keySet()) {
      most = Math.max(most, Math.abs(whole[id] / total - before[id] / totalBefore) * buckets);
    }
    double share = most == 0 ? 1 : Math.max(share() / (double) WHOLE, ONE_BUCKET / most);
    if (share >= 1) {
      return whole;
    }
    int[] lessened = new int[whole.length];
    for (int id = 1; id < whole.length; id++) {
      double part = (1 - share) * before[id] / totalBefore + share * whole[id] / total;
      lessened[id] = (int) Math.round(part * SCALE);
    }
    return lessened;
  }

  /** A share in words, such as {@code 1 %}. */
  public static String percent(int share) {
    return share % 10 == 0 ? share / 10 + " %" : share / 10.0 + " %";
  }

  /** In words, for the audit and for refusals. */
  public String words() {
    String backends =
        former.size() == 1
            ? "backend " + former.firstKey()
            : "%d backends from %d on".formatted(former.size(), former.firstKey());
    return "%s at %s".formatted(backends, percent(share()));
  }
}
