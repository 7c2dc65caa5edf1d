// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The entries of a folder, and the nodes that their owners keep below them while they are alive.
 * Watches keep a copy, so a read needs no request.
 *
 * <p>An owner may create whatever it likes below its entry, more than an answer of ZooKeeper holds.
 * So the folder alone is listed, in which only controllers create; an entry and its {@code live}
 * are watched by their paths, and nothing else is looked at.
 */
public final class EntryWatch implements AutoCloseable {
  /** Called on the store's thread. */
  public interface Listener {
    /** From now on no change goes unnoticed. */
    default void whole() {}

    default void ended(Live node) {}

    default void removed(String id) {}
  }

  /** The node of an owner that is alive. */
  public record Live(String id, Node node) {}

  private final Store store;
  private final String folder;
  private final Listener listener;
  private final Map<String, Entry> entries = new ConcurrentHashMap<>();

  @GuardedBy("this")
  private Optional<Store.Following> names = Optional.empty();

  @GuardedBy("this")
  private boolean isListed;

  @GuardedBy("this")
  private boolean isWhole;

  @GuardedBy("this")
  private boolean isClosed;

  public EntryWatch(Store store, String folder, Listener listener) {
    this.store = store;
    this.folder = folder;
    this.listener = listener;
  }

  public synchronized void start() {
    if (!isClosed) {
      names = Optional.of(store.followChildren(folder, this::follow));
    }
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
      if (!entries.containsKey(id)) {
        entries.put(id, new Entry(id));
      }
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
    names.ifPresent(Store.Following::close);
    entries.values().forEach(Entry::close);
  }

  private final class Entry {
    private final String id;
    private final String path;
    private final Store.FollowedNode entry;
    private volatile Store.FollowedNode live;
    private volatile boolean isEntryRead;
    private volatile boolean isLiveRead;

    Entry(String id) {
      this.id = id;
      path = folder + "/" + id;
      entry =
          store.follow(
              path,
              new Store.NodeListener() {
                @Override
                public void read() {
                  isEntryRead = true;
                  checkWhole();
                }

                @Override
                public void deleted(Node last) {
                  dropped(last);
                }

                @Override
                public void changed(Node before, Node now) {
                  Entry.this.changed(before, now);
                }
              });
      live = ofLive();
    }

    private Store.FollowedNode ofLive() {
      return store.follow(
          Tree.live(path),
          new Store.NodeListener() {
            @Override
            public void read() {
              isLiveRead = true;
              checkWhole();
            }

            @Override
            public void deleted(Node last) {
              gone(last);
            }
          });
    }

    boolean isRead() {
      return isEntryRead && isLiveRead;
    }

    /** None below an entry that is removed. */
    Optional<Live> live() {
      return isAdded()
          ? live.node().filter(Entry::isAlive).map(node -> new Live(id, node))
          : Optional.empty();
    }

    boolean isAdded() {
      return entry.node().filter(Entry::isEntry).isPresent();
    }

    private static boolean isAlive(Node node) {
      return node.stat().isEphemeral();
    }

    private static boolean isEntry(Node node) {
      return !isAlive(node) && MuxStore.isAdded(node.data());
    }

    private void gone(Node node) {
      if (isAlive(node)) {
        listener.ended(new Live(id, node));
      }
    }

    private void dropped(Node node) {
      if (isEntry(node)) {
        listener.removed(id);
      }
    }

    /**
     * Only controllers change it, who have deleted {@code live} before. Of one that its owner has
     * hidden, ZooKeeper does not tell that it is deleted, so it is read again.
     */
    private void changed(Node before, Node now) {
      synchronized (EntryWatch.this) {
        if (isClosed) {
          return;
        }
        live.node().ifPresent(this::gone);
        live.close();
        live = ofLive();
      }
      if (isEntry(before) && !isEntry(now)) {
        listener.removed(id);
      }
    }

    /** The folder does not have it any more, which may be known before the rest. */
    void drop() {
      live.node().ifPresent(this::gone);
      entry.node().ifPresent(this::dropped);
      close();
    }

    void close() {
      entry.close();
      live.close();
    }
  }
}
