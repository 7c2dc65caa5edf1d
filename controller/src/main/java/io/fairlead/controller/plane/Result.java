// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plane;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import java.util.List;

/**
 * What a write did, or with a dry run would do.
 *
 * @param generation of the service afterwards
 * @param changed whether there was anything to do
 * @param created whether the service or backend that the request names is new
 * @param shares of backends whose weight or number of buckets changes
 */
public record Result(
    String service,
    long generation,
    boolean dryRun,
    boolean changed,
    @JsonIgnore boolean created,
    @JsonUnwrapped Moved moved,
    List<Share> shares) {

  /**
   * The buckets that a write moves.
   *
   * @param stillChained how many had moved before within the window
   * @param returnedBuckets how many of those went back to the previous owner, because no other
   *     backend could take them
   * @param moves the first 4,096 by ascending bucket
   */
  public record Moved(int movedBuckets, int stillChained, int returnedBuckets, List<Move> moves) {
    public static final Moved NONE = new Moved(0, 0, 0, List.of());
  }

  /** Of a write that finds everything as it asks for. */
  public static Result unchanged(String service, long generation, boolean dryRun) {
    return new Result(service, generation, dryRun, false, false, Moved.NONE, List.of());
  }

  /** Of a write that changes something and moves no bucket. */
  public static Result unmoved(String service, long generation, boolean dryRun) {
    return unchanged(service, generation, dryRun).with(Moved.NONE, List.of());
  }

  /** Of a write that changes something. */
  public Result with(Moved newMoved, List<Share> newShares) {
    return new Result(service, generation, dryRun, true, created, newMoved, newShares);
  }

  public Result asCreated() {
    return new Result(service, generation, dryRun, changed, true, moved, shares);
  }

  public int movedBuckets() {
    return moved.movedBuckets();
  }

  public int stillChained() {
    return moved.stillChained();
  }

  public int returnedBuckets() {
    return moved.returnedBuckets();
  }

  public List<Move> moves() {
    return moved.moves();
  }
}
