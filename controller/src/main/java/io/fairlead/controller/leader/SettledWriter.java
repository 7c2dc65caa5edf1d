// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.Settled;
import io.fairlead.controller.store.StoreException;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells muxes in one leader's term which generations are settled, in one node for all services
 * (protocol/README.md §4). Whoever wants them told says so at any time; {@link #step}, which one
 * thread calls each second, writes what has changed. A generation only rises, also from one leader
 * to the next.
 */
final class SettledWriter implements SettledMoves.Told {
  private static final Logger LOG = LoggerFactory.getLogger(SettledWriter.class);

  /** The node. */
  interface Store {
    static Store of(ServiceStore store) {
      return new Store() {
        @Override
        public Optional<Settled> readSettled() throws StoreException {
          return store.readSettled();
        }

        @Override
        public void write(Epoch epoch, Settled settled) throws StoreException {
          store.write(epoch, settled);
        }
      };
    }

    Optional<Settled> readSettled() throws StoreException;

    /** One write, fenced by the epoch. */
    void write(Epoch epoch, Settled settled) throws StoreException;
  }

  private final Store store;
  private final Epoch epoch;
  private final Map<Integer, Long> wanted = new ConcurrentHashMap<>();

  /** What the node has; empty before it was read. */
  private volatile Optional<Settled> written = Optional.empty();

  /** What this leader has written or found: a node that is damaged later lowers nothing. */
  private final SortedMap<Integer, Long> known = new TreeMap<>();

  SettledWriter(Store store, Epoch epoch) {
    this.store = store;
    this.epoch = epoch;
  }

  @Override
  public long tell(int service, long generation) {
    long told = written.map(node -> node.services().getOrDefault(service, 0L)).orElse(0L);
    if (told < generation) {
      wanted.merge(service, generation, Math::max);
    }
    return told;
  }

  /**
   * Writes what is wanted.
   *
   * @param latest the generations of all services, by id: of others nothing is kept, nor what this
   *     leader finds above them. Empty: not all are known, and all is kept
   */
  void step(Optional<Map<Integer, Long>> latest) {
    latest.map(Map::keySet).ifPresent(wanted.keySet()::retainAll);
    try {
      Settled node = written.orElse(null);
      if (node == null) {
        node = store.readSettled().orElse(Settled.NONE);
        find(node, latest);
      }
      latest.map(Map::keySet).ifPresent(known.keySet()::retainAll);
      SortedMap<Integer, Long> next = new TreeMap<>(known);
      wanted.forEach((service, generation) -> next.merge(service, generation, Math::max));
      if (!next.equals(node.services())) {
        node = Settled.of(next);
        store.write(epoch, node);
        known.putAll(next);
      }
      written = Optional.of(node);
      next.forEach((service, generation) -> wanted.remove(service, generation));
    } catch (StoreException e) {
      written = Optional.empty(); // whether it was written is not known
      LOG.debug("{}", e.getMessage()); // the next step tries again, and waits say so meanwhile
    }
  }

  /** A generation that is not committed is a fault: muxes refuse it, and would never store it. */
  private void find(Settled node, Optional<Map<Integer, Long>> latest) {
    node.services()
        .forEach(
            (service, told) -> {
              long most =
                  Math.max(
                      latest.map(all -> all.getOrDefault(service, told)).orElse(told),
                      Math.max(known.getOrDefault(service, 0L), wanted.getOrDefault(service, 0L)));
              if (told <= most) {
                known.merge(service, told, Math::max);
              } else {
                LOG.warn(
                    "settled.services.{} is {}; allowed: at most {}, the latest generation; it is "
                        + "taken back",
                    service,
                    told,
                    most);
              }
            });
  }
}
