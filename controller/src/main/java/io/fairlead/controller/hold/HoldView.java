// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.hold;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.agents.LiveConnections;
import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.muxes.SettledMoves;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Ring;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;

/**
 * The held buckets of a service, and the connections for which they are held.
 *
 * @param chainedBuckets buckets that name a previous owner, held or still within their window
 * @param waitingBuckets held buckets about which no answer counts yet, since a mux may open
 *     connections at their earlier owners
 * @param waitingFor what the latest of them waits for
 * @param owners that held buckets' packets are chained to, by ascending id; a bucket that moved
 *     more than once counts at each
 */
public record HoldView(
    String service,
    long generation,
    int holdSeconds,
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
   * A backend that had held buckets before.
   *
   * @param since Unix seconds of the first last move of these buckets
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
  }

  /**
   * @param settled of the service
   * @param now Unix seconds
   */
  public static HoldView of(
      ServiceImage image, LiveConnections live, SettledMoves settled, long now) {
    ServiceConfig config = image.config();
    Ring ring = image.ring();
    Sum[] sums = new Sum[Backend.MAX + 1];
    int[] held = new int[2];
    long[] waiting = new long[] {-1};
    HeldBuckets.visit(
        image,
        now,
        (bucket, owners) -> {
          held[0]++;
          if (settled.settledFor(ring.since(bucket)).isEmpty()) {
            held[1]++;
            waiting[0] = Math.max(waiting[0], ring.since(bucket));
          }
          for (int i = 0; i < owners.size(); i++) {
            int owner = owners.owner(i);
            Sum sum = sums[owner] == null ? sums[owner] = new Sum() : sums[owner];
            sum.buckets++;
            sum.since = Math.min(sum.since, ring.since(bucket));
            sum.last = Math.max(sum.last, ring.since(bucket));
          }
          return true;
        });
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
        Holds.of(image).named(),
        held[0],
        held[1],
        held[1] > 0
            ? settled.waits(waiting[0]).stream().map(wait -> MuxWait.of(wait, now)).toList()
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

  /** Of one bucket: whether each owner before has connections in it. */
  public record Bucket(long until, boolean held, List<Former> owners) {}

  /**
   * @param connected whether it has connections in the bucket; absent if that is not known
   */
  public record Former(int id, Optional<Boolean> connected, Optional<String> unknown) {}

  /** Of a bucket that names a previous owner in a service with a hold. */
  public static Optional<Bucket> of(
      ServiceImage image, int bucket, LiveConnections live, long now) {
    ServiceConfig config = image.config();
    Ring ring = image.ring();
    if (config.holdSeconds() == 0 || ring.previous(bucket) == Backend.NONE) {
      return Optional.empty();
    }
    long closed = ring.since(bucket) + config.windowSeconds();
    return Optional.of(
        new Bucket(
            ring.since(bucket) + config.heldSeconds(),
            now >= closed,
            IntStream.range(0, ring.history(bucket).size())
                .map(ring.history(bucket)::owner)
                .mapToObj(owner -> former(config.name(), owner, bucket, live, now - closed))
                .toList()));
  }

  private static Former former(
      String service, int owner, int bucket, LiveConnections live, long closedFor) {
    // A question asked since the window closed is about this bucket, too.
    Optional<Boolean> connected =
        live.occupied(service, owner)
            .filter(answer -> answer.asked().toSeconds() < closedFor)
            .map(answer -> answer.buckets().get(bucket));
    return new Former(
        owner,
        connected,
        connected.isPresent()
            ? Optional.empty()
            : Optional.of(
                closedFor < 0 ? "asked when the window is over" : unknown(service, owner, live)));
  }
}
