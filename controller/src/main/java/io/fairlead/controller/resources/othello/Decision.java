// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import java.util.List;

/**
 * Whether new arrays are due (protocol/README.md §12). Between the newest and the ones before,
 * unknown connections are found by both; so the ones before may be dropped only once every
 * connection that was opened by them is known: once all muxes have the newest or have withdrawn, no
 * SYN cookie of theirs can come back, and every server has then reported whatever was old enough.
 */
record Decision(Step step, List<Integer> agents, List<String> muxes, long spacingSeconds) {
  /** What to do. */
  enum Step {
    NOTHING,
    /** New arrays. */
    BUILD,
    /** Those that are written ahead, once muxes have read them. */
    NAME,
    /** The same arrays again. */
    REPAIR,
    /** Drop the arrays before the newest. */
    SETTLE,
    WAIT
  }

  /**
   * What it depends on.
   *
   * @param isDamaged whether ZooKeeper no longer has the arrays, but the leader has. They change no
   *     code, so they wait for nothing, and muxes may be waiting for them
   * @param isLost whether the leader does not have the newest arrays either: others must follow
   * @param hasArrays whether there are any
   * @param isSettled whether there are none before the newest
   * @param fixable known connections whose code does not fit and can be made to
   * @param isSplit whether packets of any connection need the arrays before in any case
   * @param spacingSeconds until the next arrays may be committed, by the time since the newest
   * @param incomplete backends whose whole set is missing, silent ones included
   * @param late those and others that have not reported past the moment from which on nothing
   *     opened connections by arrays before the newest any more
   * @param muxes that may open connections by arrays before the newest
   * @param openingSeconds until nothing else does, at least: first a mux that this controller never
   *     saw, then a SYN cookie
   */
  record Situation(
      boolean isDamaged,
      boolean isLost,
      boolean hasArrays,
      boolean isSettled,
      int fixable,
      boolean isSplit,
      long spacingSeconds,
      List<Integer> incomplete,
      List<Integer> late,
      List<String> muxes,
      long openingSeconds) {}

  static Decision of(Situation now) {
    if (now.isDamaged()) {
      return new Decision(Step.REPAIR, List.of(), List.of(), 0);
    }
    boolean isNeeded = now.fixable() > 0 || now.isLost();
    boolean hasBefore = now.hasArrays() && !now.isSettled();
    if (!isNeeded && now.isSplit()) {
      return new Decision(Step.NOTHING, List.of(), List.of(), 0);
    }
    if (!isNeeded && !hasBefore) {
      return new Decision(Step.NOTHING, List.of(), List.of(), 0);
    }
    List<Integer> agents = hasBefore ? now.late() : now.incomplete();
    List<String> muxes = hasBefore ? now.muxes() : List.of();
    long spacing = isNeeded && now.hasArrays() ? Math.max(0, now.spacingSeconds()) : 0;
    spacing = hasBefore ? Math.max(spacing, now.openingSeconds()) : spacing;
    if (!agents.isEmpty() || !muxes.isEmpty() || spacing > 0) {
      return new Decision(Step.WAIT, agents, muxes, spacing);
    }
    return new Decision(isNeeded ? Step.BUILD : Step.SETTLE, List.of(), List.of(), 0);
  }
}
