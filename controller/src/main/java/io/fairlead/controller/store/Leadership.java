// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorWatcher;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.framework.api.transaction.TransactionOp;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.data.Stat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leader election: a leader latch elects, the epoch node fences. An elected controller raises the
 * epoch before it reads anything, so that everything that an earlier leader still has under way
 * fails.
 *
 * <p>The callbacks run one at a time on one thread.
 */
public final class Leadership implements AutoCloseable {
  public interface Listener {
    /** The tree is this controller's own and protected: what its nodes name may be followed. */
    void enter();

    /** Elected, with the epoch raised. After an exception it is called again in a new epoch. */
    void lead(Epoch epoch) throws StoreException;

    /** No longer the leader, or not known to be. */
    void follow();
  }

  private static final Logger LOG = LoggerFactory.getLogger(Leadership.class);
  private static final int RETRY_MILLIS = 500;

  private final CuratorFramework client;
  private final Tree tree;
  private final String id;
  private final Optional<String> url;
  private final Optional<ZooKeeperAccess> access;
  private final boolean protectsOpen;
  private final Listener listener;
  private final LeaderLatchListener latchListener;
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(DaemonThreads.named("leadership"));
  private volatile LeaderLatch latch;
  private volatile boolean isClosed;
  private volatile boolean isEntered;
  private volatile Optional<StoreException.NotOurs> refusal = Optional.empty();

  /**
   * The epoch that this controller leads in, null while it does not; used by {@code thread} only.
   */
  private Epoch current;

  /**
   * @param url where others find this controller's API while it leads
   * @param access protects the tree
   * @param protectsOpen whether also one that was open to everyone
   */
  public Leadership(
      CuratorFramework client,
      Tree tree,
      String id,
      Optional<String> url,
      Optional<ZooKeeperAccess> access,
      boolean protectsOpen,
      Listener listener) {
    this.client = client;
    this.tree = tree;
    this.id = id;
    this.url = url;
    this.access = access;
    this.protectsOpen = protectsOpen;
    this.listener = listener;
    this.latchListener =
        new LeaderLatchListener() {
          @Override
          public void isLeader() {
            lead();
          }

          @Override
          public void notLeader() {
            follow();
          }
        };
    this.latch = newLatch();
  }

  private LeaderLatch newLatch() {
    LeaderLatch created = new LeaderLatch(client, tree.election(), id);
    created.addListener(latchListener, thread);
    return created;
  }

  /** Starts to seek leadership as soon as ZooKeeper can be reached; returns at once. */
  public void start() {
    thread.execute(this::enter);
  }

  /** Why it will never lead. */
  public Optional<StoreException.NotOurs> refusal() {
    return refusal;
  }

  private void enter() {
    String said = "";
    while (!isClosed) {
      try {
        OwnTree.check(client, tree, access, protectsOpen);
        Roots.create(client, tree, access);
        if (!isEntered) {
          isEntered = true;
          listener.enter();
        }
        Roots.checkWhole(client, tree);
        removeFormerSelf();
        latch.start();
        return;
      } catch (StoreException.NotOurs e) {
        refusal = Optional.of(e);
        return;
      } catch (Exception e) {
        said = warnOnce(said, "%s waits for ZooKeeper: %s".formatted(id, e));
        awaitConnection();
      }
    }
  }

  private void lead() {
    String said = "";
    while (!isClosed && latch.hasLeadership()) {
      try {
        current = raiseEpoch();
        watchEpoch();
        listener.lead(current);
        return;
      } catch (Exception e) {
        said = warnOnce(said, "%s was elected and cannot lead yet: %s".formatted(id, e));
        pause();
      }
    }
  }

  /** Logs a failure unless it equals the last one; returns the last one. */
  private static String warnOnce(String said, String sentence) {
    if (!sentence.equals(said)) {
      LOG.warn("{}", sentence);
    }
    return sentence;
  }

  private void follow() {
    LOG.info("{} no longer leads", id);
    current = null;
    listener.follow();
  }

