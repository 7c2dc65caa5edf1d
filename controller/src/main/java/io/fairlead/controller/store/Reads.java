// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;

/** Reads many nodes in one round trip, and waits until a server has caught up. */
final class Reads {
  private static final int SECONDS = 30;
  static final Duration SYNC_MAX = Duration.ofSeconds(3);

  private final CuratorFramework client;

  Reads(CuratorFramework client) {
    this.client = client;
  }

  /** The data of each path, empty where there is no node; all reads are under way at once. */
  List<Optional<byte[]>> data(List<String> paths) throws Exception {
    List<CompletableFuture<Optional<byte[]>>> reads = new ArrayList<>();
    for (String path : paths) {
      reads.add(data(path));
    }
    List<Optional<byte[]>> data = new ArrayList<>();
    for (CompletableFuture<Optional<byte[]>> read : reads) {
      data.add(read.get(SECONDS, TimeUnit.SECONDS));
    }
    return data;
  }

  private CompletableFuture<Optional<byte[]>> data(String path) throws Exception {
    CompletableFuture<Optional<byte[]>> read = new CompletableFuture<>();
    client
        .getData()
        .inBackground(
            (ignored, event) -> {
              KeeperException.Code code = KeeperException.Code.get(event.getResultCode());
              switch (code) {
                case OK -> read.complete(Optional.of(event.getData()));
                case NONODE -> read.complete(Optional.empty());
                default -> read.completeExceptionally(KeeperException.create(code, path));
              }
            })
        .forPath(path);
    return read;
  }

  /** Waits until what is read next is as new as anything committed before this call. */
  void sync(String path) throws Exception {
    sync(path, SYNC_MAX);
  }

  /** Fails without a connection; Curator's own calls would wait for one beyond any deadline. */
  void sync(String path, Duration most) throws Exception {
    CompletableFuture<Integer> done = new CompletableFuture<>();
    sync(path, done);
    check(done.get(most.toNanos(), TimeUnit.NANOSECONDS), path);
  }

  /**
   * Runs {@code then} on ZooKeeper's event thread, also if the connection breaks meanwhile; its
   * argument is whether it did not.
   */
  void syncInBackground(String path, Consumer<Boolean> then) throws Exception {
    CompletableFuture<Integer> done = new CompletableFuture<>();
    done.thenAccept(code -> then.accept(code == KeeperException.Code.OK.intValue()));
    sync(path, done);
  }

  private void sync(String path, CompletableFuture<Integer> done) throws Exception {
    if (!client.getZookeeperClient().isConnected()) {
      throw new KeeperException.ConnectionLossException();
    }
    client
        .getZookeeperClient()
        .getZooKeeper()
        .sync(path, (code, ignored, context) -> done.complete(code), null);
  }

  private static void check(int code, String path) throws KeeperException {
    if (code != KeeperException.Code.OK.intValue()) {
      throw KeeperException.create(KeeperException.Code.get(code), path);
    }
  }
}
