// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.repository.StoredService;
import java.util.Optional;

/**
 * What a keeper wants to commit after one look, on whatever generation is the latest by then. A
 * build takes up to seconds, and other changes do not wait for it. They need not: arrays name
 * buckets, not owners, so a change that comes before arrays leaves the same ring as one that comes
 * after them. Connections whose bucket it moved are chained from there and found by the next look.
 * Only the generation's number differs.
 *
 * @param from which arrays {@code next} follow
 * @param next new or settled ones, if any
 * @param needed former owners that have to stay
 */
record ArraysProposal(
    Optional<LatestArrays> from, Optional<CommittedArrays.Next> next, ReleasedOwners.Needed needed)
    implements ArraysWriter.Proposal {
  /** The same for other arrays. */
  ArraysProposal with(CommittedArrays.Next arrays) {
    return new ArraysProposal(from, Optional.of(arrays), needed);
  }

  /** The same arrays by a later look. */
  ArraysProposal at(Optional<LatestArrays> latest, ReleasedOwners.Needed neededNow) {
    return new ArraysProposal(latest, next, neededNow);
  }

  @Override
  public Optional<ArraysWriter.Commit> on(StoredService stored, long seconds) {
    ServiceImage image = stored.image();
    if (image.config().othello().isEmpty() || !stored.state().arrays().equals(from)) {
      return Optional.empty();
    }
    Optional<CommittedArrays.Next> arrays =
        next.map(ready -> ready.numbered(image.ring().generation() + 1));
    Runs releases = ReleasedOwners.of(image, needed, seconds);
    return arrays.isEmpty() && releases.size() == 0
        ? Optional.empty()
        : Optional.of(new ArraysWriter.Commit(arrays, releases));
  }
}
