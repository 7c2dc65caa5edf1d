// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

/**
 * The sum of a ring (protocol/README.md §5), by which a reader knows that its ring is the one that
 * a delta changes: of a number for each bucket and each backend in service, so that what a delta
 * changes is taken out and added.
 */
final class RingSum {
  private RingSum() {}

  static long of(Ring ring) {
    long sum = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      sum += of(bucket, ring.current(bucket), ring.history(bucket));
    }
    for (Backend backend : ring.backends().values()) {
      sum += of(backend);
    }
    return sum;
  }

  static long of(int bucket, int current, History history) {
    long sum = mix((long) bucket << 16 | current);
    for (int i = 0; i < history.size(); i++) {
      sum = mix(sum ^ (history.since(i) << 16 | history.owner(i)));
    }
    return sum;
  }

  static long of(Backend backend) {
    if (backend.removed()) {
      return 0;
    }
    Address address = backend.address();
    long id = (backend.foreign() ? 1L << 16 : 0) | backend.id();
    long sum = mix(mix(id) ^ Long.reverseBytes(address.high()));
    return mix(sum ^ Long.reverseBytes(address.low()));
  }

  /** The last steps of splitmix64. */
  private static long mix(long value) {
    long mixed = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
    return mixed ^ mixed >>> 31;
  }
}
