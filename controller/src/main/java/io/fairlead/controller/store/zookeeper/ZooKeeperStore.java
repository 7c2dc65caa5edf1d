// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.store.Connection;
import io.fairlead.controller.store.Node;
import io.fairlead.controller.store.NodeException;
import io.fairlead.controller.store.Operation;
import io.fairlead.controller.store.Stat;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.BackgroundCallback;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.curator.framework.api.transaction.TransactionOp;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;

/** ZooKeeper, and in it one tree; with a server in this process if it is an embedded one. */
public final class ZooKeeperStore implements Store {
  private static final int READ_SECONDS = 30;
  private static final int ANY = -1;

  private final CuratorFramework client;
  private final Tree tree;
  private final Optional<ZooKeeperAccess> access;
  private final Optional<EmbeddedZooKeeper> embedded;
  private final ZooKeeperWatches watches;

  private ZooKeeperStore(
      CuratorFramework client,
      Tree tree,
      Optional<ZooKeeperAccess> access,
      Optional<EmbeddedZooKeeper> embedded) {
    this.client = client;
    this.tree = tree;
    this.access = access;
    this.embedded = embedded;
    this.watches = new ZooKeeperWatches(client);
  }

  /** By a client that has no login. */
  public static ZooKeeperStore of(CuratorFramework client, Tree tree) {
    return new ZooKeeperStore(client, tree, Optional.empty(), Optional.empty());
  }

  /**
   * Starts the embedded server, if the address says so. The client is not started yet.
   *
   * @param listen of the embedded server
   * @param access empty: everyone may do everything
   * @param tls empty: without TLS
   * @throws IOException if the embedded server cannot start
   */
  public static ZooKeeperStore open(
      ZooKeeperAddress address,
      InetSocketAddress listen,
      Tree tree,
      Optional<ZooKeeperAccess> access,
      Optional<ZooKeeperTls> tls)
      throws IOException {
    Optional<EmbeddedZooKeeper> embedded = Optional.empty();
    if (address.directory().isPresent()) {
      embedded = Optional.of(EmbeddedZooKeeper.start(address.directory().get(), listen));
    }
    String hosts = embedded.map(EmbeddedZooKeeper::connectString).orElse(address.hosts());
    return new ZooKeeperStore(
        ZooKeeperClient.create(hosts, tree, access, tls), tree, access, embedded);
  }

  @Override
  public String address() {
    return client.getZookeeperClient().getCurrentConnectionString();
  }

  @Override
  public void start() {
    client.start();
  }

  @Override
  public boolean isConnected() {
    return client.getZookeeperClient().isConnected();
  }

