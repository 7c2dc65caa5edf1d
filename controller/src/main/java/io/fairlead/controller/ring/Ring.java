// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import io.fairlead.controller.ring.RefusedException.Reason;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * One generation of a service's ring: for every bucket its current backend, its previous backend,
 * and the second of the last move. Immutable; three primitive columns, 8 bytes per bucket, because
 * a ring has up to 8 Mi of them. {@link EarlierMoves} are beside it, as no snapshot has them.
 */
public final class Ring {
  public static final long GENERATION_MAX = 0xffff_ffffL;
  public static final int BUCKETS_MIN = 256;
  public static final int BUCKETS_MAX = 8 * 1024 * 1024;

  private final int service;
  private final long generation;
  private final long committed;
  private final SortedMap<Integer, Backend> backends;
  final char[] current;
  final char[] previous;
  final int[] since;
  private final EarlierMoves earlier;
  private final List<RingChange> changes;

  /** Without moves before the last one of each bucket. Takes ownership of the arrays. */
  Ring(
      int service,
      long generation,
      long committed,
      SortedMap<Integer, Backend> backends,
      char[] current,
      char[] previous,
      int[] since) {
    this(
        service,
        generation,
        committed,
        backends,
        current,
        previous,
        since,
        EarlierMoves.NONE,
        List.of());
  }

  /** Takes ownership of the arrays: they must not be written to afterwards. */
  Ring(
      int service,
      long generation,
      long committed,
      SortedMap<Integer, Backend> backends,
      char[] current,
      char[] previous,
      int[] since,
      EarlierMoves earlier,
      List<RingChange> changes) {
    if (!isBuckets(current.length)
        || previous.length != current.length
        || since.length != current.length) {
      throw new IllegalArgumentException(
          "columns of %d, %d and %d buckets; allowed: a power of two in 256..8388608"
              .formatted(current.length, previous.length, since.length));
    }
    this.service = service;
    this.generation = generation;
    this.committed = committed;
    this.backends = Collections.unmodifiableSortedMap(backends);
    this.current = current;
    this.previous = previous;
    this.since = since;
    this.earlier = earlier;
    this.changes = List.copyOf(changes);
  }

  /** Generation 1: no backends, every bucket without an owner. */
  public static Ring empty(int service, int buckets, long committed) {
    return new Ring(
        service,
        1,
        committed,
        new TreeMap<>(),
        new char[buckets],
        new char[buckets],
        new int[buckets]);
  }

  /** The same buckets under another generation number, for a restored ring. */
  public Ring withGeneration(long other) {
    return new Ring(
        service, other, committed, backends, current, previous, since, earlier, List.of());
  }

