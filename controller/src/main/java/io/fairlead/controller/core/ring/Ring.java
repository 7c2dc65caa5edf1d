// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import io.fairlead.controller.core.ring.RefusedException.Reason;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * One generation of a service's ring: for every bucket its current backend and its {@link History}.
 * Immutable; two columns, 6 bytes per bucket, because a ring has up to 8 Mi of them. Equal
 * histories that one delta makes, or that a snapshot has, are one object.
 */
public final class Ring {
  public static final long GENERATION_MAX = 0xffff_ffffL;
  public static final int BUCKETS_MIN = 256;
  public static final int BUCKETS_MAX = 8 * 1024 * 1024;

  private final int service;
  private final long generation;
  private final long committed;
  private final long closedUntil;
  private final SortedMap<Integer, Backend> backends;
  final char[] current;
  final History[] histories;
  private final List<RingChange> changes;

  /** Computed when it is first asked for. */
  private volatile Long sum;

  /** Takes ownership of the arrays: they must not be written to afterwards. */
  Ring(
      int service,
      long generation,
      long committed,
      long closedUntil,
      SortedMap<Integer, Backend> backends,
      char[] current,
      History[] histories,
      List<RingChange> changes) {
    if (!isBuckets(current.length) || histories.length != current.length) {
      throw new IllegalArgumentException(
          "columns of %d and %d buckets; allowed: a power of two in 256..8388608"
              .formatted(current.length, histories.length));
    }
    this.service = service;
    this.generation = generation;
    this.committed = committed;
    this.closedUntil = closedUntil;
    this.backends = Collections.unmodifiableSortedMap(backends);
    this.current = current;
    this.histories = histories;
    this.changes = List.copyOf(changes);
  }

  /** Generation 1: no backends, every bucket without an owner. */
  public static Ring empty(int service, int buckets, long committed) {
    History[] none = new History[buckets];
    Arrays.fill(none, History.NONE);
    return new Ring(service, 1, committed, 0, new TreeMap<>(), new char[buckets], none, List.of());
  }

  /** Before its first generation, the same ring of a service whose windows end by then. */
  public Ring withClosedUntil(long until) {
    return new Ring(service, generation, committed, until, backends, current, histories, changes);
  }

  /** The same buckets under another generation number, for a restored ring. */
  public Ring withGeneration(long other) {
    return new Ring(
        service, other, committed, closedUntil, backends, current, histories, List.of());
  }

  /**
   * The same ring, which also remembers what {@code before} does, of generations up to this one.
   */
  public Ring remembering(Ring before) {
    if (before.service != service) {
      return this;
    }
    List<RingChange> known =
        before.changes.stream().filter(change -> change.generation() <= generation).toList();
    return new Ring(
        service, generation, committed, closedUntil, backends, current, histories, known);
  }

  /**
   * What the latest generations changed, the newest last: those that were applied since this ring
   * was read from its snapshot, {@link RingChange#REMEMBERED_MAX} at most.
   */
  public List<RingChange> changes() {
    return changes;
  }

  public static boolean isBuckets(long buckets) {
    return buckets >= BUCKETS_MIN && buckets <= BUCKETS_MAX && Long.bitCount(buckets) == 1;
  }

  public int service() {
    return service;
  }

  public long generation() {
    return generation;
  }

  /** Unix seconds at which this generation was committed. */
  public long committed() {
    return committed;
  }

  /** Windows that were over by then are closed; 0: a hold, so that none is closed by time. */
  public long closedUntil() {
    return closedUntil;
  }

  public int buckets() {
    return current.length;
  }

  public int current(int bucket) {
    return current[bucket];
  }

  /** The former owners of the bucket. */
  public History history(int bucket) {
    return histories[bucket];
  }

  /** The newest former owner of the bucket, 0 if it has none. */
  public int previous(int bucket) {
    History history = histories[bucket];
    return history.size() == 0 ? Backend.NONE : history.owner(0);
  }

  /** Unix seconds at which that one left the bucket, 0 if there is none. */
  public long since(int bucket) {
    History history = histories[bucket];
    return history.size() == 0 ? 0 : history.since(0);
  }

  /**
   * Whether packets of the bucket are still chained to its newest former owner at the second {@code
   * now}.
   */
  public boolean isMoved(int bucket, long now, int windowSeconds) {
    return histories[bucket].isOpen(now, windowSeconds);
  }

  /** All backends that this ring names, by id, including removed ones. */
  public SortedMap<Integer, Backend> backends() {
    return backends;
  }

  /**
   * The backends that a snapshot lists: those in service, and removed ones that a history still
   * names, to which packets may still be chained.
   */
  public List<Backend> listedBackends() {
    boolean[] isNamed = new boolean[Backend.MAX + 1];
    History last = History.NONE;
    for (History history : histories) {
      for (int i = 0; history != last && i < history.size(); i++) {
        isNamed[history.owner(i)] = true;
      }
      last = history;
    }
    return backends.values().stream()
        .filter(backend -> !backend.removed() || isNamed[backend.id()])
        .toList();
  }

  public boolean hasHistoriesOf(Ring other) {
    return Arrays.equals(histories, other.histories);
  }