  private void watchEpoch() throws Exception {
    CuratorWatcher watcher =
        event -> {
          if (event.getType() == Watcher.Event.EventType.NodeDataChanged && !isClosed) {
            thread.execute(this::checkEpoch);
          }
        };
    client.checkExists().usingWatcher(watcher).forPath(tree.epoch());
  }

  private void checkEpoch() {
    try {
      Stat stat = client.checkExists().forPath(tree.epoch());
      if (current == null || (stat != null && stat.getVersion() == current.version())) {
        return;
      }
      LOG.warn("{}: epoch {} is over, a controller was elected since", id, current.number());
      follow();
      latch.close();
      latch = newLatch();
      latch.start();
    } catch (Exception e) {
      // Without ZooKeeper the latch is lost as well, and found again with the connection.
      LOG.warn("{} cannot read the epoch: {}", id, e.toString());
    }
  }

  /**
   * Raises the epoch and names the leader in one step: no request is sent to a leader whose epoch
   * is over.
   */
  private Epoch raiseEpoch() throws Exception {
    Stat stat = new Stat();
    long number = Nodes.number(client.getData().storingStatIn(stat).forPath(tree.epoch())) + 1;
    byte[] decimal = Long.toString(number).getBytes(StandardCharsets.US_ASCII);
    TransactionOp op = client.transactionOp();
    List<CuratorOp> ops = new ArrayList<>();
    ops.add(op.setData().withVersion(stat.getVersion()).forPath(tree.epoch(), decimal));
    if (client.checkExists().forPath(tree.leader()) != null) {
      ops.add(op.delete().forPath(tree.leader()));
    }
    LeaderNode leader = new LeaderNode(LeaderNode.FORMAT, id, number, url);
    ops.add(
        op.create().withMode(CreateMode.EPHEMERAL).forPath(tree.leader(), NodeJson.write(leader)));
    List<CuratorTransactionResult> results = client.transaction().forOperations(ops);
    return new Epoch(number, results.get(0).getResultStat().getVersion());
  }

  /**
   * Removes the latch of this controller's previous process, which would otherwise lead until its
   * session expires: a restart after kill -9 takes over at once. If that process is still running,
   * it loses the election, and its epoch is fenced.
   */
  private void removeFormerSelf() throws Exception {
    for (String child : client.getChildren().forPath(tree.election())) {
      String path = tree.election() + "/" + child;
      try {
        if (new String(client.getData().forPath(path), StandardCharsets.UTF_8).equals(id)) {
          client.delete().forPath(path);
        }
      } catch (KeeperException.NoNodeException e) {
        LOG.debug("{} is gone already", path);
      }
    }
  }

  /** None before it is {@code started}, nor while the tree is not known as its own. */
  public static List<String> candidates(Leadership started) {
    return started == null ? List.of() : started.candidates();
  }

  public List<String> candidates() {
    return isEntered ? candidates(client, tree) : List.of();
  }

  /** Ids of the controllers that run, as far as ZooKeeper can be read. */
  public static List<String> candidates(CuratorFramework client, Tree tree) {
    List<String> ids = new ArrayList<>();
    try {
      for (String child : client.getChildren().forPath(tree.election())) {
        new Nodes(client)
            .data(tree.election() + "/" + child)
            .ifPresent(id -> ids.add(new String(id, StandardCharsets.UTF_8)));
      }
    } catch (KeeperException.NoNodeException e) {
      LOG.debug(
          "{} is not there: no controller of this cluster has stood for election yet", e.getPath());
    } catch (Exception e) {
      LOG.warn("the controllers cannot be listed: {}", e.toString());
    }
    return ids;
  }

  /** Until it is there; if it is already, for a moment. */
  private void awaitConnection() {
    if (client.getZookeeperClient().isConnected()) {
      pause();
      return;
    }
    try {
      client.blockUntilConnected(RETRY_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      isClosed = true;
    }
  }

  private void pause() {
    try {
      Thread.sleep(RETRY_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      isClosed = true;
    }
  }

  @Override
  public void close() {
    isClosed = true;
    thread.shutdownNow();
    if (latch.getState() == LeaderLatch.State.STARTED) {
      try {
        latch.close();
      } catch (IOException e) {
        LOG.warn("the leader latch did not close: {}", e.toString());
      }
    }
  }
}
