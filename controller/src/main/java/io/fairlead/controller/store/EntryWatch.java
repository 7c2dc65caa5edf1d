// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.watch.PersistentWatcher;
import org.apache.zookeeper.KeeperException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The entries of a folder, and the nodes that their owners keep below them while they are alive.
 * Watches keep a copy, so a read needs no request.
 *
 * <p>An owner may create whatever it likes below its entry, more than an answer of ZooKeeper holds.
 * So the folder alone is listed, in which only controllers create; an entry and its {@code live}
 * are watched by their paths, and nothing else is looked at.
 */
public final class EntryWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EntryWatch.class);

  /** Called on ZooKeeper's thread. */
  public interface Listener {
    /** From now on no change goes unnoticed. */
    default void whole() {}

    default void ended(Live node) {}

    default void removed(String id) {}
  }

  /** The node of an owner that is alive. */
  public record Live(String id, ChildData node) {}

  private final CuratorFramework client;
  private final String folder;
  private final Listener listener;
  private final PersistentWatcher watcher;
  private final Map<String, Entry> entries = new ConcurrentHashMap<>();
  private boolean isListed;
  private boolean isWhole;
  private boolean isClosed;

  public EntryWatch(CuratorFramework client, String folder, Listener listener) {
    this.client = client;
    this.folder = folder;
    this.listener = listener;
    watcher = new PersistentWatcher(client, folder, false);
    watcher.getListenable().addListener(event -> list());
    watcher.getResetListenable().addListener(this::list);
  }

  public void start() {
    watcher.start();
  }

  /** Of all that are alive, by ascending id. */
  public List<Live> live() {
    return entries.values().stream()
        .flatMap(entry -> entry.live().stream())
        .sorted((left, right) -> left.id().compareTo(right.id()))
        .toList();
  }

  /** The ids of those that are added. */
  public Set<String> added() {
    Set<String> ids = new TreeSet<>();
    entries.values().stream().filter(Entry::isAdded).forEach(entry -> ids.add(entry.id));
    return ids;
  }

  private void list() {
    try {
      client.getChildren().inBackground((by, event) -> listed(event)).forPath(folder);
    } catch (Exception e) {
      LOG.warn("{} was not listed: {}", folder, e.toString());
    }
  }

  private void listed(CuratorEvent event) {
    KeeperException.Code code = KeeperException.Code.get(event.getResultCode());
    switch (code) {
      case OK -> follow(Set.copyOf(event.getChildren()));
      case NONODE -> follow(Set.of());
      // It is listed again once there is a connection.
      default -> LOG.info("{} was not listed: {}", folder, code);
    }
  }

  private synchronized void follow(Set<String> ids) {
    if (isClosed) {
      return;
    }
    isListed = true;
    entries
        .values()
        .removeIf(
            entry -> {
              boolean isGone = !ids.contains(entry.id);
              if (isGone) {
                entry.drop();
              }
              return isGone;
            });
    for (String id : ids) {
      entries.computeIfAbsent(id, Entry::new).start();
    }
    checkWhole();
  }

  private synchronized void checkWhole() {
    if (isListed && !isWhole && entries.values().stream().allMatch(Entry::isRead)) {
      isWhole = true;
      listener.whole();
    }
  }

  @Override
  public synchronized void close() {
    isClosed = true;
    watcher.close();
    entries.values().forEach(Entry::close);
  }

  private final class Entry {
    private final String id;
    private final String path;
    private final CuratorCache entry;
    private volatile CuratorCache live;
    private boolean isStarted;
    private volatile boolean isEntryRead;
    private volatile boolean isLiveRead;

    Entry(String id) {
      this.id = id;
      path = folder + "/" + id;
      entry = cache(path);
      live = ofLive();
      entry
          .listenable()
          .addListener(
              CuratorCacheListener.builder()
                  .forInitialized(
                      () -> {
                        isEntryRead = true;
                        checkWhole();
                      })
                  .forDeletes(this::dropped)
                  .forChanges(this::changed)
                  .build());
    }

    private CuratorCache ofLive() {
      CuratorCache created = cache(Tree.live(path));
      created
          .listenable()
          .addListener(
              CuratorCacheListener.builder()
                  .forInitialized(
                      () -> {
                        isLiveRead = true;
                        checkWhole();
                      })
                  .forDeletes(this::gone)
                  .build());
      return created;
    }

    private CuratorCache cache(String path) {
      return CuratorCache.builder(client, path)
          .withOptions(CuratorCache.Options.SINGLE_NODE_CACHE)
          .withExceptionHandler(e -> LOG.info("{} was not read: {}", path, e.toString()))
          .build();
    }

    void start() {
      if (!isStarted) {
        isStarted = true;
        entry.start();
        live.start();
      }
    }

    boolean isRead() {
      return isEntryRead && isLiveRead;
    }

    /** None below an entry that is removed. */
    Optional<Live> live() {
      return isAdded()
          ? live.get(Tree.live(path)).filter(Entry::isAlive).map(node -> new Live(id, node))
          : Optional.empty();
    }

    boolean isAdded() {
      return entry.get(path).filter(Entry::isEntry).isPresent();
    }

    private static boolean isAlive(ChildData node) {
      return node.getStat().getEphemeralOwner() != 0;
    }

    private static boolean isEntry(ChildData node) {
      return !isAlive(node) && MuxStore.isAdded(node.getData());
    }

    private void gone(ChildData node) {
      if (isAlive(node)) {
        listener.ended(new Live(id, node));
      }
    }

    private void dropped(ChildData node) {
      if (isEntry(node)) {
        listener.removed(id);
      }
    }

    /**
     * Only controllers change it, who have deleted {@code live} before. Of one that its owner has
     * hidden, ZooKeeper does not tell that it is deleted, so it is read again.
     */
    private void changed(ChildData before, ChildData now) {
      synchronized (EntryWatch.this) {
        if (isClosed) {
          return;
        }
        live.get(Tree.live(path)).ifPresent(this::gone);
        live.close();
        live = ofLive();
        live.start();
      }
      if (isEntry(before) && !isEntry(now)) {
        listener.removed(id);
      }
    }

    /** The folder does not have it any more, which may be known before the rest. */
    void drop() {
      live.get(Tree.live(path)).ifPresent(this::gone);
      entry.get(path).ifPresent(this::dropped);
      close();
    }

    void close() {
      entry.close();
      live.close();
    }
  }
}
