// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.upkeep;

import java.util.Optional;

/**
 * The latest rebalance or defragmentation; {@code state} is "running", "reached" or "stopped".
 * Times are Unix seconds, {@code next} of an iteration that is not before then.
 */
public record UpkeepJob(
    String kind,
    String state,
    double target,
    int maxMoves,
    boolean moveChained,
    int iterations,
    long movedBuckets,
    int leftBuckets,
    long started,
    long last,
    Optional<Long> next) {}
