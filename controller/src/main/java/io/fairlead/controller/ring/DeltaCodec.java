// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import io.fairlead.controller.ring.RefusedException.Reason;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Encodes and decodes deltas and snapshots (protocol/README.md §5). Bytes that do not decode
 * exactly are refused with a named reason and never yield a ring.
 */
public final class DeltaCodec {
  private static final String DELTA = "FLD2";
  private static final String SNAPSHOT = "FLS2";
  private static final int BACKEND = 22;
  private static final int RUN = 12;
  private static final int OWNER_RUN = 14;
  private static final int DELTA_MIN = 16;
  private static final int BUCKET = 8;
  private static final int REMOVED = 1;
  private static final int BY_NUMBER = 0;
  private static final int BY_OWNER = 1;

  private DeltaCodec() {}

  /** Orders the runs as is better for readers. */
  public static byte[] encode(Delta delta, Ring base) {
    return encode(delta, OwnerRuns.ifSmaller(base, delta.runs()));
  }

  /** By owner if such runs are given, otherwise by number. */
  static byte[] encode(Delta delta, Optional<OwnerRuns> byOwner) {
    int size = byOwner.map(runs -> runs.size).orElse(delta.runs().size());
    ByteBuffer body =
        Frame.allocate(
            DELTA_MIN
                + (long) BACKEND * delta.backends().size()
                + (long) (byOwner.isPresent() ? OWNER_RUN : RUN) * size);
    body.putInt((int) delta.committed());
    putBackends(body, delta.backends());
    body.putInt(size).putInt(byOwner.isPresent() ? BY_OWNER : BY_NUMBER);
    byOwner.ifPresentOrElse(runs -> put(body, runs), () -> put(body, delta.runs()));
    return Frame.frame(header(DELTA, delta.service(), delta.generation(), delta.buckets()), body);
  }

  public static byte[] encode(Ring ring) {
    List<Backend> backends = ring.listedBackends();
    ByteBuffer body =
        Frame.allocate(4 + 4 + BACKEND * backends.size() + (long) BUCKET * ring.buckets());
    body.putInt((int) ring.committed());
    putBackends(body, backends);
    body.asCharBuffer().put(ring.current);
    body.position(body.position() + 2 * ring.buckets());
    body.asCharBuffer().put(ring.previous);
    body.position(body.position() + 2 * ring.buckets());
    body.asIntBuffer().put(ring.since);
    return Frame.frame(header(SNAPSHOT, ring.service(), ring.generation(), ring.buckets()), body);
  }

  /** The delta in {@code bytes}, which must follow {@code base}. */
  public static Delta decodeDelta(byte[] bytes, Ring base) throws RefusedException {
    long generation = base.generation() + 1;
    ByteBuffer body = unframe(bytes, DELTA, base.service(), generation, base.buckets());
    long runsAt = 4 + listLength(body, 4, BACKEND);
    Frame.checkLength(body, runsAt + 8 <= body.limit() ? body.limit() : -1);
    int order = body.getInt((int) runsAt + 4);
    if (order != BY_NUMBER && order != BY_OWNER) {
      throw new RefusedException(
          Reason.RUN, "order %s; allowed: 0 or 1".formatted(Integer.toUnsignedString(order)));
    }
    int entry = order == BY_OWNER ? OWNER_RUN : RUN;
    Frame.checkLength(body, runsAt + 4 + listLength(body, (int) runsAt, entry));
    long committed = Integer.toUnsignedLong(body.getInt());
    List<Backend> backends = List.copyOf(getBackends(body).values());
    Runs runs =
        order == BY_OWNER ? getOwnerRuns(body, base).byNumber(base) : getRuns(body, base.buckets());
    return new Delta(base.service(), generation, base.buckets(), committed, backends, runs);
  }

  /** The ring in {@code bytes}, which must be a snapshot of {@code generation} of that service. */
  public static Ring decodeSnapshot(byte[] bytes, int service, long generation, int buckets)
      throws RefusedException {
    ByteBuffer body = unframe(bytes, SNAPSHOT, service, generation, buckets);
    Frame.checkLength(body, 4 + listLength(body, 4, BACKEND) + (long) BUCKET * buckets);
    long committed = Integer.toUnsignedLong(body.getInt());
    SortedMap<Integer, Backend> backends = getBackends(body);
    char[] current = new char[buckets];
    char[] previous = new char[buckets];
    int[] since = new int[buckets];
    body.asCharBuffer().get(current);
    body.position(body.position() + 2 * buckets);
    body.asCharBuffer().get(previous);
    body.position(body.position() + 2 * buckets);
    body.asIntBuffer().get(since);
    Ring ring = new Ring(service, generation, committed, backends, current, previous, since);
    ring.checkOwners();
    return ring;
  }

