// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** The bytes of one generation, by name. The store does not interpret them. */
public record Generation(long number, SortedMap<String, byte[]> blobs) {
  /** The difference from the generation before. */
  public static final String DELTA = "delta";

  /** The whole of this generation. */
  public static final String SNAPSHOT = "snapshot";

  /** Whole Othello arrays, of a generation that begins with new ones. */
  public static final String ARRAYS = "arrays";

  /** The words in which Othello arrays differ from the newest before them. */
  public static final String ARRAYS_PATCH = "arrays_patch";

  public Generation {
    blobs = Collections.unmodifiableSortedMap(new TreeMap<>(blobs));
  }

  /** One with a single blob. */
  public static Generation of(long number, String name, byte[] bytes) {
    return new Generation(number, new TreeMap<>(Map.of(name, bytes)));
  }

  /** With one more blob. */
  public Generation with(String name, byte[] bytes) {
    SortedMap<String, byte[]> more = new TreeMap<>(blobs);
    more.put(name, bytes);
    return new Generation(number, more);
  }

  /** The bytes under {@code name}, which must be there. */
  byte[] blob(String name) {
    return blobs.get(name);
  }

  long size() {
    return blobs.values().stream().mapToLong(bytes -> bytes.length).sum();
  }
}