  @Override
  public boolean awaitConnection(Duration most) throws InterruptedException {
    return client.blockUntilConnected((int) most.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public Following onConnection(Consumer<Connection> listener) {
    ConnectionStateListener added =
        (by, state) ->
            listener.accept(
                switch (state) {
                  case CONNECTED, READ_ONLY -> Connection.CONNECTED;
                  case RECONNECTED -> Connection.RECONNECTED;
                  case SUSPENDED -> Connection.SUSPENDED;
                  case LOST -> Connection.LOST;
                });
    client.getConnectionStateListenable().addListener(added);
    return () -> client.getConnectionStateListenable().removeListener(added);
  }

  @Override
  public Node read(String path) throws NodeException, InterruptedException {
    return call(
        () -> {
          org.apache.zookeeper.data.Stat stat = new org.apache.zookeeper.data.Stat();
          return node(path, client.getData().storingStatIn(stat).forPath(path), stat);
        });
  }

  static Node node(String path, byte[] data, org.apache.zookeeper.data.Stat stat) {
    return new Node(path, data == null ? new byte[0] : data, stat(stat));
  }

  private static Stat stat(org.apache.zookeeper.data.Stat stat) {
    return new Stat(
        Version.after(stat.getVersion()),
        stat.getMzxid(),
        Instant.ofEpochMilli(stat.getCtime()),
        Instant.ofEpochMilli(stat.getMtime()),
        stat.getEphemeralOwner() != 0,
        stat.getNumChildren());
  }

  @Override
  public List<Optional<byte[]>> read(List<String> paths)
      throws NodeException, InterruptedException {
    return all(paths, this::beginRead);
  }

  private CompletableFuture<Optional<byte[]>> beginRead(String path) throws Exception {
    CompletableFuture<Optional<byte[]>> read = new CompletableFuture<>();
    client.getData().inBackground(answering(read, path, CuratorEvent::getData)).forPath(path);
    return read;
  }

  @Override
  public List<Optional<List<String>>> children(List<String> paths)
      throws NodeException, InterruptedException {
    return all(
        paths,
        path -> {
          CompletableFuture<Optional<List<String>>> read = new CompletableFuture<>();
          client
              .getChildren()
              .inBackground(answering(read, path, CuratorEvent::getChildren))
              .forPath(path);
          return read;
        });
  }

  private interface Begin<T> {
    CompletableFuture<T> read(String path) throws Exception;
  }

  private static <T> List<T> all(List<String> paths, Begin<T> begin)
      throws NodeException, InterruptedException {
    return call(
        () -> {
          List<CompletableFuture<T>> reads = new ArrayList<>();
          for (String path : paths) {
            reads.add(begin.read(path));
          }
          List<T> found = new ArrayList<>();
          for (CompletableFuture<T> read : reads) {
            found.add(read.get(READ_SECONDS, TimeUnit.SECONDS));
          }
          return found;
        });
  }

  private static <T> BackgroundCallback answering(
      CompletableFuture<Optional<T>> read, String path, Function<CuratorEvent, T> found) {
    return (ignored, event) -> {
      KeeperException.Code code = KeeperException.Code.get(event.getResultCode());
      switch (code) {
        case OK -> read.complete(Optional.of(found.apply(event)));
        case NONODE -> read.complete(Optional.empty());
        default -> read.completeExceptionally(KeeperException.create(code, path));
      }
    };
  }

  /** A server answers a client's requests in their order, so the read need not wait. */
  @Override
  public Optional<byte[]> findLatest(String path) throws NodeException, InterruptedException {
    return call(
        () -> {
          CompletableFuture<Integer> synced = new CompletableFuture<>();
          sync(synced);
          CompletableFuture<Optional<byte[]>> read = beginRead(path);
          check(synced.get(SYNC_MAX.toNanos(), TimeUnit.NANOSECONDS));
          return read.get(READ_SECONDS, TimeUnit.SECONDS);
        });
  }

  @Override
  public Optional<Stat> stat(String path) throws NodeException, InterruptedException {
    return call(
        () -> Optional.ofNullable(client.checkExists().forPath(path)).map(ZooKeeperStore::stat));
  }

  @Override
  public List<String> children(String path) throws NodeException, InterruptedException {
    return call(() -> client.getChildren().forPath(path));
  }

  @Override
  public void write(List<Operation> operations) throws NodeException, InterruptedException {
    call(
        () -> {
          List<CuratorOp> ops = new ArrayList<>(operations.size());
          for (Operation operation : operations) {
            ops.add(op(operation));
          }
          return client.transaction().forOperations(ops);
        });
  }

  private CuratorOp op(Operation operation) throws Exception {
    TransactionOp op = client.transactionOp();
    if (operation instanceof Operation.Create create) {
      CreateMode mode =
          switch (create.kind()) {
            case LASTING -> CreateMode.PERSISTENT;
            case EPHEMERAL -> CreateMode.EPHEMERAL;
            case NUMBERED -> CreateMode.PERSISTENT_SEQUENTIAL;
          };
      return access.isPresent() && create.owner().isPresent()
          ? op.create()
              .withMode(mode)
              .withACL(access.get().ofEntry(create.owner()))
              .forPath(create.path(), create.data())
          : op.create().withMode(mode).forPath(create.path(), create.data());
    }
    if (operation instanceof Operation.Set set) {
      return op.setData().withVersion(version(set.version())).forPath(set.path(), set.data());
    }
    if (operation instanceof Operation.Delete delete) {
      return op.delete().withVersion(version(delete.version())).forPath(delete.path());
    }
    Operation.Check check = (Operation.Check) operation;
    return op.check().withVersion(version(check.version())).forPath(check.path());
  }

  private static int version(Optional<Version> version) {
    return version.map(Version::writes).orElse(ANY);
  }

  @Override
  public boolean createIfAbsent(String path, byte[] data)
      throws NodeException, InterruptedException {
    try {
      call(() -> client.create().creatingParentsIfNeeded().forPath(path, data));
      return true;
    } catch (NodeException.Exists e) {
      return false;
    }
  }

  @Override
  public Instant touch(String path, byte[] data) throws NodeException, InterruptedException {
    return call(() -> Instant.ofEpochMilli(client.setData().forPath(path, data).getMtime()));
  }

  /** Curator's own calls would wait for a connection beyond any deadline. */
  @Override
  public void sync(Duration most) throws NodeException, InterruptedException {
    call(
        () -> {
          CompletableFuture<Integer> done = new CompletableFuture<>();
          sync(done);
          check(done.get(most.toNanos(), TimeUnit.NANOSECONDS));
          return null;
        });
  }

  @Override
  public void syncInBackground(Consumer<Boolean> then) throws NodeException {
    CompletableFuture<Integer> done = new CompletableFuture<>();
    done.thenAccept(code -> then.accept(code == KeeperException.Code.OK.intValue()));
    try {
      sync(done);
    } catch (Exception e) {
      throw ZooKeeperFaults.of(e);
    }
  }

  private void sync(CompletableFuture<Integer> done) throws Exception {
    if (!isConnected()) {
      throw new KeeperException.ConnectionLossException();
    }
    client
        .getZookeeperClient()
        .getZooKeeper()
        .sync(tree.root(), (code, ignored, context) -> done.complete(code), null);
  }

  private void check(int code) throws KeeperException {
    if (code != KeeperException.Code.OK.intValue()) {
      throw KeeperException.create(KeeperException.Code.get(code), tree.root());
    }
  }

  @Override
  public FollowedNode follow(String path, NodeListener listener) {
    return watches.node(path, listener);
  }

  @Override
  public Following followChildren(String path, Consumer<Set<String>> names) {
    return watches.children(path, names);
  }

  @Override
  public Following followBelow(String path, BelowListener listener) {
    return watches.below(path, listener);
  }

  @Override
  public Candidacy stand(
      String folder, String id, Executor executor, Runnable elected, Runnable deposed) {
    return new ZooKeeperCandidacy(client, folder, id, executor, elected, deposed);
  }

  /** A leader that was deposed meanwhile does not undo what its successor permits. */
  @Override
  public void permit(String entry, Optional<String> login)
      throws NodeException, InterruptedException {
    if (access.isEmpty()) {
      return;
    }
    call(
        () -> {
          org.apache.zookeeper.data.Stat stat = client.checkExists().forPath(entry);
          if (stat != null && stat.getEphemeralOwner() == 0) {
            client
                .setACL()
                .withVersion(stat.getAversion())
                .withACL(access.get().ofEntry(login))
                .forPath(entry);
          }
          return null;
        });
  }

  @Override
  public void checkOwn(boolean protectsOpen) throws StoreException {
    OwnTree.check(client, tree, access, protectsOpen);
  }

  @Override
  public void protect() throws StoreException, NodeException, InterruptedException {
    if (access.isPresent()) {
      try {
        access.get().protect(client, tree);
      } catch (StoreException | InterruptedException e) {
        throw e;
      } catch (Exception e) {
        throw ZooKeeperFaults.of(e);
      }
      if (embedded.isPresent()) {
        EmbeddedZooKeeper.protect(client, tree, access.get());
      }
    }
  }

  @Override
  public Optional<String> readersLogin() {
    return access.map(ZooKeeperAccess::readersLogin);
  }

  @Override
  public void close() {
    client.close();
    embedded.ifPresent(EmbeddedZooKeeper::close);
  }

  private interface Call<T> {
    T run() throws Exception;
  }

  private static <T> T call(Call<T> call) throws NodeException, InterruptedException {
    try {
      return call.run();
    } catch (InterruptedException e) {
      throw e;
    } catch (ExecutionException e) {
      throw ZooKeeperFaults.of(e.getCause());
    } catch (Exception e) {
      throw ZooKeeperFaults.of(e);
    }
  }
}
