// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.ring.Frame;
import io.fairlead.controller.core.steering.othello.ArraysCodec;
import io.fairlead.controller.core.steering.othello.OthelloArrays;
import io.fairlead.controller.resources.othello.ArraysWriter.Ahead;
import io.fairlead.controller.resources.othello.CommittedArrays.Next;
import io.fairlead.controller.store.ArraysWrite;
import io.fairlead.controller.store.Generation;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.LatestArrays.Source;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/**
 * Arrays whose bytes are written beside earlier generations than the one that commits them. For new
 * arrays that one brings a patch that changes nothing, so it is small, and its number is that of
 * the arrays (protocol/README.md §12).
 *
 * @param kind of the commit: {@code whole}, {@code patch} or {@code repair}
 * @param bytes of the newest arrays among them
 * @param source of the newest arrays among them, for the numbers of the generations beside which
 *     {@code ahead} was written
 * @param next what is left to commit, for the same
 */
record WrittenAhead(
    String kind,
    List<Ahead> ahead,
    long bytes,
    Function<List<Long>, Source> source,
    Function<List<Long>, Next> next) {
  /** New arrays that do not fit into one request. */
  static WrittenAhead of(Next large) {
    ArraysWrite write = large.write();
    String blob = write.whole().isPresent() ? Generation.ARRAYS : Generation.ARRAYS_PATCH;
    byte[] bytes = write.whole().or(write::patch).orElseThrow();
    return new WrittenAhead(
        large.kind(),
        List.of(
            new Ahead(blob, OptionalLong.empty(), number -> Frame.withGeneration(bytes, number))),
        bytes.length,
        numbers -> write.latest().renumbered(numbers.get(0)).newest(),
        numbers -> {
          CommittedArrays built = large.committed().orElseThrow();
          long number = numbers.get(0);
          return named(built, built.latest().renumbered(number), built.before());
        });
  }

  /**
   * The same arrays again, beside the generations that they have: ZooKeeper no longer holds them
   * whole. Muxes that have them need nothing.
   */
  static WrittenAhead again(CommittedArrays arrays) {
    List<Ahead> ahead = new ArrayList<>();
    arrays.before().ifPresent(before -> ahead.add(whole(arrays.service(), before)));
    ahead.add(whole(arrays.service(), arrays.newest()));
    long bytes = ArraysCodec.encode(arrays.service(), arrays.newest()).length;
    LatestArrays latest = arrays.latest();
    Optional<Source> before =
        arrays.before().map(had -> new Source(had.generation(), List.of())).or(latest::before);
    Next next = arrays.rewritten(latest.rewritten(before), bytes);
    return new WrittenAhead("repair", ahead, bytes, numbers -> latest.newest(), numbers -> next);
  }

  private static Ahead whole(int service, OthelloArrays arrays) {
    return new Ahead(
        Generation.ARRAYS,
        OptionalLong.of(arrays.generation()),
        number -> ArraysCodec.encode(service, arrays));
  }

  /** The generation after that of {@code written}, with the same arrays. */
  private static Next named(
      CommittedArrays arrays, LatestArrays written, Optional<OthelloArrays> before) {
    long base = written.generation();
    byte[] patch =
        ArraysCodec.encodeNothing(arrays.service(), base + 1, base, arrays.newest().buckets());
    LatestArrays latest = written.carried(base + 1);
    return new Next(
        ArraysWrite.ofPatch(patch, latest),
        new CommittedArrays(
            arrays.service(),
            latest,
            arrays.newest().withGeneration(base + 1),
            before,
            arrays.wholeBytes(),
            arrays.patchBytes() + patch.length));
  }
}
