// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.muxes.SettledMoves;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;

/**
 * The held buckets of a service, and the connections for which they are held.
 *
 * @param kept for how long former owners count, and why, in words
 * @param chainedBuckets buckets that have former owners, held or still within their window
 * @param waitingBuckets those about which no answer counts yet ({@link Questions#waits})
 * @param waitingFor what the latest of them waits for
 * @param owners that buckets name, by ascending id; a bucket that moved more than once counts at
 *     each
 */
public record HoldView(
    String service,
    long generation,
    int holdSeconds,
    String kept,
    int chainedBuckets,
    int heldBuckets,
    int waitingBuckets,
    List<ReportWait> waitingFor,
    List<Owner> owners) {
  /**
   * What reports about buckets wait for until they count.
   *
   * @param mux its id; absent: it is for no mux that this controller knows
   * @param until Unix seconds; absent: unknown
   */
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record ReportWait(Optional<String> mux, String why, OptionalLong until) {
    static ReportWait of(SettledMoves.Wait wait, Instant now) {
      OptionalLong left = wait.secondsLeft();
      return new ReportWait(
          wait.mux(),
          wait.why(),
          left.isPresent() ? OptionalLong.of(now.getEpochSecond() + left.getAsLong()) : left);
    }
  }

  /**
   * A backend that lost buckets which name it.
   *
   * @param since Unix seconds at which it lost the first of these buckets
   * @param until Unix seconds at which the last of them is released, at the latest
   * @param connections in those of these buckets about which answers count, by the agent; absent if
   *     that is not known
   * @param occupiedBuckets how many of them have connections
   * @param unknown why that is not known, or not of all of these buckets
   */
  public record Owner(
      int id,
      String address,
      int buckets,
      long since,
      long until,
      Optional<Long> connections,
      Optional<Integer> occupiedBuckets,
      Optional<String> unknown) {}

  /** Of one owner. */
  private static final class Sum {
    private int buckets;
    private long since = Long.MAX_VALUE;
    private long last;

    private static Sum and(Sum before, long since) {
      Sum sum = before == null ? new Sum() : before;
      sum.buckets++;
      sum.since = Math.min(sum.since, since);
      sum.last = Math.max(sum.last, since);
      return sum;
    }
  }

  /**
   * @param settled of the service
   */
  public static HoldView of(
      ServiceImage image, LiveConnections live, SettledMoves settled, Instant now) {
    ServiceConfig config = image.config();
    Ring ring = image.ring();
    HoldCounts holds = HoldCounts.of(image);
    Sum[] sums = new Sum[Backend.MAX + 1];
    int waiting = 0;
    long latest = -1;
    for (int bucket = 0; bucket < ring.buckets() && config.holdSeconds() > 0; bucket++) {
      History formers = ring.history(bucket);
      boolean isWaiting = false;
      for (int i = 0; i < formers.size(); i++) {
        long since = formers.since(i);
        sums[formers.owner(i)] = Sum.and(sums[formers.owner(i)], since);
        if (askedFor(config, settled, since) < 0) {
          isWaiting = true;
          latest = Math.max(latest, since);
        }
      }
      waiting += isWaiting ? 1 : 0;
    }
    List<Owner> owners = new ArrayList<>();
    for (Backend backend : ring.backends().values()) {
      Sum sum = sums[backend.id()];
      if (sum != null) {
        owners.add(owner(config, backend, sum, live, settled));
      }
    }
    return new HoldView(
        config.name(),
        ring.generation(),
        config.holdSeconds(),
        DefaultHold.words(image, live, now),
        holds.named(),
        holds.held(now),
        waiting,
        waiting > 0
            ? Questions.waits(config, settled, latest).stream()
                .map(each -> ReportWait.of(each, now))
                .toList()
            : List.of(),
        owners);
  }

  private static Owner owner(
      ServiceConfig config, Backend backend, Sum sum, LiveConnections live, SettledMoves settled) {
    Answer first = answer(config, backend.id(), sum.since, live, settled);
    Answer last = answer(config, backend.id(), sum.last, live, settled);
    return new Owner(
        backend.id(),
        backend.address().toString(),
        sum.buckets,
        sum.since,
        sum.last + config.heldSeconds(),
        first.counts().map(LiveConnections.Occupied::connections),
        first.counts().map(occupied -> occupied.buckets().cardinality()),
        first.unknown().or(() -> last.unknown().map("of the buckets that it lost last: "::concat)));
  }

  /** For how many seconds a question counts that is asked about a lost bucket; below 0: not yet. */
  private static long askedFor(ServiceConfig config, SettledMoves settled, long since) {
    OptionalLong settledFor = settled.settledFor(since);
    return settledFor.isPresent() ? settledFor.getAsLong() - Questions.waitSeconds(config) : -1;
  }

  /** An answer that counts, or why there is none. */
  private record Answer(Optional<LiveConnections.Occupied> counts, Optional<String> unknown) {
    static Answer none(String why) {
      return new Answer(Optional.empty(), Optional.of(why));
    }
  }

  /**
   * About a bucket that a backend lost at {@code since}. That no agent reports is said first: then
   * nothing else is known, as at a controller that does not lead.
   */
  private static Answer answer(
      ServiceConfig config, int backend, long since, LiveConnections live, SettledMoves settled) {
    if (live.connections(config.name(), backend).isEmpty()) {
      return Answer.none(live.unknown(config.name(), backend));
    }
    List<SettledMoves.Wait> waits = Questions.waits(config, settled, since);
    if (!waits.isEmpty()) {
      return Answer.none("not asked yet: " + waits.get(0).words());
    }
    long askedFor = askedFor(config, settled, since);
    return live.occupied(config.name(), backend)
        .filter(answer -> answer.asked().toSeconds() < askedFor)
        .map(answer -> new Answer(Optional.of(answer), Optional.empty()))
        .orElse(Answer.none("backend %d has not answered yet".formatted(backend)));
  }

  /** The sum over all owners, if it is known of all. */
  public Optional<Long> connections() {
    return owners.stream().allMatch(owner -> owner.unknown().isEmpty())
        ? Optional.of(owners.stream().mapToLong(owner -> owner.connections().get()).sum())
        : Optional.empty();
  }

  /** Of one bucket: whether each former owner has connections in it. */
  public record Bucket(long until, boolean held, List<Former> owners) {}

  /**
   * @param connected whether it has connections in the bucket; absent if that is not known
   */
  public record Former(int id, Optional<Boolean> connected, Optional<String> unknown) {}

  /** Of a bucket that names a former owner in a service with a hold. */
  public static Optional<Bucket> of(
      ServiceImage image, int bucket, LiveConnections live, SettledMoves settled, Instant now) {
    ServiceConfig config = image.config();
    Ring ring = image.ring();
    if (config.holdSeconds() == 0 || ring.previous(bucket) == Backend.NONE) {
      return Optional.empty();
    }
    History owners = ring.history(bucket);
    return Optional.of(
        new Bucket(
            owners.since(0) + config.heldSeconds(),
            now.getEpochSecond() >= owners.since(0) + config.windowSeconds(),
            IntStream.range(0, owners.size())
                .mapToObj(i -> former(config, owners, i, bucket, live, settled))
                .toList()));
  }

  private static Former former(
      ServiceConfig config,
      History owners,
      int i,
      int bucket,
      LiveConnections live,
      SettledMoves settled) {
    int owner = owners.owner(i);
    Answer answer = answer(config, owner, owners.since(i), live, settled);
    return new Former(
        owner, answer.counts().map(occupied -> occupied.buckets().get(bucket)), answer.unknown());
  }
}
