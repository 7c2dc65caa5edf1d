// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import java.util.List;
import java.util.Set;

/**
 * The muxes that may steer packets, as far as a controller knows. Times are seconds of its
 * monotonic clock, so that no wall clock makes a wait shorter.
 *
 * @param present those with a node
 * @param unreadable the ids of those whose node says nothing that is understood: they may announce
 *     whatever they have
 * @param absent those whose node is gone, and that have not come back
 * @param watchedSince from when on no node can have gone unnoticed
 * @param added how many muxes are added, whether or not anything is known of them
 */
public record MuxPresence(
    List<Present> present,
    Set<String> unreadable,
    List<Absent> absent,
    long watchedSince,
    int added) {
  /** Of a mux that does not say: an older one, by its default. */
  public static final int BEHIND_SECONDS_DEFAULT = 60;

  /** What a mux's option allows. */
  static final int BEHIND_SECONDS_MAX = 3600;

  /** Of muxes of which each is present or known to be absent. */
  public MuxPresence(List<Present> present, List<Absent> absent, long watchedSince) {
    this(present, Set.of(), absent, watchedSince, present.size() + absent.size());
  }

  /** No muxes, and none before. */
  public static final MuxPresence NONE = new MuxPresence(List.of(), List.of(), 0);

  /**
   * @param behindSeconds for which the mux may be behind before it withdraws a service; 0: it never
   *     does
   */
  public record Present(MuxView mux, int behindSeconds) {}

  /**
   * A mux without a session with ZooKeeper: it may have ended, or goes on by what it has.
   *
   * @param mux as it last described itself
   * @param gone when its node was missed
   */
  public record Absent(MuxView mux, int behindSeconds, long gone) {}
}
