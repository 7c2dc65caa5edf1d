// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.plane.Unavailable;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.StoredService;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * The arrays of services that were asked for, on any controller: read once for each that is
 * committed. Thread-safe.
 */
final class ArraysCache implements Function<StoredService, Optional<CommittedArrays>> {
  private final ServiceStore store;
  private final Map<String, CommittedArrays> arrays = new ConcurrentHashMap<>();

  ArraysCache(ServiceStore store) {
    this.store = store;
  }

  /** The arrays of {@code service}; empty before the first, and with another steering. */
  @Override
  public Optional<CommittedArrays> apply(StoredService service) {
    String name = service.image().config().name();
    Optional<LatestArrays> latest =
        service.state().arrays().filter(list -> list.committed().isPresent());
    CommittedArrays known = arrays.get(name);
    if (latest.isEmpty()) {
      arrays.remove(name);
      return Optional.empty();
    }
    if (known == null
        || known.service() != service.image().config().id()
        || !known.latest().equals(latest.get())) {
      try {
        known = CommittedArrays.read(store, service).orElseThrow();
        if (known.isBeforeLost()) {
          throw new StoreException.Damaged(
              "service '%s' is damaged: its arrays before the newest cannot be read"
                  .formatted(name),
              null);
        }
      } catch (StoreException e) {
        throw Unavailable.store(e);
      }
      arrays.put(name, known);
    }
    return Optional.of(known);
  }
}
