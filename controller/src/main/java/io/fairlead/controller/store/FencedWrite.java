// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Writes that only the leader of an epoch can make. Each is one {@code multi} that also checks the
 * version of the epoch's node: once another leader has raised it, writes of all earlier leaders
 * fail.
 *
 * <p>After a lost connection it is unknown whether a {@code multi} took place. A probe then reads,
 * after a {@code sync}, what the write would have left. If that is there, the write took place. If
 * the state before it is there, the same {@code multi} is sent again. That is harmless: it names
 * the versions that it expects, so it can take place only once.
 */
final class FencedWrite {
  /** What a probe found. */
  enum Outcome {
    WRITTEN,
    NOT_WRITTEN,
    /** Neither: another client wrote. */
    OVERTAKEN
  }

  interface Probe {
    Outcome look() throws Exception;
  }

  interface Operations {
    /** Called before every attempt. */
    List<Operation> prepare() throws Exception;
  }

  private static final long PAUSE_MILLIS = 50;

  private final Store store;
  private final Tree tree;
  private final Duration deadline;
  private final Optional<Note> note;

  FencedWrite(Store store, Tree tree, Duration deadline) {
    this(store, tree, deadline, Optional.empty());
  }

  private FencedWrite(Store store, Tree tree, Duration deadline, Optional<Note> note) {
    this.store = store;
    this.tree = tree;
    this.deadline = deadline;
    this.note = note;
  }

  /** One whose {@link #run} also writes {@code note}, in the same {@code multi}. */
  FencedWrite with(Note note) {
    return new FencedWrite(store, tree, deadline, Optional.of(note));
  }

  /**
   * Writes all of the operations or none.
   *
   * @param what for messages
   * @throws StoreException.Fenced if a controller was elected since
   * @throws StoreException.Unknown if ZooKeeper did not report the outcome in time
   */
  void run(String what, Epoch epoch, Operations operations, Probe probe) throws StoreException {
    long end = System.nanoTime() + deadline.toNanos();
    while (true) {
      try {
        List<Operation> ops = new ArrayList<>(operations.prepare());
        if (note.isPresent()) {
          ops.addAll(new Journal(store, tree).operations(note.get()));
        }
        once(epoch, ops);
        return;
      } catch (Exception e) {
        if (resolve(what, epoch, probe, refusal(what, e), end) == Outcome.WRITTEN) {
          return;
        }
      }
    }
  }

  /**
   * One {@code multi} without a retry: for writes that the next leader or the next round repeats.
   */
  void once(Epoch epoch, List<Operation> operations) throws Exception {
    List<Operation> fenced = new ArrayList<>(operations.size() + 1);
    fenced.add(Operation.unchanged(tree.epoch(), epoch.version()));
    fenced.addAll(operations);
    store.write(fenced);
  }

  private Outcome resolve(String what, Epoch epoch, Probe probe, NodeException cause, long end)
      throws StoreException {
    NodeException last = cause;
    while (System.nanoTime() < end) {
      try {
        sync(end);
        Outcome outcome = probe.look();
        if (outcome != Outcome.WRITTEN && !isLeader(epoch)) {
          throw new StoreException.Fenced(what, epoch);
        }
        if (outcome == Outcome.OVERTAKEN) {
          throw new StoreException(
              "%s in epoch %d: ZooKeeper holds another state (%s)"
                  .formatted(what, epoch.number(), cause.reason()));
        }
        pause(what, last);
        return outcome;
      } catch (StoreException e) {
        throw e;
      } catch (Exception e) {
        last = refusal(what, e);
        pause(what, last);
      }
    }
    throw new StoreException.Unknown(
        "%s in epoch %d: ZooKeeper did not report the outcome within %d s (%s)"
            .formatted(what, epoch.number(), deadline.toSeconds(), last.reason()),
        last);
  }

  private void sync(long end) throws Exception {
    Duration left = Duration.ofNanos(Math.max(1, end - System.nanoTime()));
    store.sync(left.compareTo(Store.SYNC_MAX) < 0 ? left : Store.SYNC_MAX);
  }

  private boolean isLeader(Epoch epoch) throws Exception {
    return store.stat(tree.epoch()).filter(at -> at.version().equals(epoch.version())).isPresent();
  }

  private static NodeException refusal(String what, Exception e) throws StoreException {
    if (e instanceof NodeException refused) {
      return refused;
    }
    if (e instanceof StoreException known) {
      throw known;
    }
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
      throw new StoreException.Unknown(what + ": interrupted", e);
    }
    throw new StoreException.Unknown(what + ": " + e, e);
  }

  private static void pause(String what, Exception cause) throws StoreException {
    try {
      Thread.sleep(PAUSE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException.Unknown(what + ": interrupted", cause);
    }
  }
}