  /** The same ring with what a snapshot does not have. */
  public Ring withEarlier(EarlierMoves moves) {
    return new Ring(
        service, generation, committed, backends, current, previous, since, moves, changes);
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
        service, generation, committed, backends, current, previous, since, earlier, known);
  }

  /** The moves before the last one of each bucket, as far as their windows were open. */
  public EarlierMoves earlier() {
    return earlier;
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

  public int buckets() {
    return current.length;
  }

  public int current(int bucket) {
    return current[bucket];
  }

  public int previous(int bucket) {
    return previous[bucket];
  }

  /** Unix seconds of the bucket's last move, 0 if it never moved. */
  public long since(int bucket) {
    return Integer.toUnsignedLong(since[bucket]);
  }

  /**
   * Whether packets of the bucket are still chained to its previous owner at the second {@code
   * now}.
   */
  public boolean isMoved(int bucket, long now, int windowSeconds) {
    return previous[bucket] != Backend.NONE && now < since(bucket) + windowSeconds;
  }

  /**
   * Whether a move to {@code next} returns the bucket to its previous owner within the window. If
   * there was a third owner within the window, connections of that one are no longer found
   * (protocol/README.md §3); with two backends there is none.
   */
  public boolean isReturn(int bucket, int next, long now, int windowSeconds) {
    return previous[bucket] == next
        && current[bucket] != Backend.NONE
        && isMoved(bucket, now, windowSeconds)
        && backends.size() > 2;
  }

  /** All backends that this ring names, by id, including removed ones. */
  public SortedMap<Integer, Backend> backends() {
    return backends;
  }

  /**
   * The backends that a snapshot lists: those in service, and removed ones that a bucket still
   * names.
   */
  public List<Backend> listedBackends() {
    return backends(named());
  }

  /** Those and the removed ones that earlier moves name: packets may still be chained to them. */
  public List<Backend> reachedBackends() {
    boolean[] isNamed = named();
    for (int i = 0; i < earlier.size * EarlierMoves.DEPTH; i++) {
      isNamed[earlier.owners[i]] = true;
    }
    return backends(isNamed);
  }

  private boolean[] named() {
    boolean[] isNamed = new boolean[Backend.MAX + 1];
    for (int bucket = 0; bucket < current.length; bucket++) {
      isNamed[previous[bucket]] = true;
    }
    return isNamed;
  }

  private List<Backend> backends(boolean[] isNamed) {
    return backends.values().stream()
        .filter(backend -> !backend.removed() || isNamed[backend.id()])
        .toList();
  }

  /** The number of buckets of each id; index 0 counts those without an owner. */
  public int[] owned() {
    int[] owned = new int[Backend.MAX + 1];
    for (char owner : current) {
      owned[owner]++;
    }
    return owned;
  }

  /** As {@link #apply(Delta, int)}, without moves before the last one of each bucket. */
  public Ring apply(Delta delta) throws RefusedException {
    return apply(delta, 0);
  }

  /**
   * The next generation; this one is unchanged.
   *
   * @param windowSeconds of moves before a bucket's last one, those are kept whose window is open
   * @throws RefusedException if the delta does not follow this ring or assigns a bucket to a
   *     backend that is not in service
   */
  public Ring apply(Delta delta, int windowSeconds) throws RefusedException {
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
    char[] nextCurrent = current.clone();
    char[] nextPrevious = previous.clone();
    int[] nextSince = since.clone();
    boolean[] isLive = new boolean[Backend.MAX + 1];
    boolean[] isKnown = new boolean[Backend.MAX + 1];
    mark(nextBackends, isLive, isKnown);
    Runs runs = delta.runs();
    for (int run = 0; run < runs.size(); run++) {
      checkOwners(runs.current(run), runs.previous(run), isLive, isKnown);
      int start = runs.start(run);
      int end = start + runs.count(run);
      if (start < 0 || end <= start || end > buckets()) {
        throw new RefusedException(Reason.RUN, "buckets %d..%d".formatted(start, end));
      }
      Arrays.fill(nextCurrent, start, end, (char) runs.current(run));
      Arrays.fill(nextPrevious, start, end, (char) runs.previous(run));
      Arrays.fill(nextSince, start, end, (int) delta.committed());
    }
    return new Ring(
        service,
        delta.generation(),
        delta.committed(),
        nextBackends,
        nextCurrent,
        nextPrevious,
        nextSince,
        new EarlierAfter(this, delta, windowSeconds).moves(),
        changesAfter(delta));
  }

  private List<RingChange> changesAfter(Delta delta) {
    List<RingChange> after = new ArrayList<>(changes);
    after.add(RingChange.of(this, delta));
    return after.subList(Math.max(0, after.size() - RingChange.REMEMBERED_MAX), after.size());
  }

  /**
   * As if the {@code dead} had never owned a bucket: those of their buckets have no owner, and of
   * the owners before, the latest one that lives is the previous one, while its window is open. No
   * generation of a service, only what an assignment starts from.
   */
  public Ring without(Set<Integer> dead, long now, int windowSeconds) {
    if (dead.isEmpty()) {
      return this;
    }
    char[] owners = current.clone();
    char[] formers = previous.clone();
    int[] sinces = since.clone();
    Chains chains = new Chains(this, dead, now, windowSeconds);
    for (int bucket = 0; bucket < owners.length; bucket++) {
      boolean isOwned = dead.contains((int) current[bucket]);
      if (isOwned || (previous[bucket] != Backend.NONE && dead.contains((int) previous[bucket]))) {
        owners[bucket] = isOwned ? Backend.NONE : current[bucket];
        formers[bucket] = (char) chains.previous(bucket, owners[bucket]);
        sinces[bucket] = (int) chains.left(bucket, formers[bucket]);
      }
    }
    return new Ring(
        service, generation, committed, backends, owners, formers, sinces, earlier, changes);
  }

  /** The same ring with other owners; what an assignment starts from. */
  public Ring withOwners(char[] owners) {
    return new Ring(
        service, generation, committed, backends, owners, previous, since, earlier, changes);
  }

  private SortedMap<Integer, Backend> merge(Collection<Backend> changed) {
    if (changed.isEmpty()) {
      return backends;
    }
    SortedMap<Integer, Backend> merged = new TreeMap<>(backends);
    changed.forEach(backend -> merged.put(backend.id(), backend));
    return merged;
  }

  /**
   * Refuses a ring in which the owner of a bucket is not in service, or its previous owner is
   * unknown.
   */
  void checkOwners() throws RefusedException {
    boolean[] isLive = new boolean[Backend.MAX + 1];
    boolean[] isKnown = new boolean[Backend.MAX + 1];
    mark(backends, isLive, isKnown);
    for (int bucket = 0; bucket < current.length; bucket++) {
      checkOwners(current[bucket], previous[bucket], isLive, isKnown);
    }
  }

  /** By id, including 0 for no owner: which may own buckets, and which may have owned some. */
  private static void mark(
      SortedMap<Integer, Backend> backends, boolean[] isLive, boolean[] isKnown) {
    isLive[Backend.NONE] = true;
    isKnown[Backend.NONE] = true;
    for (Backend backend : backends.values()) {
      isLive[backend.id()] = !backend.removed();
      isKnown[backend.id()] = true;
    }
  }

  private static void checkOwners(int current, int previous, boolean[] isLive, boolean[] isKnown)
      throws RefusedException {
    if (!isLive[current]) {
      throw new RefusedException(
          Reason.RUN,
          "current backend %d is %s".formatted(current, isKnown[current] ? "removed" : "unknown"));
    }
    if (!isKnown[previous]) {
      throw new RefusedException(Reason.RUN, "previous backend %d is unknown".formatted(previous));
    }
  }

  /** Equal when their snapshots are: unnamed removed backends don't count. */
  @Override
  public boolean equals(Object other) {
    return other instanceof Ring ring
        && service == ring.service
        && generation == ring.generation
        && committed == ring.committed
        && Arrays.equals(current, ring.current)
        && Arrays.equals(previous, ring.previous)
        && Arrays.equals(since, ring.since)
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
