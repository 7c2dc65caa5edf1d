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

  /** What controllers know of the ring besides its snapshot; beside a snapshot, if there is any. */
  public static final String EARLIER = "earlier";

  /** What muxes need for the steering method besides the ring. */
  public static final String STEERING = "steering";

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
