// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Every service as ZooKeeper holds it, each a {@code T}, followed by one watch on all of them: what
 * a controller that does not lead reads from.
 *
 * <p>Each service is in one committed state: it is read again if there was a commit in between, and
 * it never goes back. {@link #catchUp} waits until all are as new as anything committed before the
 * call. Without ZooKeeper they stay as they were.
 *
 * <p>Events arrive on ZooKeeper's thread and only mark services as changed; a thread of this class
 * reads them.
 */
public final class ServiceWatch<T> implements AutoCloseable {
  /** Reads one service from ZooKeeper. */
  public interface Reader<T> {
    /**
     * The service in one committed state, empty if it does not exist.
     *
     * @param known what was read last
     */
    Optional<T> readCommitted(String name, Optional<T> known) throws StoreException;
  }

  /** Services as they are followed; thread-safe. */
  public static final class Copy<T> {
    private final ConcurrentNavigableMap<String, T> services;
    private final ConcurrentNavigableMap<String, String> damaged;
    private volatile boolean isWhole;

    private Copy(Map<String, T> services, Map<String, String> damaged) {
      this.services = new ConcurrentSkipListMap<>(services);
      this.damaged = new ConcurrentSkipListMap<>(damaged);
    }

    /** By ascending name. */
    public Collection<T> services() {
      return services.values();
    }

    public Optional<T> service(String name) {
      return Optional.ofNullable(services.get(name));
    }

    /** Why the service exists and cannot be read. */
    public Optional<String> damage(String name) {
      return Optional.ofNullable(damaged.get(name));
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(ServiceWatch.class);
  private static final long RETRY_MILLIS = 500;

  private final Store store;
  private final Tree tree;
  private final ServiceStore stored;
  private final Reader<T> reader;
  private volatile Optional<Store.Following> watcher = Optional.empty();
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("service-watch"));

  /** Replaced, never emptied: who reads one that is not followed any more finds all of it. */
  private volatile Copy<T> copy = new Copy<>(Map.of(), Map.of());

  @GuardedBy("changed")
  private final Set<String> changed = new HashSet<>();

  private volatile boolean isPaused;

  /** Whether events may be missing, as after a lost connection; used by {@code thread} only. */
  private boolean isStale = true;

  /**
   * Whether the watch is set. A new connection answers before it is, and there are no events about
   * what was committed in between: until then every refresh reads all services.
   */
  private boolean isWatching;

  private boolean isRetrying;

  public ServiceWatch(Store store, Tree tree, ServiceStore stored, Reader<T> reader) {
    this.store = store;
    this.tree = tree;
    this.stored = stored;
    this.reader = reader;
  }

  /** Starts to follow as soon as ZooKeeper can be reached; returns at once. */
  public void start() {
    watcher = Optional.of(store.followBelow(tree.services(), new Listener()));
  }

  /** All services as they are followed now; empty before all were read. */
  public Optional<Copy<T>> whole() {
    Copy<T> now = copy;
    return now.isWhole ? Optional.of(now) : Optional.empty();
  }

  /** What was read last of a service. */
  public Optional<T> service(String name) {
    return copy.service(name);
  }

  /**
   * Completes when everything that was committed before this call can be read here; fails if
   * ZooKeeper does not answer.
   */
  public CompletableFuture<Void> catchUp() {
    CompletableFuture<Void> done = new CompletableFuture<>();
    try {
      // Its answer arrives after the events of everything that was committed before it.
      store.syncInBackground(
          isSynced ->
              execute(
                  () -> {
                    if (refresh() && isSynced) {
                      done.complete(null);
                    } else {
                      done.completeExceptionally(
                          new StoreException("not all services could be read"));
                    }
                  }));
    } catch (Exception e) {
      done.completeExceptionally(e);
    }
    return done;
  }

  /** Drops everything and does not follow: the leader has newer state. */
  public void pause() {
    isPaused = true;
    copy = new Copy<>(Map.of(), Map.of());
  }

  /**
   * Follows again, starting from what a leader knew of all services.
   *
   * @param damaged why services cannot be read
   */
  public void resume(Map<String, T> known, Map<String, String> damaged) {
    Copy<T> from = new Copy<>(known, damaged);
    from.isWhole = true;
    copy = from;
    isPaused = false;
    execute(
        () -> {
          isStale = true;
          refresh();
        });
  }

  private final class Listener implements Store.BelowListener {
    @Override
    public void changed(String path) {
      if (isPaused) {
        return;
      }
      String name = path.substring(tree.services().length() + 1).split("/", 2)[0];
      if (path.equals(tree.config(name)) || path.equals(tree.latestGeneration(name))) {
        mark(List.of(name));
        execute(ServiceWatch.this::refresh);
      }
    }

    @Override
    public void lost() {
      execute(
          () -> {
            isWatching = false;
            isStale = true;
          });
    }

    @Override
    public void watching() {
      execute(
          () -> {
            isWatching = true;
            isStale = true;
            refresh();
          });
    }
  }

  /** Reads what has changed; returns whether all of it could be read. */
  private boolean refresh() {
    boolean isDone = true;
    Copy<T> into = copy; // another one, after a term in between, is newer than what is read now
    if (isPaused) {
      return false;
    }
    if (isStale) {
      isDone = markAll(into);
    }
    for (String name : takeChanged()) {
      try {
        refresh(into, name);
      } catch (StoreException e) {
        LOG.debug("{}", e.getMessage());
        isDone = false;
        mark(List.of(name));
      }
    }
    into.isWhole |= isDone;
    if (!isDone && !isRetrying) {
      isRetrying = true;
      retry();
    }
    return isDone;
  }

  private boolean markAll(Copy<T> into) {
    try {
      mark(stored.names());
      mark(into.services.keySet());
      mark(into.damaged.keySet());
      isStale = !isWatching;
      return true;
    } catch (StoreException e) {
      LOG.debug("{}", e.getMessage());
      return false;
    }
  }

  private void mark(Collection<String> names) {
    synchronized (changed) {
      changed.addAll(names);
    }
  }

  private List<String> takeChanged() {
    synchronized (changed) {
      List<String> names = new ArrayList<>(changed);
      changed.clear();
      return names;
    }
  }

  private void refresh(Copy<T> into, String name) throws StoreException {
    try {
      reader
          .readCommitted(name, into.service(name))
          .ifPresentOrElse(now -> into.services.put(name, now), () -> into.services.remove(name));
      into.damaged.remove(name);
    } catch (StoreException.Damaged e) {
      if (into.damaged.put(name, e.getMessage()) == null) {
        LOG.error("{}", e.getMessage());
      }
      into.services.remove(name);
    }
  }

  private void retry() {
    try {
      thread.schedule(
          () -> {
            isRetrying = false;
            refresh();
          },
          RETRY_MILLIS,
          TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      LOG.debug("closed");
    }
  }

  private void execute(Runnable task) {
    try {
      thread.execute(task);
    } catch (RejectedExecutionException e) {
      LOG.debug("closed");
    }
  }

  @Override
  public void close() {
    watcher.ifPresent(Store.Following::close);
    thread.shutdownNow();
  }
}
