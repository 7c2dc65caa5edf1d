// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

import java.util.Optional;

/**
 * What every write has, regardless of what it changes.
 *
 * @param dryRun check and plan, commit nothing
 * @param onLoss what becomes of buckets that lose an owner by moving
 * @param precondition what must hold at the moment of the commit
 * @param stages how changed weights take effect, if it is not as the service says
 */
public record WriteOptions(
    boolean dryRun,
    OnLoss onLoss,
    Origin origin,
    Precondition precondition,
    Optional<Stages> stages) {
  /**
   * The steps in which a change of weights takes effect.
   *
   * @param text as {@link io.fairlead.controller.core.image.Stage.Steps#parse} reads it
   * @param bakeSeconds in place of the service's
   */
  public record Stages(String text, Optional<Integer> bakeSeconds) {
    public static final Stages AT_ONCE = new Stages("100", Optional.empty());
  }

  /**
   * A bucket that moves although it has as many former owners as its packets have room for loses
   * the oldest: packets no longer reach that one, and its connections break.
   */
  public enum OnLoss {
    /** Nothing of the write takes place. */
    REFUSE,
    /** They move, and the connections break. */
    FORCE,
    /** They stay where they are, and move once they have room. */
    WAIT,
    /** They stay where they are, until the leader's next step tries again. */
    KEEP
  }

  /** Commits, regardless of the service's version. */
  public static final WriteOptions COMMIT =
      new WriteOptions(false, OnLoss.REFUSE, Origin.ANONYMOUS, Precondition.NONE, Optional.empty());

  /** A dry run, regardless of the service's version. */
  public static final WriteOptions PLAN = COMMIT.with(true);

  public WriteOptions with(boolean newDryRun) {
    return new WriteOptions(newDryRun, onLoss, origin, precondition, stages);
  }

  public WriteOptions with(OnLoss other) {
    return new WriteOptions(dryRun, other, origin, precondition, stages);
  }

  public WriteOptions with(Origin other) {
    return new WriteOptions(dryRun, onLoss, other, precondition, stages);
  }

  public WriteOptions with(Precondition other) {
    return new WriteOptions(dryRun, onLoss, origin, other, stages);
  }

  public WriteOptions with(Optional<Stages> other) {
    return new WriteOptions(dryRun, onLoss, origin, precondition, other);
  }
}
