// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.core.ring.Frame;
import java.util.Optional;

/**
 * What a generation does to a service's Othello arrays. Without bytes it only settles them, or says
 * what is written ahead.
 *
 * @param whole new arrays
 * @param patch what changes the newest arrays into new ones
 * @param latest as it is from this generation on
 */
public record ArraysWrite(Optional<byte[]> whole, Optional<byte[]> patch, LatestArrays latest) {
  /** New arrays as a whole. */
  public static ArraysWrite ofWhole(byte[] bytes, LatestArrays latest) {
    return new ArraysWrite(Optional.of(bytes), Optional.empty(), latest);
  }

  /** New arrays as a change of the newest. */
  public static ArraysWrite ofPatch(byte[] bytes, LatestArrays latest) {
    return new ArraysWrite(Optional.empty(), Optional.of(bytes), latest);
  }

  /** The same arrays. */
  public static ArraysWrite ofNothing(LatestArrays latest) {
    return new ArraysWrite(Optional.empty(), Optional.empty(), latest);
  }

  /** The same for another generation than the one that it was made for. */
  public ArraysWrite renumbered(long generation) {
    return new ArraysWrite(
        whole.map(bytes -> Frame.withGeneration(bytes, generation)),
        patch.map(bytes -> Frame.withGeneration(bytes, generation)),
        latest.renumbered(generation));
  }

  /** The generation with these bytes besides its own. */
  public Generation of(Generation generation) {
    Generation more =
        whole.map(bytes -> generation.with(Generation.ARRAYS, bytes)).orElse(generation);
    return patch.map(bytes -> more.with(Generation.ARRAYS_PATCH, bytes)).orElse(more);
  }

  public long size() {
    return whole.map(bytes -> bytes.length).orElse(0) + patch.map(bytes -> bytes.length).orElse(0);
  }
}