  private static Frame.Header header(String magic, int service, long generation, int buckets) {
    long base = magic.equals(DELTA) ? generation - 1 : 0;
    return new Frame.Header(magic, service, generation, base, buckets);
  }

  private static ByteBuffer unframe(
      byte[] bytes, String magic, int service, long generation, int buckets)
      throws RefusedException {
    boolean isDelta = magic.equals(DELTA);
    long least = isDelta ? DELTA_MIN : 8L + (long) BUCKET * buckets;
    long lists = (long) BACKEND * Backend.MAX + (isDelta ? (long) OWNER_RUN * buckets : 0);
    return Frame.unframe(
        bytes,
        header(magic, service, generation, buckets),
        new Frame.Lengths(least, least + lists));
  }

  private static void putBackends(ByteBuffer body, Collection<Backend> backends) {
    body.putInt(backends.size());
    for (Backend backend : backends) {
      body.putChar((char) backend.id()).putChar((char) (backend.removed() ? REMOVED : 0));
      body.putChar((char) backend.weight());
      backend.address().put(body);
    }
  }

  private static SortedMap<Integer, Backend> getBackends(ByteBuffer body) throws RefusedException {
    long n = Integer.toUnsignedLong(body.getInt());
    SortedMap<Integer, Backend> backends = new TreeMap<>();
    int last = Backend.NONE;
    for (long i = 0; i < n; i++) {
      int id = body.getChar();
      int flags = body.getChar();
      int weight = body.getChar();
      Address address = Address.get(body);
      if (id <= last || (flags & ~REMOVED) != 0 || address.isNone()) {
        throw new RefusedException(
            Reason.BACKEND, "id %d after %d, flags %#x, %s".formatted(id, last, flags, address));
      }
      backends.put(id, new Backend(id, address, weight, (flags & REMOVED) != 0));
      last = id;
    }
    return backends;
  }

  private static void put(ByteBuffer body, Runs runs) {
    int end = 0;
    for (int run = 0; run < runs.size(); run++) {
      body.putInt(runs.start(run) - end);
      end = runs.start(run) + runs.count(run);
    }
    for (int run = 0; run < runs.size(); run++) {
      body.putInt(runs.count(run));
    }
    for (int run = 0; run < runs.size(); run++) {
      body.putChar((char) runs.current(run));
    }
    for (int run = 0; run < runs.size(); run++) {
      body.putChar((char) runs.previous(run));
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
    for (char[] column : new char[][] {runs.currents, runs.previouses, runs.owners}) {
      for (char value : column) {
        body.putChar(value);
      }
    }
  }

  private static Runs getRuns(ByteBuffer body, int buckets) throws RefusedException {
    int n = body.getInt();
    int columns = body.position() + 4;
    Runs.Builder runs = new Runs.Builder();
    long end = 0;
    for (int run = 0; run < n; run++) {
      long start = end + Integer.toUnsignedLong(body.getInt(columns + 4 * run));
      long count = Integer.toUnsignedLong(body.getInt(columns + 4 * (n + run)));
      checkRun(start, count, buckets);
      runs.addSeparately(
          (int) start,
          (int) count,
          body.getChar(columns + 8 * n + 2 * run),
          body.getChar(columns + 10 * n + 2 * run));
      end = start + count;
    }
    return runs.build();
  }

  private static OwnerRuns getOwnerRuns(ByteBuffer body, Ring base) throws RefusedException {
    int n = body.getInt();
    int columns = body.position() + 4;
    OwnerRuns runs = new OwnerRuns(n);
    long end = 0;
    for (int run = 0; run < n; run++) {
      char owner = body.getChar(columns + 12 * n + 2 * run);
      end = run > 0 && owner == runs.owners[run - 1] ? end : 0;
      long start = end + Integer.toUnsignedLong(body.getInt(columns + 4 * run));
      long count = Integer.toUnsignedLong(body.getInt(columns + 4 * (n + run)));
      checkRun(start, count, base.buckets());
      runs.set(
          run,
          (int) start,
          (int) count,
          body.getChar(columns + 8 * n + 2 * run),
          body.getChar(columns + 10 * n + 2 * run),
          owner);
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
  private static long listLength(ByteBuffer body, int at, int entry) {
    return 4 + Integer.toUnsignedLong(body.getInt(at)) * entry;
  }
}
