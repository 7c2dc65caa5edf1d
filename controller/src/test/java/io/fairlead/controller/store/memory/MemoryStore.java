// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.memory;

import io.fairlead.controller.store.Connection;
import io.fairlead.controller.store.DaemonThreads;
import io.fairlead.controller.store.Node;
import io.fairlead.controller.store.NodeException;
import io.fairlead.controller.store.Operation;
import io.fairlead.controller.store.Stat;
import io.fairlead.controller.store.Store;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;

/**
 * A store in memory that tests can cut off and whose session they can end. It keeps no logins:
 * every client may do everything. {@code StoreTest} checks that all else is as with ZooKeeper.
 */
public final class MemoryStore implements Store {
  /** What follows something; all methods run on the thread of the listeners. */
  private interface Follower {
    /** There is a connection: all may have changed. */
    void refresh();

    void changed(Set<String> paths);

    default void lost() {}
  }

  private final MemoryTree tree;
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(DaemonThreads.named("memory-store"));
  private final List<Consumer<Connection>> connections = new CopyOnWriteArrayList<>();
  private final List<Follower> followers = new CopyOnWriteArrayList<>();
  private volatile boolean isConnected;
  private volatile boolean wasConnected;
  private volatile Optional<String> readersLogin = Optional.empty();
  private volatile long session;

  MemoryStore(MemoryTree tree) {
    this.tree = tree;
    session = tree.newSession();
  }

  @Override
  public String address() {
    return "127.0.0.1:2181";
  }

  @Override
  public void start() {
    connect();
  }

  /** There is no connection from now on; the session is alive. */
  public void disconnect() {
    isConnected = false;
    tell(Connection.SUSPENDED);
    execute(() -> followers.forEach(Follower::lost));
  }

  /** There is a connection again. */
  public void connect() {
    isConnected = true;
    tell(wasConnected ? Connection.RECONNECTED : Connection.CONNECTED);
    wasConnected = true;
    execute(() -> followers.forEach(Follower::refresh));
  }

  /** The session ends, and there is no connection from now on. */
  public void expire() throws NodeException {
    isConnected = false;
    tree.end(session);
    session = tree.newSession();
    tell(Connection.SUSPENDED);
    tell(Connection.LOST);
    execute(() -> followers.forEach(Follower::lost));
  }

  private void tell(Connection state) {
    execute(() -> connections.forEach(listener -> listener.accept(state)));
  }

  private void execute(Runnable task) {
    try {
      thread.execute(task);
    } catch (RejectedExecutionException e) {
      return; // closed
    }
  }

  /** These nodes have changed. */
  void changed(Set<String> paths) {
    if (isConnected) {
      execute(() -> followers.forEach(follower -> follower.changed(paths)));
    }
  }

  private void checkConnected() throws NodeException {
    if (!isConnected) {
      throw new NodeException("CONNECTIONLOSS", "there is no connection", null);
    }
  }

  @Override
  public boolean isConnected() {
    return isConnected;
  }

  @Override
  public boolean awaitConnection(Duration most) throws InterruptedException {
    long end = System.nanoTime() + most.toNanos();
    while (!isConnected && System.nanoTime() < end) {
      Thread.sleep(1);
    }
    return isConnected;
  }

  @Override
  public Following onConnection(Consumer<Connection> listener) {
    connections.add(listener);
    return () -> connections.remove(listener);
  }

  @Override
  public Node read(String path) throws NodeException {
    checkConnected();
    return tree.node(path).orElseThrow(() -> new NodeException.Absent(path));
  }

  @Override
  public List<Optional<byte[]>> read(List<String> paths) throws NodeException {
    checkConnected();
    return paths.stream().map(path -> tree.node(path).map(Node::data)).toList();
  }

  @Override
  public Optional<Stat> stat(String path) throws NodeException {
    checkConnected();
    return tree.node(path).map(Node::stat);
  }

  @Override
  public List<String> children(String path) throws NodeException {
    checkConnected();
    return tree.children(path);
  }

  @Override
  public List<Optional<List<String>>> children(List<String> paths) throws NodeException {
    checkConnected();
    List<Optional<List<String>>> found = new ArrayList<>();
    for (String path : paths) {
      found.add(tree.node(path).isPresent() ? Optional.of(tree.children(path)) : Optional.empty());
    }
    return found;
  }

  @Override
  public Optional<byte[]> findLatest(String path) throws NodeException {
    checkConnected();
    return tree.node(path).map(Node::data);
  }

  @Override
  public void write(List<Operation> operations) throws NodeException {
    checkConnected();
    tree.write(operations, session);
  }

  @Override
  public boolean createIfAbsent(String path, byte[] data) throws NodeException {
    checkConnected();
    List<Operation> creates = new ArrayList<>();
    for (int at = path.indexOf('/', 1); at > 0; at = path.indexOf('/', at + 1)) {
      if (tree.node(path.substring(0, at)).isEmpty()) {
        creates.add(Operation.create(path.substring(0, at)));
      }
    }
    creates.add(Operation.create(path, data));
    try {
      tree.write(creates, session);
      return true;
    } catch (NodeException.Exists e) {
      return false;
    }
  }

  @Override
  public Instant touch(String path, byte[] data) throws NodeException {
    write(List.of(Operation.set(path, data)));
    return read(path).stat().written();
  }

  @Override
  public void sync(Duration most) throws NodeException {
    checkConnected();
  }

  @Override
  public void syncInBackground(Consumer<Boolean> then) throws NodeException {
    checkConnected();
    execute(() -> then.accept(isConnected));
  }

