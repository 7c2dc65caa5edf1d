// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.muxes.MuxService;
import io.fairlead.controller.muxes.MuxView;
import io.fairlead.controller.othello.Decision.Step;
import java.util.List;

/**
 * Arrays that are written ahead and that latest_arrays announces, while muxes read them
 * (protocol/README.md §12). Large ones take a mux up to seconds, in which the pool may change tens
 * of times: if they were named at once, all that comes after them would wait for them there.
 *
 * @param ahead what was written
 * @param proposal that names them
 * @param generation beside which the last of them is written
 * @param neededAt since when they are needed, by the clock
 * @param until when it is awaited that muxes have read them, by the clock
 */
record ComingArrays(
    WrittenAhead ahead, ArraysProposal proposal, long generation, long neededAt, long until) {
  /** For so long at most they wait for muxes. */
  static final int SECONDS = 10;

  /** Whether to name them now. Muxes of older versions read nothing ahead. */
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
        && applied.arrays().filter(has -> has < generation).isPresent();
  }
}
