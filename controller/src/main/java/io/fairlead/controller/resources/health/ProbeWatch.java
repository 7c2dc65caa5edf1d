// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import io.fairlead.controller.resources.muxes.MetricsUrl;
import io.fairlead.controller.store.EntryWatch;
import io.fairlead.controller.store.Node;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.Tree;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The probes of muxes that are added, as they describe what they find in their ephemeral nodes. No
 * other node is looked at. Watches keep a copy, so a read needs no request.
 */
public final class ProbeWatch implements AutoCloseable {
  /** A node that was not written for so long says nothing. */
  static final Duration FRESH = Duration.ofSeconds(30);

  private static final Logger LOG = LoggerFactory.getLogger(ProbeWatch.class);

  private final EntryWatch entries;
  private final LongSupplier nanos;
  private final LongSupplier millis;
  private final Map<String, Read> reads = new ConcurrentHashMap<>();

  /** A node of one write, when it was seen first, and what it says if it is readable. */
  private record Read(String id, long written, long millis, long seen, Optional<ProbeNode> node) {}

  /**
   * What is known of one probe.
   *
   * @param state "fresh", "stale" or "malformed"; of the latter two nothing counts
   * @param reaches whether any backend of any service is up or has answered
   */
  public record View(String id, String state, boolean reaches) {}

  /**
   * @param nanos a monotonic clock
   * @param millis Unix milliseconds
   */
  public ProbeWatch(Store store, Tree tree, LongSupplier nanos, LongSupplier millis) {
    entries = new EntryWatch(store, tree.health(), new EntryWatch.Listener() {});
    this.nanos = nanos;
    this.millis = millis;
  }

  public void start() {
    entries.start();
  }

  /** Those that are fresh, by ascending id. */
  public List<ProbeNode> fresh() {
    return reads().stream().filter(this::isFresh).flatMap(read -> read.node().stream()).toList();
  }

  /** Where those that say so have their metrics, by id. */
  public Map<String, MetricsUrl> metrics() {
    Map<String, MetricsUrl> urls = new TreeMap<>();
    for (Read read : reads()) {
      read.node().flatMap(ProbeNode::metrics).ifPresent(url -> urls.put(read.id(), url));
    }
    return urls;
  }

  /** All of them, by ascending id. */
  public List<View> probes() {
    return reads().stream()
        .map(
            read ->
                new View(
                    read.id(),
                    read.node().isEmpty() ? "malformed" : isFresh(read) ? "fresh" : "stale",
                    read.node().filter(ProbeNode::reachesAny).isPresent()))
        .toList();
  }

  private List<Read> reads() {
    List<EntryWatch.Live> live = entries.live();
    reads.keySet().retainAll(live.stream().map(each -> each.node().path()).toList());
    return live.stream()
        .map(each -> reads.compute(each.node().path(), (path, last) -> read(each, last)))
        .toList();
  }

  /** By either clock: the wall clock tells of nodes that were stale when this controller began. */
  private boolean isFresh(Read read) {
    return nanos.getAsLong() - read.seen() <= FRESH.toNanos()
        && millis.getAsLong() - read.millis() <= FRESH.toMillis();
  }

  private Read read(EntryWatch.Live live, Read last) {
    String id = live.id();
    Node data = live.node();
    long written = data.stat().revision();
    if (last != null && last.written() == written) {
      return last;
    }
    Optional<ProbeNode> node = Optional.empty();
    try {
      node = Optional.of(ProbeNode.parse(id, data.data()));
    } catch (IOException e) {
      LOG.warn(
          "the node of the probe of mux '{}' is not readable: {}",
          id,
          e.getMessage().lines().findFirst().orElse(""));
    }
    return new Read(id, written, data.stat().written().toEpochMilli(), nanos.getAsLong(), node);
  }

  @Override
  public void close() {
    entries.close();
  }
}
