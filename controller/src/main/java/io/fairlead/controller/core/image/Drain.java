// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import io.fairlead.controller.core.words.Word;
import java.util.Optional;

/**
 * A backend of weight 0 that is waited for, as in ZooKeeper (protocol/README.md §4).
 *
 * @param since Unix seconds
 * @param generation from which on it owns no bucket that could move
 * @param weight before, to which an undo returns
 * @param deadline Unix seconds
 * @param then what becomes of the backend at the end
 * @param end of a drain that is over, and whose backend stays
 */
@JsonPropertyOrder({"since", "generation", "weight", "deadline", "then", "end"})
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record Drain(
    long since,
    long generation,
    int weight,
    Optional<Long> deadline,
    Then then,
    Optional<End> end) {
  public Drain {
    end = end == null ? Optional.empty() : end; // absent in JSON
    deadline = deadline == null ? Optional.empty() : deadline;
  }

  /** What becomes of a drained backend. */
  public enum Then implements Word {
    KEEP,
    REMOVE;

    @Override
    public String toString() {
      return word();
    }
  }

  /** Why a drain is over. */
  public enum Reason implements Word {
    /** Its agent has reported that no connection is left. */
    EMPTY,
    /** The deadline has passed. */
    DEADLINE,
    /** No bucket names the backend any more. */
    EXPIRED;

    @Override
    public String toString() {
      return word();
    }
  }

  /**
   * @param at Unix seconds
   * @param connections left by the latest report; absent if unknown, so that the end was blind
   */
  @JsonPropertyOrder({"reason", "at", "connections"})
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record End(Reason reason, long at, Optional<Long> connections) {
    public End {
      connections = connections == null ? Optional.empty() : connections;
    }

    /** In words. */
    public String words() {
      String left = connections.map(End::left).orElse("connections unknown");
      boolean isUncounted = reason != Reason.EMPTY && connections.equals(Optional.of(0L));
      return "%s, %s%s"
          .formatted(reason, left, isUncounted ? " by a report that did not count yet" : "");
    }

    private static String left(long count) {
      return switch ((int) Math.min(count, 2)) {
        case 0 -> "no connection left";
        case 1 -> "1 connection left";
        default -> count + " connections left";
      };
    }
  }

  public boolean isRunning() {
    return end.isEmpty();
  }

  public Drain ended(End how) {
    return new Drain(since, generation, weight, deadline, then, Optional.of(how));
  }

  /** Another deadline and end of the same drain, which goes on. */
  public Drain with(Optional<Long> newDeadline, Then newThen) {
    return new Drain(since, generation, weight, newDeadline, newThen, Optional.empty());
  }
}
