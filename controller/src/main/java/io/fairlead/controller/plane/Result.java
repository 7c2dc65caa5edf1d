// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plane;

import java.util.List;

/**
 * What a write did, or with a dry run would do. {@code generation} is the service's generation
 * afterwards, {@code changed} whether there was anything to do, {@code stillChained} how many of
 * the moved buckets had moved before within the window, {@code returnedBuckets} how many of those
 * went back to the owner before because nobody else could take them. {@code moves} are the first
 * 4,096 by ascending bucket; {@code shares} those of backends whose weight or number of buckets
 * changes.
 */
public record Result(
    String service,
    long generation,
    boolean dryRun,
    boolean changed,
    int movedBuckets,
    int stillChained,
    int returnedBuckets,
    List<Move> moves,
    List<Share> shares) {

  /** Of a write that changes something. */
  public Result(
      String service,
      long generation,
      boolean dryRun,
      int movedBuckets,
      int stillChained,
      int returnedBuckets,
      List<Move> moves,
      List<Share> shares) {
    this(
        service,
        generation,
        dryRun,
        true,
        movedBuckets,
        stillChained,
        returnedBuckets,
        moves,
        shares);
  }
}
