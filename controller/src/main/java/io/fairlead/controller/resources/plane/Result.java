// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.fairlead.controller.core.image.Built;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.ServiceImage.Member;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;

/**
 * What a write did, or with a dry run would do.
 *
 * @param generation of the service afterwards
 * @param changed whether there was anything to do
 * @param created whether the service or backend that the request names is new
 * @param shares of backends whose weight or number of buckets changes
 * @param hold of a write that changes for how long buckets are chained
 * @param drains of a write that drains backends
 * @param staging of a write that begins, advances or ends a staged change
 * @param ended of the deletion of a service
 * @param warnings sentences: which muxes do not announce the service, and why; which connections of
 *     a deleted service are reset
 * @param pool of the service afterwards, by id; of a write of its backends
 */
@Built
public record Result(
    String service,
    long generation,
    boolean dryRun,
    boolean changed,
    @JsonIgnore boolean created,
    @JsonUnwrapped Moved moved,
    List<Share> shares,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Hold> hold,
    @JsonInclude(JsonInclude.Include.NON_EMPTY) List<Drained> drains,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Staging> staging,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Ended> ended,
    @JsonInclude(JsonInclude.Include.NON_EMPTY) List<String> warnings,
    @JsonIgnore SortedMap<Integer, Member> pool)
    implements ResultBuilder.With {

  /**
   * The buckets that a write moves.
   *
   * @param stillChained how many had moved before within the window
   * @param moves the first 4,096 by ascending bucket
   * @param eitherShare of all connections, those that have such a bucket as the first or the
   *     second; of services in which they have two
   * @param leaving of the first 256 backends that lose buckets, by ascending id
   * @param windowEnds connections in all these buckets that break if they are still open when the
   *     window is over; of services without a hold
   */
  public record Moved(
      int movedBuckets,
      int stillChained,
      @JsonUnwrapped Owners owners,
      List<Move> moves,
      @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Double> eitherShare,
      @JsonInclude(JsonInclude.Include.NON_EMPTY) List<Leaving> leaving,
      @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Ended> windowEnds) {
    public static final Moved NONE =
        new Moved(0, 0, Owners.ALL_FOUND, List.of(), Optional.empty(), List.of(), Optional.empty());

    public Moved with(List<Leaving> newLeaving, Optional<Ended> newWindowEnds) {
      return new Moved(
          movedBuckets, stillChained, owners, moves, eitherShare, newLeaving, newWindowEnds);
    }
  }

  /**
   * What becomes of buckets' former owners.
   *
   * @param lostBuckets full buckets: by moving they lose the oldest former owner, whose connections
   *     break
   * @param waitingBuckets buckets that would be among those, and stay until they are full no more
   * @param unchainedBuckets buckets that had a dead backend as a former owner and no longer have
   */
  public record Owners(int lostBuckets, int waitingBuckets, int unchainedBuckets) {
    public static final Owners ALL_FOUND = new Owners(0, 0, 0);
  }

  /**
   * What another {@code windowSeconds} or {@code holdSeconds} means for buckets that have moved.
   *
   * @param heldBuckets buckets whose packets are chained to a former owner now
   * @param shortenedBuckets those of them that are for less time, by what the write sets
   * @param releasedBuckets those of them that no longer are
   */
  public record Hold(int heldBuckets, int shortenedBuckets, int releasedBuckets) {}

  /**
   * A backend that the write drains.
   *
   * @param connections that it has now, by its agent; absent if unknown
   * @param deadline Unix seconds
   * @param left what becomes of connections that are left then
   */
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record Drained(
      int backend, Optional<Long> connections, Optional<Long> deadline, String left) {}

  /**
   * Connections that a write ends.
   *
   * @param connections on the backends whose agents report them; of a deletion, removed ones
   *     included
   * @param uncountedBackends all others that it concerns
   */
  public record Ended(long connections, int uncountedBackends) {}

  /** Of a write that finds everything as it asks for. */
  public static Result unchanged(String service, long generation, boolean dryRun) {
    return new Result(
        service,
        generation,
        dryRun,
        false,
        false,
        Moved.NONE,
        List.of(),
        Optional.empty(),
        List.of(),
        Optional.empty(),
        Optional.empty(),
        List.of(),
        Collections.emptySortedMap());
  }

  /** Of a write that changes something and moves no bucket. */
  public static Result unmoved(String service, long generation, boolean dryRun) {
    return unchanged(service, generation, dryRun).with(Moved.NONE, List.of());
  }

  /** As above, of the service that is left as {@code after}. */
  public static Result unmoved(ServiceImage after, boolean dryRun) {
    return unmoved(after.config().name(), after.ring().generation(), dryRun);
  }

  /** Of a write that changes something. */
  public Result with(Moved newMoved, List<Share> newShares) {
    return with(result -> result.changed(true).moved(newMoved).shares(newShares));
  }

  public Result with(Optional<Hold> newHold) {
    return withHold(newHold);
  }

  public Result with(Ended newEnded) {
    return withEnded(Optional.of(newEnded));
  }

  public Result asCreated() {
    return withCreated(true);
  }

  public int movedBuckets() {
    return moved.movedBuckets();
  }

  public Owners owners() {
    return moved.owners();
  }
}
