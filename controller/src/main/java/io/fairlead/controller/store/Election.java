// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leader election: a leader latch elects, the epoch node fences. An elected controller raises the
 * epoch before it reads anything, so that everything that an earlier leader still has under way
 * fails.
 *
 * <p>The callbacks run one at a time on one thread.
 */
public final class Election implements AutoCloseable {
  public interface Listener {
    /** The tree is this controller's own and protected: what its nodes name may be followed. */
    void enter();

    /** Elected, with the epoch raised. After an exception it is called again in a new epoch. */
    void lead(Epoch epoch) throws StoreException;

    /** No longer the leader, or not known to be. */
    void follow();
  }

  private static final Logger LOG = LoggerFactory.getLogger(Election.class);
  private static final int RETRY_MILLIS = 500;

  private final Store store;
  private final Tree tree;
  private final String id;
  private final Optional<String> url;
  private final boolean protectsOpen;
  private final Listener listener;
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(DaemonThreads.named("election"));
  private volatile Optional<Store.Candidacy> candidacy = Optional.empty();
  private volatile Optional<Store.FollowedNode> epoch = Optional.empty();
  private volatile boolean isClosed;
  private volatile boolean isEntered;
  private volatile Optional<StoreException.NotOurs> refusal = Optional.empty();

  /**
   * The epoch that this controller leads in, null while it does not; used by {@code thread} only.
   */
  private Epoch current;

  /**
   * @param url where others find this controller's API while it leads
   * @param protectsOpen whether a tree that was open to everyone is protected
   */
  public Election(
      Store store,
      Tree tree,
      String id,
      Optional<String> url,
      boolean protectsOpen,
      Listener listener) {
    this.store = store;
    this.tree = tree;
    this.id = id;
    this.url = url;
    this.protectsOpen = protectsOpen;
    this.listener = listener;
  }

  private void stand() {
    candidacy = Optional.of(store.stand(tree.election(), id, thread, this::lead, this::follow));
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
    persist(
        () -> {
          store.checkOwn(protectsOpen);
          Roots.create(store, tree);
          if (!isEntered) {
            isEntered = true;
            listener.enter();
          }
          Roots.checkWhole(store, tree);
          watchEpoch();
          removeFormerSelf();
          stand();
        });
  }

  private interface Step {
    void run() throws Exception;
  }

  /** Takes a step towards standing for election, again and again until it succeeds. */
  private void persist(Step step) {
    String said = "";
    while (!isClosed) {
      try {
        step.run();
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
    while (!isClosed && candidacy.map(Store.Candidacy::isLeader).orElse(false)) {
      try {
        current = raiseEpoch();
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

  private void watchEpoch() {
    if (epoch.isEmpty()) {
      epoch =
          Optional.of(
              store.follow(
                  tree.epoch(),
                  new Store.NodeListener() {
                    @Override
                    public void changed(Node before, Node now) {
                      if (!isClosed) {
                        thread.execute(() -> checkEpoch(now.version()));
                      }
                    }
                  }));
    }
  }

  /** What was seen may be older than the own epoch, so another one is read again. */
  private void checkEpoch(Version seen) {
    if (current == null || seen.equals(current.version())) {
      return;
    }
    try {
      if (store
          .stat(tree.epoch())
          .filter(at -> at.version().equals(current.version()))
          .isPresent()) {
        return;
      }
    } catch (Exception e) {
      // Without ZooKeeper the latch is lost as well, and found again with the connection.
      LOG.warn("{} cannot read the epoch: {}", id, e.toString());
      return;
    }
    LOG.warn("{}: epoch {} is over, a controller was elected since", id, current.number());
    persist(
        () -> {
          follow();
          candidacy.ifPresent(Store.Candidacy::close);
          stand();
        });
  }

  /**
   * Raises the epoch and names the leader in one step: no request is sent to a leader whose epoch
   * is over.
   */
  private Epoch raiseEpoch() throws Exception {
    Node present = store.read(tree.epoch());
    long number = Decimal.read(present.data()) + 1;
    List<Operation> ops = new ArrayList<>();
    ops.add(Operation.set(tree.epoch(), present.version(), Decimal.write(number)));
    if (store.stat(tree.leader()).isPresent()) {
      ops.add(Operation.delete(tree.leader()));
    }
    Leader leader = new Leader(Leader.FORMAT, id, number, url);
    ops.add(Operation.create(tree.leader(), NodeJson.write(leader), Operation.Kind.EPHEMERAL));
    store.write(ops);
    return new Epoch(number, present.version().next());
  }

  /**
   * Removes the latch of this controller's previous process, which would otherwise lead until its
   * session expires: a restart after kill -9 takes over at once. If that process is still running,
   * it loses the election, and its epoch is fenced.
   */
  private void removeFormerSelf() throws Exception {
    for (String child : store.children(tree.election())) {
      String path = tree.election() + "/" + child;
      try {
        if (new String(store.read(path).data(), StandardCharsets.UTF_8).equals(id)) {
          store.write(List.of(Operation.delete(path)));
        }
      } catch (NodeException.Absent e) {
        LOG.debug("{} is gone already", path);
      }
    }
  }

  /** None while the tree is not known as its own. */
  public List<String> candidates() {
    return isEntered ? candidates(store, tree) : List.of();
  }

  /** Ids of the controllers that run, as far as ZooKeeper can be read. */
  public static List<String> candidates(Store store, Tree tree) {
    List<String> ids = new ArrayList<>();
    try {
      for (String child : store.children(tree.election())) {
        store
            .find(tree.election() + "/" + child)
            .ifPresent(id -> ids.add(new String(id, StandardCharsets.UTF_8)));
      }
    } catch (NodeException.Absent e) {
      LOG.debug(
          "{} is not there: no controller of this cluster has stood for election yet",
          tree.election());
    } catch (Exception e) {
      LOG.warn("the controllers cannot be listed: {}", e.toString());
    }
    return ids;
  }

  /** Until it is there; if it is already, for a moment. */
  private void awaitConnection() {
    if (store.isConnected()) {
      pause();
      return;
    }
    try {
      store.awaitConnection(Duration.ofMillis(RETRY_MILLIS));
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
    epoch.ifPresent(Store.FollowedNode::close);
    candidacy.ifPresent(Store.Candidacy::close);
  }
}
