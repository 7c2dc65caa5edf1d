// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.repository.StoredService;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.ring.Runs;
import io.fairlead.controller.store.LatestArrays;
import java.util.BitSet;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What a keeper wants to commit after one look, on whatever generation is the latest by then. A
 * build takes up to seconds, and other changes do not wait for it. They need not: arrays name
 * buckets, not owners, so a change that comes before arrays leaves the same ring as one that comes
 * after them. Connections whose bucket it moved are chained from there and found by the next look.
 * Only the generation's number differs.
 *
 * <p>One thing must hold still: a bucket that is kept for a backend that drains, and does not name
 * it yet. If it was moved, it has another owner before, and arrays would lead there in vain. Then
 * no arrays are committed, but moves that name the backends; the next attempt finds them named.
 *
 * @param from which arrays {@code next} follow
 * @param next new or settled ones, if any
 * @param looked at
 * @param kept by the look
 * @param needed buckets whose moves connections need
 * @param known backends that have known connections
 */
record ArraysProposal(
    Optional<LatestArrays> from,
    Optional<CommittedArrays.Next> next,
    ServiceImage looked,
    KeptBuckets kept,
    BitSet needed,
    BitSet known)
    implements ArraysWriter.Proposal {
  /** The same for other arrays. */
  ArraysProposal with(CommittedArrays.Next arrays) {
    return new ArraysProposal(from, Optional.of(arrays), looked, kept, needed, known);
  }

  /** The same arrays and kept buckets, by a later look. */
  ArraysProposal at(Optional<LatestArrays> latest, ServiceImage image, BitSet neededNow) {
    return new ArraysProposal(latest, next, image, kept, neededNow, known);
  }

  @Override
  public Optional<ArraysWriter.Commit> on(StoredService stored, long seconds) {
    ServiceImage image = stored.image();
    Optional<LatestArrays> latest = stored.state().arrays();
    if (image.config().othello().isEmpty() || !latest.equals(from)) {
      return Optional.empty();
    }
    Optional<KeptBuckets> still = still(image, seconds);
    KeptBuckets now =
        still.orElseGet(() -> KeptBuckets.of(image, id -> known.get(id) ? 1 : 0, seconds));
    Optional<CommittedArrays.Next> arrays =
        next.filter(ready -> still.isPresent())
            .map(ready -> ready.numbered(image.ring().generation() + 1));
    Runs runs = now.runs(image, needed, seconds);
    return arrays.isEmpty() && runs.size() == 0
        ? Optional.empty()
        : Optional.of(new ArraysWriter.Commit(arrays, runs));
  }

  /** The kept buckets that are to be named now; empty if one can no longer be. */
  private Optional<KeptBuckets> still(ServiceImage image, long seconds) {
    Ring before = looked.ring();
    Ring ring = image.ring();
    Map<Integer, Integer> still = new TreeMap<>();
    for (Map.Entry<Integer, Integer> entry : kept.buckets().entrySet()) {
      int id = entry.getKey();
      int bucket = entry.getValue();
      if (!image.pool().containsKey(id)) {
        continue; // its connections are found by the arrays before, and by the next look
      }
      boolean isSame =
          ring.current(bucket) == before.current(bucket)
              && ring.previous(bucket) == before.previous(bucket)
              && ring.since(bucket) == before.since(bucket);
      boolean wasNamed =
          before.previous(bucket) == id
              && before.isMoved(bucket, seconds, looked.config().windowSeconds());
      if (isSame) {
        still.put(id, bucket);
      } else if (!wasNamed) {
        return Optional.empty();
      }
    }
    return Optional.of(new KeptBuckets(still));
  }
}
