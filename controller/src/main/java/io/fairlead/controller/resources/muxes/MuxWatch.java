// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import static java.util.stream.Collectors.toSet;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Maps;
import com.google.common.collect.Sets;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.store.Connection;
import io.fairlead.controller.store.EntryWatch;
import io.fairlead.controller.store.Node;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The muxes that are added, and those of them that are alive, as they describe themselves in their
 * ephemeral nodes. No other node is looked at. Watches keep a copy, so a read needs no request.
 *
 * <p>While there is no connection, muxes may come and go that no watch tells of. So everything is
 * read again once there is one, and only from then on no node goes unnoticed.
 */
public final class MuxWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MuxWatch.class);
  private static final int FORMAT = 1;

  /** Of nodes that do not say theirs, from before there was another. */
  private static final String USUAL_KIND = "c";

  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .addModule(new Jdk8Module())
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .build();

  private record MuxNode(
      int format,
      Optional<String> kind,
      String version,
      Optional<String> address,
      Optional<String> address6,
      List<String> ports,
      JsonNode serves,
      JsonNode needs,
      JsonNode unreachable,
      int unreachableMore,
      JsonNode metrics,
      JsonNode behindSeconds,
      Map<String, ServiceNode> services) {
    boolean isWhole() {
      return format == FORMAT
          && version != null
          && ports != null
          && !ports.contains(null)
          && services != null
          && services.values().stream().allMatch(service -> service != null && service.isWhole());
    }
  }

  private record ServiceNode(
      long generation,
      String state,
      Optional<String> withdrawn,
      Optional<String> refused,
      Optional<String> why,
      Optional<Long> arrays,
      Optional<Long> settled) {
    boolean isWhole() {
      return generation >= 0 && generation <= Ring.GENERATION_MAX && state != null;
    }

    MuxService view() {
      return new MuxService(generation, state, withdrawn, refused, why, arrays, settled);
    }
  }

  /** For so long other muxes count one whose node is gone, too (protocol/README.md §9, peers). */
  private static final long ABSENT_SECONDS = 86_400;

  /** More than a ZooKeeper that works needs for all of them. */
  private static final long READ_SECONDS = 30;

  private final Store store;
  private final String folder;
  private final LongSupplier seconds;

  /** Guards the next three. No method of a watch is called under it. */
  private final Object turn = new Object();

  private volatile EntryWatch entries;

  @GuardedBy("turn")
  private Optional<EntryWatch> next = Optional.empty();

  @GuardedBy("turn")
  private boolean isClosed;

  private volatile Optional<Store.Following> connection = Optional.empty();
  private volatile long watchedSince = Long.MAX_VALUE;
  private final CountDownLatch whole = new CountDownLatch(1);

  /** As {@link #presence} saw them last. */
  private List<MuxPresence.Present> lastPresent = List.of();

  /** By id. */
  private final Map<String, MuxPresence.Absent> absent = new ConcurrentHashMap<>();

  /** When they were removed from the cluster, by id. */
  private final Map<String, Long> removed = new ConcurrentHashMap<>();

  /** Nodes as they were read last, by their paths. */
  private final Map<String, Read> reads = new ConcurrentHashMap<>();

  /**
   * A node of one write.
   *
   * @param mux what it says, or said before it was not readable; empty: it never was
   */
  private record Read(long written, boolean isReadable, Optional<MuxPresence.Present> mux) {}

  /**
   * @param seconds a monotonic clock
   */
  public MuxWatch(Store store, Tree tree, LongSupplier seconds) {
    this.store = store;
    this.folder = tree.muxes();
    this.seconds = seconds;
    entries = new Noted().of;
  }

  public void start() {
    connection = Optional.of(store.onConnection(this::changed));
    entries.start();
  }

  private void changed(Connection state) {
    if (!state.isConnected()) {
      watchedSince = Long.MAX_VALUE;
    } else if (state == Connection.RECONNECTED) {
      EntryWatch started = new Noted().of;
      Optional<EntryWatch> dropped;
      synchronized (turn) {
        if (isClosed) {
          return;
        }
        watchedSince = Long.MAX_VALUE;
        dropped = next;
        next = Optional.of(started);
      }
      dropped.ifPresent(EntryWatch::close);
      started.start();
    }
  }

  private final class Noted implements EntryWatch.Listener {
    final EntryWatch of = new EntryWatch(store, folder, this);

    @Override
    public void whole() {
      EntryWatch before;
      synchronized (turn) {
        if (isClosed || next.map(other -> other != of).orElse(entries != of)) {
          return; // there was no connection meanwhile, and another one is under way
        }
        before = entries;
        entries = of;
        next = Optional.empty();
        watchedSince = seconds.getAsLong();
      }
      if (before != of) {
        before.close();
        Sets.difference(before.added(), of.added()).forEach(this::removed);
      }
      whole.countDown();
    }

    @Override
    public void ended(EntryWatch.Live node) {
      Optional<MuxPresence.Present> mux = read(node, reads.get(node.node().path())).mux();
      if (mux.isPresent()) {
        absent.put(node.id(), absent(mux.get()));
      } else {
        // Whatever it served may be served without a node from now on.
        watchedSince = Math.max(watchedSince, seconds.getAsLong());
      }
    }

    private MuxPresence.Absent absent(MuxPresence.Present mux) {
      return new MuxPresence.Absent(mux.mux(), mux.behindSeconds(), seconds.getAsLong());
    }

    @Override
    public void removed(String id) {
      removed.put(id, seconds.getAsLong());
    }
  }

  /**
   * The live muxes, and those that may steer packets without a node. One that comes back is not
   * absent; after a day it is taken to be gone for good, and so is one that an operator has
   * removed, once it must have withdrawn. That another mux says that it has its address ends
   * nothing: every mux can say so.
   */
  public synchronized MuxPresence presence() {
    List<EntryWatch.Live> live = entries.live();
    Set<String> back = new HashSet<>();
    Set<String> unreadable = new TreeSet<>();
    List<MuxPresence.Present> present = new ArrayList<>();
    List<MuxPresence.Present> known = new ArrayList<>();
    for (EntryWatch.Live each : live) {
      Read read = read(each);
      back.add(each.id());
      read.mux().ifPresent(known::add);
      if (read.isReadable()) {
        present.add(read.mux().orElseThrow());
      } else {
        unreadable.add(each.id());
      }
    }
    forget(live);
    long now = seconds.getAsLong();
    // The cache may have dropped a node whose deletion its listener has yet to hear of.
    lastPresent.forEach(
        each ->
            absent.putIfAbsent(
                each.mux().id(), new MuxPresence.Absent(each.mux(), each.behindSeconds(), now)));
    lastPresent = known;
    removed.keySet().removeAll(entries.added());
    absent
        .values()
        .removeIf(
            each ->
                now >= each.gone() + ABSENT_SECONDS
                    || isOver(each, now)
                    || back.contains(each.mux().id()));
    return new MuxPresence(
        present, unreadable, List.copyOf(absent.values()), watchedSince, entries.added().size());
  }

  /** An operator's word that it is stopped; but one that never withdraws may serve for good. */
  private boolean isOver(MuxPresence.Absent mux, long now) {
    Long since = removed.get(mux.mux().id());
    return since != null
        && mux.behindSeconds() > 0
        && now >= since + mux.behindSeconds() + SettledMoves.MARGIN_SECONDS;
  }

  /** All that are added by ascending id, also those that are not alive. */
  public List<MuxView> all() {
    Map<String, MuxView> all = new TreeMap<>();
    entries.added().forEach(id -> all.put(id, MuxView.absent(id)));
    muxes().forEach(mux -> all.put(mux.id(), mux));
    return List.copyOf(all.values());
  }

  /**
   * Those that are alive, by ascending id. The cache is read each time: its listeners are not
   * called for a node that was deleted and created again while the connection was lost.
   */
  public List<MuxView> muxes() {
    List<EntryWatch.Live> live = entries.live();
    List<MuxView> muxes =
        live.stream()
            .map(this::read)
            .filter(Read::isReadable)
            .map(each -> each.mux().orElseThrow().mux())
            .toList();
    forget(live);
    return muxes;
  }

  private Read read(EntryWatch.Live live) {
    return reads.compute(live.node().path(), (path, last) -> read(live, last));
  }

  /** What was read of other nodes than these. */
  private void forget(List<EntryWatch.Live> live) {
    Set<String> paths = live.stream().map(each -> each.node().path()).collect(toSet());
    reads.keySet().retainAll(paths);
  }

  /**
   * In place of {@link #start}, once their entries are there: the highest generation that a mux has
   * applied of any service, by mux, as it is after {@code wait}. Muxes that are away need a moment
   * to write their nodes into an empty ZooKeeper.
   */
  public Map<String, Long> appliedAfter(Duration wait) throws StoreException {
    try {
      Thread.sleep(wait.toMillis());
      start();
      if (!whole.await(READ_SECONDS, TimeUnit.SECONDS)) {
        throw new StoreException("muxes' nodes were not read within %d s".formatted(READ_SECONDS));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted while waiting for muxes", e);
    }
    Map<String, Long> applied = new TreeMap<>();
    for (MuxView mux : muxes()) {
      mux.services()
          .values()
          .forEach(service -> applied.merge(mux.id(), service.generation(), Math::max));
    }
    return applied;
  }

  private static Read read(EntryWatch.Live live, Read last) {
    String id = live.id();
    Node node = live.node();
    long written = node.stat().revision();
    if (last != null && last.written() == written) {
      return last;
    }
    try {
      MuxNode mux = MAPPER.readValue(node.data(), MuxNode.class);
      if (mux == null || !mux.isWhole()) {
        throw new IOException("something is missing, or it is of another format");
      }
      return new Read(
          written,
          true,
          Optional.of(
              new MuxPresence.Present(view(id, mux), behindSeconds(id, mux.behindSeconds()))));
    } catch (IOException e) {
      LOG.warn(
          "the node of mux '{}' is not readable, so releases and drains wait for it: {}",
          id,
          e.getMessage().lines().findFirst().get());
      return new Read(written, false, Optional.ofNullable(last).flatMap(Read::mux));
    }
  }

  private static MuxView view(String id, MuxNode mux) {
    return new MuxView(
        id,
        mux.kind().orElse(USUAL_KIND),
        mux.version(),
        mux.address(),
        mux.address6(),
        List.copyOf(mux.ports()),
        serves(id, mux.serves()),
        words(id, "needs", mux.needs()),
        words(id, "unreachable", mux.unreachable()),
        Math.max(mux.unreachableMore(), 0),
        ImmutableSortedMap.copyOf(Maps.transformValues(mux.services(), ServiceNode::view)),
        MetricsUrl.of("mux '%s'".formatted(id), mux.metrics()).filter(url -> isOwn(id, mux, url)));
  }

  private static boolean isOwn(String id, MuxNode mux, MetricsUrl url) {
    List<String> addresses =
        Stream.concat(mux.address().stream(), mux.address6().stream()).toList();
    boolean isOwn = url.isAt(addresses);
    if (!isOwn) {
      LOG.warn(
          "the node of mux '{}': metrics is {}; allowed: at its own address, {}; it is left out",
          id,
          url,
          String.join(" or ", addresses));
    }
    return isOwn;
  }

  private static int behindSeconds(String id, JsonNode node) {
    if (node == null) {
      return MuxPresence.BEHIND_SECONDS_DEFAULT;
    }
    if (!node.isIntegralNumber()
        || !node.canConvertToInt()
        || node.intValue() < 0
        || node.intValue() > MuxPresence.BEHIND_SECONDS_MAX) {
      LOG.warn(
          "the node of mux '{}': behindSeconds is {}; allowed: 0..{}; {} is taken",
          id,
          node,
          MuxPresence.BEHIND_SECONDS_MAX,
          MuxPresence.BEHIND_SECONDS_DEFAULT);
      return MuxPresence.BEHIND_SECONDS_DEFAULT;
    }
    return node.intValue();
  }

  /** What is malformed counts as absent: the mux is there, whatever it says of itself. */
  private static Optional<MuxServes> serves(String id, JsonNode node) {
    if (node == null) {
      return Optional.empty();
    }
    try {
      return Optional.of(MuxServes.of(node));
    } catch (IOException e) {
      LOG.warn("the node of mux '{}': {}; it is left out", id, e.getMessage());
      return Optional.empty();
    }
  }

  /** Words by address; a field is absent of a mux of an older version. */
  private static Map<String, String> words(String id, String field, JsonNode node) {
    Map<String, String> words = new TreeMap<>();
    if (node == null) {
      return words;
    }
    for (Map.Entry<String, JsonNode> word : node.properties()) {
      Optional<Address> address = Address.parse(word.getKey());
      if (address.isPresent() && word.getValue().isTextual()) {
        words.put(address.get().toString(), word.getValue().asText());
      } else {
        LOG.warn(
            "the node of mux '{}': {} has '{}': {}; it is left out",
            id,
            field,
            word.getKey(),
            word.getValue());
      }
    }
    return words;
  }

  @Override
  public void close() {
    connection.ifPresent(Store.Following::close);
    Optional<EntryWatch> dropped;
    synchronized (turn) {
      isClosed = true;
      dropped = next;
    }
    dropped.ifPresent(EntryWatch::close);
    entries.close();
  }
}
