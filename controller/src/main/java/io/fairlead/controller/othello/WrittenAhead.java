// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.othello.ArraysWriter.Ahead;
import io.fairlead.controller.othello.CommittedArrays.Next;
import io.fairlead.controller.ring.Frame;
import io.fairlead.controller.steering.othello.ArraysCodec;
import io.fairlead.controller.steering.othello.OthelloArrays;
import io.fairlead.controller.store.ArraysWrite;
import io.fairlead.controller.store.Generation;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.LatestArrays.Source;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Arrays whose bytes are written beside earlier generations than the one that commits them. That
 * one names them and brings a patch that changes nothing, so it is small, and its number is that of
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
        List.of(new Ahead(blob, number -> Frame.withGeneration(bytes, number))),
        bytes.length,
        numbers -> large.committed().latest().renumbered(numbers.get(0)).newest(),
        numbers -> {
          CommittedArrays built = large.committed();
          long number = numbers.get(0);
          return named(built, built.latest().renumbered(number), built.before());
        });
  }

  /** The same arrays again: ZooKeeper no longer holds them whole. */
  static WrittenAhead again(CommittedArrays arrays) {
    List<Ahead> ahead = new ArrayList<>();
    arrays.before().ifPresent(before -> ahead.add(whole(arrays.service(), before)));
    byte[] newest = ArraysCodec.encode(arrays.service(), arrays.newest());
    ahead.add(new Ahead(Generation.ARRAYS, number -> Frame.withGeneration(newest, number)));
    return new WrittenAhead(
        "repair",
        ahead,
        newest.length,
        numbers -> new Source(numbers.get(numbers.size() - 1), List.of()),
        numbers -> {
          Optional<Source> source =
              arrays
                  .before()
                  .map(before -> new Source(numbers.get(0), List.of()))
                  .or(arrays.latest()::before);
          long number = numbers.get(numbers.size() - 1);
          return named(
              new CommittedArrays(
                  arrays.service(),
                  arrays.latest(),
                  arrays.newest(),
                  arrays.before(),
                  newest.length,
                  0),
              arrays.latest().rewritten(number, source),
              arrays.before().map(before -> before.withGeneration(numbers.get(0))));
        });
  }

  private static Ahead whole(int service, OthelloArrays arrays) {
    return new Ahead(
        Generation.ARRAYS, number -> ArraysCodec.encode(service, arrays.withGeneration(number)));
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
