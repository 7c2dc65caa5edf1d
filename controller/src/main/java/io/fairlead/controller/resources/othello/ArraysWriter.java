// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.store.repository.StoredService;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.LongFunction;

/** The writer of one service, as its keeper needs it. */
public interface ArraysWriter {
  StoredService stored();

  boolean isGone();

  /**
   * What to commit on top of whatever came before it; empty: nothing.
   *
   * <p>On the service's event thread, so it is quick.
   */
  interface Proposal {
    /**
     * @param seconds when it is committed, Unix seconds
     */
    Optional<Commit> on(StoredService stored, long seconds);
  }

  /** A generation that has arrays, settles them or releases former owners, and moves no bucket. */
  record Commit(Optional<CommittedArrays.Next> arrays, Runs releases) {}

  /** Commits what is proposed once all changes before it are; returns it, if anything. */
  CompletionStage<Optional<Commit>> commitArrays(Proposal proposal);

  /**
   * Bytes of arrays that are written before anything names them, or again in place of damaged ones.
   *
   * @param blob its name there
   * @param beside which generation; empty: one of their own that changes nothing
   * @param bytes for the number of that generation; made on a background thread
   */
  record Ahead(String blob, OptionalLong beside, LongFunction<byte[]> bytes) {}

  /**
   * As above, after what does not fit into one request: chunk by chunk, and changes come in
   * between.
   *
   * @param proposal for the numbers of the generations that have {@code ahead}, in its order
   */
  CompletionStage<Optional<Commit>> commitArrays(
      List<Ahead> ahead, Function<List<Long>, Proposal> proposal);
}
