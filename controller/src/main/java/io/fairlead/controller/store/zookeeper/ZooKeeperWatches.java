// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.store.Node;
import io.fairlead.controller.store.Store;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.watch.PersistentWatcher;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Persistent watches, set again with each connection. Events arrive on ZooKeeper's thread. */
record ZooKeeperWatches(CuratorFramework client) {
  private static final Logger LOG = LoggerFactory.getLogger(ZooKeeperWatches.class);

  Store.FollowedNode node(String path, Store.NodeListener listener) {
    CuratorCache cache =
        CuratorCache.builder(client, path)
            .withOptions(CuratorCache.Options.SINGLE_NODE_CACHE)
            .withExceptionHandler(e -> LOG.info("{} was not read: {}", path, e.toString()))
            .build();
    cache
        .listenable()
        .addListener(
            CuratorCacheListener.builder()
                .forInitialized(listener::read)
                .forDeletes(last -> listener.deleted(node(last)))
                .forChanges((before, now) -> listener.changed(node(before), node(now)))
                .build());
    cache.start();
    return new Store.FollowedNode() {
      @Override
      public Optional<Node> node() {
        return cache.get(path).map(ZooKeeperWatches::node);
      }

      @Override
      public void close() {
        cache.close();
      }
    };
  }

  private static Node node(ChildData data) {
    return ZooKeeperStore.node(data.getPath(), data.getData(), data.getStat());
  }

  Store.Following children(String path, Consumer<Set<String>> names) {
    PersistentWatcher watcher = new PersistentWatcher(client, path, false);
    watcher.getListenable().addListener(event -> list(path, names));
    watcher.getResetListenable().addListener(() -> list(path, names));
    watcher.start();
    return watcher::close;
  }

  private void list(String path, Consumer<Set<String>> names) {
    try {
      client.getChildren().inBackground((by, event) -> listed(path, names, event)).forPath(path);
    } catch (Exception e) {
      LOG.warn("{} was not listed: {}", path, e.toString());
    }
  }

  private static void listed(String path, Consumer<Set<String>> names, CuratorEvent event) {
    KeeperException.Code code = KeeperException.Code.get(event.getResultCode());
    switch (code) {
      case OK -> names.accept(Set.copyOf(event.getChildren()));
      case NONODE -> names.accept(Set.of());
      // It is listed again once there is a connection.
      default -> LOG.info("{} was not listed: {}", path, code);
    }
  }

  Store.Following below(String path, Store.BelowListener listener) {
    PersistentWatcher watcher = new PersistentWatcher(client, path, true);
    watcher.getListenable().addListener(event -> seen(event, path, listener));
    watcher.getResetListenable().addListener(listener::watching);
    watcher.start();
    return watcher::close;
  }

  private static void seen(WatchedEvent event, String path, Store.BelowListener listener) {
    if (event.getState() == Watcher.Event.KeeperState.Disconnected
        || event.getState() == Watcher.Event.KeeperState.Expired) {
      listener.lost();
    }
    if (event.getPath() != null && event.getPath().startsWith(path + "/")) {
      listener.changed(event.getPath());
    }
  }
}