  /** One more than the highest id that this ring names: arrays by id of a small pool stay small. */
  public int ids() {
    return ids(backends);
  }

  static int ids(SortedMap<Integer, Backend> backends) {
    return backends.isEmpty() ? 1 : backends.lastKey() + 1;
  }

  /** The number of buckets of each id; index 0 counts those without an owner. */
  public int[] owned() {
    return owned(Backend.MAX + 1);
  }

  /**
   * As above.
   *
   * @param ids at least {@link #ids}
   */
  public int[] owned(int ids) {
    int[] owned = new int[ids];
    for (char owner : current) {
      owned[owner]++;
    }
    return owned;
  }

  /** The sum by which a delta names the ring that it changes (protocol/README.md §5). */
  long sum() {
    if (sum == null) {
      sum = RingSum.of(this);
    }
    return sum;
  }

  /**
   * The next generation; this one is unchanged.
   *
   * @throws RefusedException if the delta does not follow this ring, assigns a bucket to a backend
   *     that is not in service, or leaves one with too many former owners
   */
  public Ring apply(Delta delta) throws RefusedException {
    if (delta.service() != service) {
      throw new RefusedException(
          Reason.SERVICE, "%d, expected %d".formatted(delta.service(), service));
    }
    if (delta.generation() != generation + 1) {
      throw new RefusedException(
          Reason.GENERATION, "%d after %d".formatted(delta.generation(), generation));
    }
    if (delta.buckets() != buckets()) {
      throw new RefusedException(
          Reason.BUCKETS, "%d, expected %d".formatted(delta.buckets(), buckets()));
    }
    SortedMap<Integer, Backend> nextBackends = merge(delta.backends());
    Fold fold = new Fold(this, delta, nextBackends);
    Ring next =
        new Ring(
            service,
            delta.generation(),
            delta.committed(),
            delta.closedUntil(),
            nextBackends,
            fold.current,
            fold.histories,
            changesAfter(delta, ids(nextBackends)));
    next.sum = fold.sum();
    return next;
  }

  private List<RingChange> changesAfter(Delta delta, int ids) {
    List<RingChange> after = new ArrayList<>(changes);
    after.add(RingChange.of(this, delta, ids));
    return after.subList(Math.max(0, after.size() - RingChange.REMEMBERED_MAX), after.size());
  }

  /**
   * As if the {@code dead} had never owned a bucket: those of theirs have no owner. No generation
   * of a service, only what an assignment starts from.
   */
  public Ring without(Set<Integer> dead) {
    if (dead.isEmpty()) {
      return this;
    }
    boolean[] isDead = new boolean[Backend.MAX + 1];
    dead.forEach(id -> isDead[id] = true);
    char[] owners = current.clone();
    History[] formers = histories.clone();
    for (int bucket = 0; bucket < owners.length; bucket++) {
      owners[bucket] = isDead[owners[bucket]] ? Backend.NONE : owners[bucket];
      formers[bucket] = formers[bucket].without(isDead);
    }
    return new Ring(
        service, generation, committed, closedUntil, backends, owners, formers, changes);
  }

  /** The same ring with other owners; what an assignment starts from. */
  public Ring withOwners(char[] owners) {
    return new Ring(
        service, generation, committed, closedUntil, backends, owners, histories, changes);
  }

  /**
   * What a delta with these moves has to release, as histories would be too long otherwise: the
   * oldest owner of each full one.
   *
   * @param most owners that a history may have
   * @param dead backends that leave all histories by it
   * @param closed until when histories close by it
   */
  public Runs overflow(Runs moves, int most, Set<Integer> dead, long closed) {
    Runs.Builder releases = new Runs.Builder();
    for (int run = 0; run < moves.size(); run++) {
      int next = moves.owner(run);
      for (int bucket = moves.start(run); bucket < moves.end(run); bucket++) {
        int owner = current[bucket];
        if (histories[bucket].size() >= most
            && owner != next
            && owner != Backend.NONE
            && !dead.contains(owner)) {
          History left = histories[bucket].after(closed).without(next);
          for (int id : dead) {
            left = left.without(id);
          }
          if (left.size() >= most) {
            releases.add(bucket, 1, left.owner(left.size() - 1));
          }
        }
      }
    }
    return releases.build();
  }

  private SortedMap<Integer, Backend> merge(Collection<Backend> changed) {
    if (changed.isEmpty()) {
      return backends;
    }
    SortedMap<Integer, Backend> merged = new TreeMap<>(backends);
    changed.forEach(backend -> merged.put(backend.id(), backend));
    return merged;
  }

  /** Equal when their snapshots are: unnamed removed backends don't count. */
  @Override
  public boolean equals(Object other) {
    return other instanceof Ring ring
        && service == ring.service
        && generation == ring.generation
        && committed == ring.committed
        && closedUntil == ring.closedUntil
        && Arrays.equals(current, ring.current)
        && Arrays.equals(histories, ring.histories)
        && listedBackends().equals(ring.listedBackends());
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(current) * 31 + Long.hashCode(generation);
  }

  @Override
  public String toString() {
    return "ring of service %d, generation %d, %d buckets, %d backends"
        .formatted(service, generation, buckets(), backends.size());
  }
}
