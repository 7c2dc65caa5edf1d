// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.agents.AgentReports;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Loads;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.StoreException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells muxes in one leader's term how busy servers are, of services that are steered by that
 * (protocol/README.md §4, {@code loads}). A thread of its own calls {@link #step} every {@link
 * #PERIOD_MILLIS}: commits wait neither for a write nor for a ZooKeeper that does not answer one.
 * No write is tried again: what it would say is out of date a second later.
 */
final class LoadsWriter {
  static final long PERIOD_MILLIS = 1000;

  /** What has not changed is written again: muxes take 10 s without a write for silence. */
  static final Duration REPEAT = Duration.ofSeconds(4);

  private static final Logger LOG = LoggerFactory.getLogger(LoadsWriter.class);
  private static final String WRITES = "fairlead.controller.loads.writes";

  /** What muxes read. */
  interface Store {
    static Store of(ServiceStore store) {
      return new Store() {
        @Override
        public void write(Epoch epoch, String service, Loads loads) throws StoreException {
          store.write(epoch, service, loads);
        }

        @Override
        public Optional<Loads> readSince(String service, Instant since) throws StoreException {
          return store.readLoads(service, since);
        }
      };
    }

    /** One write, fenced by the epoch. */
    void write(Epoch epoch, String service, Loads loads) throws StoreException;

    /** What was written since then, by ZooKeeper's clock, which is about this one's. */
    Optional<Loads> readSince(String service, Instant since) throws StoreException;
  }

  private final Function<ServiceImage, SortedMap<Integer, Long>> source;
  private final Store store;
  private final Epoch epoch;
  private final InstantSource clock;
  private final LongSupplier nanos;
  private final Counter written;
  private final Counter failed;

  /** What a node has, and since when. */
  private record Written(SortedMap<Integer, Long> loads, long at) {}

  /** By id of the service. */
  private final Map<Integer, Written> known = new HashMap<>();

  /** What the leader before wrote, by id of the service. */
  private final Map<Integer, SortedMap<Integer, Long>> found = new HashMap<>();

  private final long began;

  /**
   * @param source the loads of a service's backends that are known now
   * @param nanos a monotonic clock, as {@link System#nanoTime}
   */
  LoadsWriter(
      Function<ServiceImage, SortedMap<Integer, Long>> source,
      Store store,
      Epoch epoch,
      InstantSource clock,
      LongSupplier nanos,
      MeterRegistry registry) {
    this.source = source;
    this.store = store;
    this.epoch = epoch;
    this.clock = clock;
    this.nanos = nanos;
    began = nanos.getAsLong();
    written = registry.counter(WRITES, "result", "written");
    failed = registry.counter(WRITES, "result", "failed");
  }

  /**
   * Writes what has changed since the last step, and what is about to seem old.
   *
   * @param services all of them, as committed
   */
  void step(Collection<ServiceImage> services) {
    Set<Integer> wanting = new HashSet<>();
    for (ServiceImage service : services) {
      if (service.config().wantsLoads()) {
        wanting.add(service.config().id());
        write(service);
      }
    }
    known.keySet().retainAll(wanting);
    found.keySet().retainAll(wanting);
  }

  private void write(ServiceImage service) {
    int id = service.config().id();
    SortedMap<Integer, Long> loads = source.apply(service);
    if (isWritten(loads, known.get(id)) || loads.isEmpty() && isEarly() && !known.containsKey(id)) {
      return;
    }
    try {
      loads = withFound(service, loads);
      if (isWritten(loads, known.get(id))) {
        return;
      }
      store.write(epoch, service.config().name(), Loads.of(loads));
      known.put(id, new Written(loads, nanos.getAsLong()));
      written.increment();
    } catch (StoreException e) {
      known.remove(id);
      failed.increment();
      LOG.debug("{}", e.getMessage()); // the next step writes what is known then
    }
  }

  private boolean isWritten(SortedMap<Integer, Long> loads, Written last) {
    return last != null
        && loads.equals(last.loads())
        && (loads.isEmpty() || nanos.getAsLong() - last.at() < REPEAT.toNanos());
  }

  /**
   * A new leader has not heard of all servers yet: of the others, what the last one wrote holds.
   */
  private SortedMap<Integer, Long> withFound(ServiceImage service, SortedMap<Integer, Long> heard)
      throws StoreException {
    if (!isEarly()) {
      return heard;
    }
    int id = service.config().id();
    if (!found.containsKey(id)) {
      Instant since = clock.instant().minus(AgentReports.LOAD_AGE);
      found.put(
          id,
          store
              .readSince(service.config().name(), since)
              .map(Loads::loads)
              .orElse(Collections.emptySortedMap()));
    }
    SortedMap<Integer, Long> union = new TreeMap<>(found.get(id));
    union.keySet().retainAll(service.pool().keySet());
    union.putAll(heard);
    return union;
  }

  private boolean isEarly() {
    return nanos.getAsLong() - began < AgentReports.LOAD_AGE.toNanos();
  }
}
