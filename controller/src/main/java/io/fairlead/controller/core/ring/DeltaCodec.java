// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import io.fairlead.controller.core.ring.RefusedException.Reason;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Encodes and decodes deltas (protocol/README.md §5), and snapshots by {@link SnapshotBody}. Bytes
 * that do not decode exactly are refused with a named reason and never yield a ring.
 */
public final class DeltaCodec {
  static final int BACKEND = 22;
  private static final String DELTA = "FLD3";
  private static final String SNAPSHOT = "FLS3";
  private static final int RUN = 10;
  private static final int OWNER_RUN = 12;
  private static final int BACKENDS_AT = 16;
  private static final int DELTA_MIN = 32;
  private static final int REMOVED = 1;
  private static final int DEAD = 2;
  private static final int FOREIGN = 4;
  private static final int BY_NUMBER = 0;
  private static final int BY_OWNER = 1;

  private DeltaCodec() {}

  /** Orders the moves as is better for readers. */
  public static byte[] encode(Delta delta, Ring base) {
    return encode(delta, base, OwnerRuns.ifSmaller(base, delta.moves()));
  }

  /** By owner if such moves are given, otherwise by number. */
  static byte[] encode(Delta delta, Ring base, Optional<OwnerRuns> byOwner) {
    int size = byOwner.map(runs -> runs.size).orElse(delta.moves().size());
    ByteBuffer body =
        Frame.allocate(
            DELTA_MIN
                + (long) BACKEND * delta.backends().size()
                + (long) (byOwner.isPresent() ? OWNER_RUN : RUN) * size
                + (long) RUN * delta.releases().size());
    body.putInt((int) delta.committed()).putInt((int) delta.closedUntil()).putLong(base.sum());
    putBackends(body, delta.backends());
    body.putInt(size).putInt(byOwner.isPresent() ? BY_OWNER : BY_NUMBER);
    byOwner.ifPresentOrElse(runs -> put(body, runs), () -> put(body, delta.moves()));
    body.putInt(delta.releases().size());
    put(body, delta.releases());
    return Frame.frame(header(DELTA, delta.service(), delta.generation(), delta.buckets()), body);
  }

  public static byte[] encode(Ring ring) {
    return Frame.frame(
        header(SNAPSHOT, ring.service(), ring.generation(), ring.buckets()),
        SnapshotBody.encode(ring));
  }

  /** The delta in {@code bytes}, which must follow {@code base}. */
  public static Delta decodeDelta(byte[] bytes, Ring base) throws RefusedException {
    long generation = base.generation() + 1;
    int buckets = base.buckets();
    long most = DELTA_MIN + (long) BACKEND * Backend.MAX + (long) (OWNER_RUN + RUN) * buckets;
    ByteBuffer body =
        Frame.unframe(
            bytes,
            header(DELTA, base.service(), generation, buckets),
            new Frame.Lengths(DELTA_MIN, most));
    long movesAt = BACKENDS_AT + listLength(body, BACKENDS_AT, BACKEND);
    Frame.checkLeast(body, movesAt + 8);
    int order = body.getInt((int) movesAt + 4);
    if (order != BY_NUMBER && order != BY_OWNER) {
      throw new RefusedException(
          Reason.RUN, "order %s; allowed: 0 or 1".formatted(Integer.toUnsignedString(order)));
    }
    int entry = order == BY_OWNER ? OWNER_RUN : RUN;
    long releasesAt = movesAt + 4 + listLength(body, (int) movesAt, entry);
    Frame.checkLeast(body, releasesAt + 4);
    Frame.checkLength(body, releasesAt + listLength(body, (int) releasesAt, RUN));
    long committed = Integer.toUnsignedLong(body.getInt());
    long closedUntil = Integer.toUnsignedLong(body.getInt());
    checkSum(base.sum(), body.getLong());
    List<Backend> backends = List.copyOf(getBackends(body, REMOVED | DEAD | FOREIGN).values());
    Runs moves =
        order == BY_OWNER
            ? getOwnerRuns(body, (int) movesAt, base).byNumber(base)
            : getRuns(body, (int) movesAt + 8, body.getInt((int) movesAt), buckets);
    Runs releases = getRuns(body, (int) releasesAt + 4, body.getInt((int) releasesAt), buckets);
    return new Delta(
        base.service(), generation, buckets, committed, closedUntil, backends, moves, releases);
  }

  /** The ring in {@code bytes}, which must be a snapshot of {@code generation} of that service. */
  public static Ring decodeSnapshot(byte[] bytes, int service, long generation, int buckets)
      throws RefusedException {
    Frame.Header header = header(SNAPSHOT, service, generation, buckets);
    return SnapshotBody.decode(Frame.unframe(bytes, header, SnapshotBody.lengths(buckets)), header);
  }

