// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.resources.othello.ArraysWriter.Ahead;
import io.fairlead.controller.store.ArraysAhead;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.ServiceState;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What takes many requests with Othello arrays, in as many events of their service, so that changes
 * wait for one request at most: arrays that do not fit into one are written a chunk an event,
 * beside a generation of their own that changes nothing; old ones are removed a generation an
 * event.
 */
final class ArraysSteps {
  private static final Logger LOG = LoggerFactory.getLogger(ArraysSteps.class);

  /** What ZooKeeper holds. */
  interface Known {
    /**
     * As committed; on the event thread.
     *
     * @throws StoreException if that is not known, or the service is gone
     */
    ServiceState state() throws StoreException;
  }

  private final Supplier<CompletionStage<Long>> empty;
  private final Known known;
  private final ServiceStore store;
  private final Epoch epoch;
  private final Executor events;
  private final Executor background;

  /** How many writes ahead have begun and nothing names them yet; for the event thread only. */
  private int writing;

  /**
   * @param empty commits a generation that changes nothing, for its number; from any thread
   */
  ArraysSteps(
      Supplier<CompletionStage<Long>> empty,
      Known known,
      ServiceStore store,
      Epoch epoch,
      Executor events,
      Executor background) {
    this.empty = empty;
    this.known = known;
    this.store = store;
    this.epoch = epoch;
    this.events = events;
    this.background = background;
  }

  /** Whether arrays are being written that nothing names yet; on the event thread. */
  boolean isWriting() {
    return writing > 0;
  }

  /**
   * Writes all of these; the numbers of the generations that have them. {@link #named} follows in
   * any case.
   */
  CompletionStage<List<Long>> write(List<Ahead> all) {
    events.execute(() -> writing++);
    CompletionStage<List<Long>> written = CompletableFuture.completedStage(List.of());
    for (Ahead each : all) {
      written = written.thenCompose(numbers -> write(each).thenApply(one -> with(numbers, one)));
    }
    return written;
  }

  /** What was written is named, or never will be; on the event thread. */
  void named() {
    writing--;
  }

  private CompletionStage<Long> write(Ahead one) {
    CompletionStage<Long> beside =
        one.beside().isPresent()
            ? CompletableFuture.completedStage(one.beside().getAsLong())
            : empty.get();
    return beside.thenComposeAsync(
        number -> {
          CompletableFuture<Long> done = new CompletableFuture<>();
          ArraysAhead arrays = new ArraysAhead(number, one.blob(), one.bytes().apply(number));
          events.execute(() -> writeNext(arrays, number, done));
          return done;
        },
        background);
  }

  private void writeNext(ArraysAhead arrays, long number, CompletableFuture<Long> done) {
    try {
      if (store.writeNext(epoch, known.state(), arrays)) {
        events.execute(() -> writeNext(arrays, number, done));
      } else {
        done.complete(number);
      }
    } catch (StoreException | RuntimeException e) {
      LOG.warn("{}", e.getMessage()); // what is there is removed with old arrays
      done.completeExceptionally(e);
    }
  }

  private static List<Long> with(List<Long> numbers, long one) {
    List<Long> more = new ArrayList<>(numbers);
    more.add(one);
    return more;
  }

  /**
   * New arrays follow {@code before}. If they are whole, old ones are removed, and what another
   * leader wrote ahead of a commit that it did not live to make.
   *
   * @param before empty: these are the first
   */
  void removeOld(Optional<LatestArrays> before) {
    removing(
        () -> {
          ServiceState service = known.state();
          Optional<Long> whole = service.arrays().map(LatestArrays::whole);
          if (whole.isPresent() && !whole.equals(before.map(LatestArrays::whole))) {
            removeNext(store.unnamedArrays(service, before), 0);
          }
        });
  }

  private void removeNext(List<Long> generations, int at) throws StoreException {
    if (at < generations.size()) {
      store.removeArrays(epoch, known.state(), generations.get(at));
      removing(() -> removeNext(generations, at + 1));
    }
  }

  private interface Step {
    void run() throws StoreException;
  }

  private void removing(Step step) {
    events.execute(
        () -> {
          try {
            step.run();
          } catch (StoreException e) {
            LOG.warn("{}", e.getMessage()); // the next whole arrays remove them
          }
        });
  }
}
