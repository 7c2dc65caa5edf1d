// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.resources.muxes.MuxService;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.othello.Decision.Step;
import io.fairlead.controller.store.LatestArrays;
import java.util.List;

/**
 * Arrays that are written ahead and that latest_arrays announces, while muxes read them
 * (protocol/README.md §12). Large ones take a mux up to seconds, in which the pool may change tens
 * of times: if they were named at once, all that comes after them would wait for them there. They
 * are named once all muxes have read them that serve the service. A mux that cannot is waited for
 * in vain, and after {@link #seconds} changes wait for it, so that it withdraws as behind.
 *
 * @param ahead what was written
 * @param proposal that names them
 * @param generation beside which the last of them is written
 * @param neededAt since when they are needed, by the clock
 * @param until when it is awaited that muxes have read them, by the clock
 */
record ComingArrays(
    WrittenAhead ahead, ArraysProposal proposal, long generation, long neededAt, long until) {
  private static final int SECONDS_MAX = 60;

  /** For so long at most they wait for muxes; connections are chained for as long. */
  static int seconds(int windowSeconds) {
    return Math.min(SECONDS_MAX, windowSeconds / 3);
  }

  /** Whether to name them now. */
  Decision decide(String service, List<MuxView> muxes, long now) {
    List<String> reading =
        muxes.stream()
            .filter(mux -> isReading(mux.services().get(service)))
            .map(MuxView::id)
            .toList();
    return reading.isEmpty() || now - until >= 0
        ? new Decision(Step.NAME, List.of(), List.of(), 0)
        : new Decision(Step.WAIT, List.of(), reading, 0);
  }

  private boolean isReading(MuxService applied) {
    return applied != null
        && applied.isServed()
        && applied.arrays().orElse(LatestArrays.NONE) < generation;
  }
}
