// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.hold;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.agents.LiveConnections;
import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.muxes.SettledMoves;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.History;
import io.fairlead.controller.ring.Ring;
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
 * @param waitingBuckets buckets about which no answer counts yet, since a mux may open connections
 *     at their former owners
 * @param waitingFor what the latest of them waits for
 * @param owners that lost buckets a window ago or longer, or {@link Questions#waitSeconds}, by
 *     ascending id; a bucket that moved more than once counts at each
 */
public record HoldView(
    String service,
    long generation,
    int holdSeconds,
    String kept,
    int chainedBuckets,
    int heldBuckets,
    int waitingBuckets,
    List<MuxWait> waitingFor,
    List<Owner> owners) {
  /**
   * What buckets wait for.
   *
   * @param mux its id; absent: one that may be absent, of which this controller does not know
   * @param until Unix seconds; absent: unknown
   */
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record MuxWait(Optional<String> mux, String why, OptionalLong until) {
    static MuxWait of(SettledMoves.Wait wait, long now) {
      OptionalLong left = wait.secondsLeft();
      return new MuxWait(
          wait.mux(),
          wait.why(),
          left.isPresent() ? OptionalLong.of(now + left.getAsLong()) : left);
    }
  }

  /**
   * A backend that lost buckets which are held.
   *
   * @param since Unix seconds at which it lost the first of these buckets
   * @param until Unix seconds at which the last of them is released, at the latest
   * @param connections in these buckets, by the agent; absent if that is not known
   * @param occupiedBuckets how many of them have connections
   * @param unknown why that is not known
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
   * @param now Unix seconds
   */
  public static HoldView of(
      ServiceImage image, LiveConnections live, SettledMoves settled, long now) {
    ServiceConfig config = image.config();
    Ring ring = image.ring();
    Holds holds = Holds.of(image);
    Sum[] sums = new Sum[Backend.MAX + 1];
    int wait = Math.min(config.windowSeconds(), Questions.waitSeconds(config));
    int waiting = 0;
    long latest = -1;
    for (int bucket = 0; bucket < ring.buckets() && config.holdSeconds() > 0; bucket++) {
      History formers = ring.history(bucket);
      boolean isWaiting = false;
      for (int i = 0; i < formers.size(); i++) {
        long since = formers.since(i);
        if (now >= since + wait) {
          sums[formers.owner(i)] = Sum.and(sums[formers.owner(i)], since);
          if (settled.settledFor(since).isEmpty()) {
            isWaiting = true;
            latest = Math.max(latest, since);
          }
        }
      }
      waiting += isWaiting ? 1 : 0;
    }
    List<Owner> owners = new ArrayList<>();
    for (Backend backend : ring.backends().values()) {
      Sum sum = sums[backend.id()];
      if (sum != null) {
        owners.add(owner(config, backend, sum, live));
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
            ? settled.waits(latest).stream().map(each -> MuxWait.of(each, now)).toList()
            : List.of(),
        owners);
  }

  private static Owner owner(ServiceConfig config, Backend backend, Sum sum, LiveConnections live) {
    Optional<LiveConnections.Occupied> answer = live.occupied(config.name(), backend.id());
    return new Owner(
        backend.id(),
        backend.address().toString(),
        sum.buckets,
        sum.since,
        sum.last + config.heldSeconds(),
        answer.map(LiveConnections.Occupied::connections),
        answer.map(occupied -> occupied.buckets().cardinality()),
        answer.isPresent()
            ? Optional.empty()
            : Optional.of(unknown(config.name(), backend.id(), live)));
  }

  /** Why it is not known which connections a backend has in buckets that it had before. */
  public static String unknown(String service, int backend, LiveConnections live) {
    return live.connections(service, backend).isPresent()
        ? "backend %d has not answered yet".formatted(backend)
        : live.unknown(service, backend);
  }

  /** The sum over all owners, if it is known of all. */
  public Optional<Long> connections() {
    return owners.stream().allMatch(owner -> owner.connections().isPresent())
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
      ServiceImage image, int bucket, LiveConnections live, SettledMoves settled, long now) {
    ServiceConfig config = image.config();
    Ring ring = image.ring();
    if (config.holdSeconds() == 0 || ring.previous(bucket) == Backend.NONE) {
      return Optional.empty();
    }
    History owners = ring.history(bucket);
    return Optional.of(
        new Bucket(
            owners.since(0) + config.heldSeconds(),
            now >= owners.since(0) + config.windowSeconds(),
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
    OptionalLong settledFor = settled.settledFor(owners.since(i));
    if (settledFor.isEmpty()) {
      String why =
          settled.waits(owners.since(i)).stream()
              .map(wait -> ": " + wait.text())
              .findFirst()
              .orElse("");
      return new Former(owner, Optional.empty(), Optional.of("not asked yet" + why));
    }
    long askedFor = settledFor.getAsLong() - Questions.waitSeconds(config);
    if (askedFor < 0) {
      String when = "asked in %d s".formatted(-askedFor);
      return new Former(owner, Optional.empty(), Optional.of(when));
    }
    // A question asked since then is about this bucket, too.
    return live.occupied(config.name(), owner)
        .filter(answer -> answer.asked().toSeconds() < askedFor)
        .map(
            answer ->
                new Former(owner, Optional.of(answer.buckets().get(bucket)), Optional.empty()))
        .orElseGet(
            () ->
                new Former(
                    owner, Optional.empty(), Optional.of(unknown(config.name(), owner, live))));
  }
}