  private static Frame.Header header(String magic, int service, long generation, int buckets) {
    long base = magic.equals(DELTA) ? generation - 1 : 0;
    return new Frame.Header(magic, service, generation, base, buckets);
  }

  static void checkSum(long is, long said) throws RefusedException {
    if (is != said) {
      throw new RefusedException(Reason.BASE, "sum %016x, expected %016x".formatted(is, said));
    }
  }

  static void putBackends(ByteBuffer body, Collection<Backend> backends) {
    body.putInt(backends.size());
    for (Backend backend : backends) {
      int flags =
          (backend.removed() ? REMOVED : 0)
              | (backend.dead() ? DEAD : 0)
              | (backend.foreign() ? FOREIGN : 0);
      body.putChar((char) backend.id()).putChar((char) flags).putChar((char) backend.weight());
      backend.address().put(body);
    }
  }

  /** Those of a snapshot, in which none is dead. */
  static SortedMap<Integer, Backend> getBackends(ByteBuffer body) throws RefusedException {
    return getBackends(body, REMOVED | FOREIGN);
  }

  private static SortedMap<Integer, Backend> getBackends(ByteBuffer body, int known)
      throws RefusedException {
    long n = Integer.toUnsignedLong(body.getInt());
    SortedMap<Integer, Backend> backends = new TreeMap<>();
    int last = Backend.NONE;
    for (long i = 0; i < n; i++) {
      int id = body.getChar();
      int flags = body.getChar();
      int weight = body.getChar();
      Address address = Address.get(body);
      if (id <= last
          || (flags & ~known) != 0
          || (flags & (REMOVED | DEAD)) == DEAD
          || address.isNone()) {
        throw new RefusedException(
            Reason.BACKEND, "id %d after %d, flags %#x, %s".formatted(id, last, flags, address));
      }
      backends.put(
          id,
          new Backend(
              id,
              address,
              weight,
              (flags & REMOVED) != 0,
              (flags & DEAD) != 0,
              (flags & FOREIGN) != 0));
      last = id;
    }
    return backends;
  }

  private static void put(ByteBuffer body, Runs runs) {
    int end = 0;
    for (int run = 0; run < runs.size(); run++) {
      body.putInt(runs.start(run) - end);
      end = runs.end(run);
    }
    for (int run = 0; run < runs.size(); run++) {
      body.putInt(runs.count(run));
    }
    for (int run = 0; run < runs.size(); run++) {
      body.putChar((char) runs.owner(run));
    }
  }

  private static void put(ByteBuffer body, OwnerRuns runs) {
    int end = 0;
    for (int run = 0; run < runs.size; run++) {
      end = run > 0 && runs.owners[run] == runs.owners[run - 1] ? end : 0;
      body.putInt(runs.starts[run] - end);
      end = runs.starts[run] + runs.counts[run];
    }
    for (int count : runs.counts) {
      body.putInt(count);
    }
    for (char[] column : new char[][] {runs.currents, runs.owners}) {
      for (char value : column) {
        body.putChar(value);
      }
    }
  }

  private static Runs getRuns(ByteBuffer body, int columns, int n, int buckets)
      throws RefusedException {
    Runs.Builder runs = new Runs.Builder();
    long end = 0;
    for (int run = 0; run < n; run++) {
      long start = end + Integer.toUnsignedLong(body.getInt(columns + 4 * run));
      long count = Integer.toUnsignedLong(body.getInt(columns + 4 * (n + run)));
      checkRun(start, count, buckets);
      runs.addSeparately((int) start, (int) count, body.getChar(columns + 8 * n + 2 * run));
      end = start + count;
    }
    return runs.build();
  }

  private static OwnerRuns getOwnerRuns(ByteBuffer body, int at, Ring base)
      throws RefusedException {
    int n = body.getInt(at);
    int columns = at + 8;
    OwnerRuns runs = new OwnerRuns(n);
    long end = 0;
    for (int run = 0; run < n; run++) {
      char owner = body.getChar(columns + 10 * n + 2 * run);
      end = run > 0 && owner == runs.owners[run - 1] ? end : 0;
      long start = end + Integer.toUnsignedLong(body.getInt(columns + 4 * run));
      long count = Integer.toUnsignedLong(body.getInt(columns + 4 * (n + run)));
      checkRun(start, count, base.buckets());
      runs.set(run, (int) start, (int) count, body.getChar(columns + 8 * n + 2 * run), owner);
      end = start + count;
    }
    return runs;
  }

  private static void checkRun(long start, long count, int buckets) throws RefusedException {
    if (count == 0 || start + count > buckets) {
      throw new RefusedException(
          Reason.RUN, "buckets %d+%d of %d".formatted(start, count, buckets));
    }
  }

  /** Size in bytes of the list whose count is at {@code at}, including the count. */
  static long listLength(ByteBuffer body, int at, int entry) {
    return 4 + Integer.toUnsignedLong(body.getInt(at)) * entry;
  }
}
