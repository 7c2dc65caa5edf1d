// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * A client of a tree of nodes, each with bytes and a version; with one session, at whose end its
 * ephemeral nodes go.
 *
 * <p>Writes take place in one order. A read may be older than the latest of them, but never older
 * than an earlier read of this client, nor than what was committed before a {@link #sync} that
 * ended before it. Listeners are called one at a time, and must not wait for the store.
 */
public interface Store extends AutoCloseable {
  Duration SYNC_MAX = Duration.ofSeconds(3);

  /** By which controllers and muxes reach it: HOST:PORT,... */
  String address();

  /** Connects as soon as that is possible; returns at once. */
  void start();

  boolean isConnected();

  /** Waits until there is a connection, at most so long; returns whether there is one. */
  boolean awaitConnection(Duration most) throws InterruptedException;

  /** Calls {@code listener} with each new state of the connection. */
  Following onConnection(Consumer<Connection> listener);

  /**
   * @throws NodeException.Absent if it is not there
   */
  Node read(String path) throws NodeException, InterruptedException;

  /** The bytes of each node, empty where there is none; all reads are under way at once. */
  List<Optional<byte[]>> read(List<String> paths) throws NodeException, InterruptedException;

  Optional<Stat> stat(String path) throws NodeException, InterruptedException;

  /**
   * The names of the nodes right below one.
   *
   * @throws NodeException.Absent if it is not there
   */
  List<String> children(String path) throws NodeException, InterruptedException;

  /**
   * The names right below each node, empty where there is none; all reads are under way at once.
   */
  List<Optional<List<String>>> children(List<String> paths)
      throws NodeException, InterruptedException;

  /**
   * Takes all of the steps or none, in this order, each on what those before it have left. Without
   * an answer it is unknown whether it did.
   */
  void write(List<Operation> operations) throws NodeException, InterruptedException;

  /** Creates the node, and those above it, unless it is there; returns whether it was not. */
  boolean createIfAbsent(String path, byte[] data) throws NodeException, InterruptedException;

  /** Writes a node, which must be there; returns the time of that by the store's clock. */
  Instant touch(String path, byte[] data) throws NodeException, InterruptedException;

  /**
   * Waits until what is read next is as new as anything committed before this call. Fails at once
   * without a connection.
   */
  void sync(Duration most) throws NodeException, InterruptedException;

  /**
   * Calls {@code then} after the listeners of everything that was committed before this call, also
   * if the connection breaks meanwhile; its argument is whether it did not.
   */
  void syncInBackground(Consumer<Boolean> then) throws NodeException;

  /** Keeps a copy of the node, if it is there, until it is closed. */
  FollowedNode follow(String path, NodeListener listener);

  /** Calls {@code names} with all nodes right below one, at first and when they have changed. */
  Following followChildren(String path, Consumer<Set<String>> names);

  /** Tells of changes of all nodes below one. */
  Following followBelow(String path, BelowListener listener);

  /**
   * Stands for election among all who stand in {@code folder}, until it is closed.
   *
   * @param id which the node of the candidate below {@code folder} has
   * @param executor calls both, one at a time
   * @param elected called when this client has become the leader
   * @param deposed called when it is no longer, or not known to be
   */
  Candidacy stand(String folder, String id, Executor executor, Runnable elected, Runnable deposed);

  /**
   * Gives an entry, if it is there and lasting, to the one who has this login: who may read it, and
   * create nodes below it. Does nothing in a store without logins.
   *
   * @param login empty: it has no owner
   */
  void permit(String entry, Optional<String> login) throws NodeException, InterruptedException;

  /**
   * Passes if the tree is this client's own, or not there yet.
   *
   * @param protectsOpen whether it may be one that is open to everyone
   * @throws StoreException.NotOurs if waiting does not help
   */
  void checkOwn(boolean protectsOpen) throws StoreException;

  /** Protects the tree from others; does nothing in a store without logins. */
  void protect() throws StoreException, NodeException, InterruptedException;

  /** The login by which all may read the tree; empty in a store without logins. */
  Optional<String> readersLogin();

  @Override
  void close();

  /** {@link #sync} as long as a request may wait for it. */
  default void sync() throws NodeException, InterruptedException {
    sync(SYNC_MAX);
  }

  /** The bytes of a node, by what was committed before this call; empty if it is not there. */
  Optional<byte[]> findLatest(String path) throws NodeException, InterruptedException;

  /** The bytes of a node, empty if it is not there. */
  default Optional<byte[]> find(String path) throws NodeException, InterruptedException {
    try {
      return Optional.of(read(path).data());
    } catch (NodeException.Absent e) {
      return Optional.empty();
    }
  }

  /** Ends a subscription. */
  interface Following extends AutoCloseable {
    @Override
    void close();
  }

  interface FollowedNode extends Following {
    /** As it is in the copy; empty if it is not there, or not read yet. */
    Optional<Node> node();
  }

  /** A listener misses a node that was deleted and created again while there was no connection. */
  interface NodeListener {
    NodeListener NONE = new NodeListener() {};

    /** The node was looked at for the first time, whether it was there or not. */
    default void read() {}

    default void changed(Node before, Node now) {}

    default void deleted(Node last) {}
  }

  interface BelowListener {
    void changed(String path);

    /** From now on changes may go unnoticed. */
    void lost();

    /** From now on no change goes unnoticed. */
    void watching();
  }

  interface Candidacy extends Following {
    boolean isLeader();
  }
}