  @Override
  public FollowedNode follow(String path, NodeListener listener) {
    Copy copy = new Copy(path, listener);
    follow(copy);
    return copy;
  }

  private void follow(Follower follower) {
    followers.add(follower);
    if (isConnected) {
      execute(follower::refresh);
    }
  }

  /** A followed node. */
  private final class Copy implements Follower, FollowedNode {
    private final String path;
    private final NodeListener listener;
    private volatile Optional<Node> copy = Optional.empty();
    private boolean isRead;

    Copy(String path, NodeListener listener) {
      this.path = path;
      this.listener = listener;
    }

    @Override
    public Optional<Node> node() {
      return copy;
    }

    @Override
    public void refresh() {
      if (!isConnected || !followers.contains(this)) {
        return;
      }
      Optional<Node> before = copy;
      Optional<Node> now = tree.node(path);
      copy = now;
      if (before.isPresent() && now.isEmpty()) {
        listener.deleted(before.get());
      } else if (before.isPresent()
          && before.get().stat().revision() != now.get().stat().revision()) {
        listener.changed(before.get(), now.get());
      }
      if (!isRead) {
        isRead = true;
        listener.read();
      }
    }

    @Override
    public void changed(Set<String> paths) {
      if (paths.contains(path)) {
        refresh();
      }
    }

    @Override
    public void close() {
      followers.remove(this);
    }
  }

  @Override
  public Following followChildren(String path, Consumer<Set<String>> names) {
    Follower follower =
        new Follower() {
          @Override
          public void refresh() {
            if (!isConnected) {
              return;
            }
            try {
              names.accept(Set.copyOf(tree.children(path)));
            } catch (NodeException.Absent e) {
              names.accept(Set.of());
            } catch (NodeException e) {
              throw new IllegalStateException(e);
            }
          }

          @Override
          public void changed(Set<String> paths) {
            if (paths.stream()
                .anyMatch(
                    each ->
                        each.equals(path)
                            || each.substring(0, each.lastIndexOf('/')).equals(path))) {
              refresh();
            }
          }
        };
    follow(follower);
    return () -> followers.remove(follower);
  }

  @Override
  public Following followBelow(String path, BelowListener listener) {
    Follower follower =
        new Follower() {
          @Override
          public void refresh() {
            listener.watching();
          }

          @Override
          public void changed(Set<String> paths) {
            paths.stream().filter(each -> each.startsWith(path + "/")).forEach(listener::changed);
          }

          @Override
          public void lost() {
            listener.lost();
          }
        };
    follow(follower);
    return () -> followers.remove(follower);
  }

  @Override
  public Candidacy stand(
      String folder, String id, Executor executor, Runnable elected, Runnable deposed) {
    MemoryCandidacy candidacy = new MemoryCandidacy(folder, id, executor, elected, deposed);
    follow(candidacy);
    return candidacy;
  }

  /** The candidate whose node has the lowest name leads. */
  private final class MemoryCandidacy implements Follower, Candidacy {
    private final String folder;
    private final String id;
    private final Executor executor;
    private final Runnable elected;
    private final Runnable deposed;
    private Optional<String> own = Optional.empty();
    private volatile boolean isLeader;
    private boolean isClosed;

    MemoryCandidacy(
        String folder, String id, Executor executor, Runnable elected, Runnable deposed) {
      this.folder = folder;
      this.id = id;
      this.executor = executor;
      this.elected = elected;
      this.deposed = deposed;
    }

    @Override
    public boolean isLeader() {
      return isLeader;
    }

    @Override
    public synchronized void refresh() {
      if (!isConnected || isClosed) {
        return;
      }
      withdraw();
      try {
        own = Optional.of(tree.candidate(folder, id, session));
      } catch (NodeException e) {
        throw new IllegalStateException(e);
      }
      judge();
    }

    @Override
    public synchronized void changed(Set<String> paths) {
      if (!isClosed && paths.stream().anyMatch(path -> path.startsWith(folder + "/"))) {
        judge();
      }
    }

    private void judge() {
      try {
        List<String> candidates = tree.children(folder);
        lead(own.isPresent() && candidates.get(0).equals(own.get()));
      } catch (NodeException | IndexOutOfBoundsException e) {
        lead(false);
      }
    }

    private void lead(boolean leads) {
      if (leads != isLeader) {
        isLeader = leads;
        try {
          executor.execute(leads ? elected : deposed);
        } catch (RejectedExecutionException e) {
          return; // closed
        }
      }
    }

    @Override
    public synchronized void lost() {
      lead(false);
    }

    private void withdraw() {
      try {
        if (own.isPresent()) {
          tree.write(List.of(Operation.delete(folder + "/" + own.get())), session);
        }
      } catch (NodeException e) {
        // it is gone
      }
      own = Optional.empty();
    }

    @Override
    public void close() {
      followers.remove(this);
      synchronized (this) {
        isClosed = true;
        isLeader = false;
        withdraw();
      }
    }
  }

  @Override
  public void permit(String entry, Optional<String> login) {}

  @Override
  public void checkOwn(boolean protectsOpen) {}

  @Override
  public void protect() {}

  /** All may read by this login. */
  public void protect(String newReadersLogin) {
    readersLogin = Optional.of(newReadersLogin);
  }

  @Override
  public Optional<String> readersLogin() {
    return readersLogin;
  }

  @Override
  public void close() {
    isConnected = false;
    tree.drop(this);
    thread.shutdownNow();
    try {
      tree.end(session);
    } catch (NodeException e) {
      throw new IllegalStateException(e);
    }
  }
}
