// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import io.fairlead.controller.core.ring.RefusedException.Reason;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;

/**
 * What a snapshot has behind its header (protocol/README.md §5): backends, the owner of each
 * bucket, the distinct histories in the order in which buckets name them first, and each bucket's
 * number among these.
 */
final class SnapshotBody {
  private static final int LEAST = 28;
  private static final int BACKENDS_AT = 16;

  /** Its owner, and the number of its history. */
  private static final int BUCKET = 6;

  private static final int ENTRY = 6;

  private SnapshotBody() {}

  static Frame.Lengths lengths(int buckets) {
    long least = LEAST + (long) BUCKET * buckets;
    long lists = (long) DeltaCodec.BACKEND * Backend.MAX;
    return new Frame.Lengths(least, least + lists + (1L + ENTRY * History.most(false)) * buckets);
  }

  static ByteBuffer encode(Ring ring) {
    int[] index = new int[ring.buckets()];
    History[] distinct = number(ring, index);
    int entries = 0;
    for (History history : distinct) {
      entries += history.size();
    }
    List<Backend> backends = ring.listedBackends();
    ByteBuffer body =
        Frame.allocate(
            LEAST
                + (long) DeltaCodec.BACKEND * backends.size()
                + (long) BUCKET * ring.buckets()
                + distinct.length
                + (long) ENTRY * entries);
    body.putInt((int) ring.committed()).putInt((int) ring.closedUntil()).putLong(ring.sum());
    DeltaCodec.putBackends(body, backends);
    body.asCharBuffer().put(ring.current);
    body.position(body.position() + 2 * ring.buckets());
    body.putInt(distinct.length).putInt(entries);
    for (History history : distinct) {
      body.put((byte) history.size());
    }
    for (History history : distinct) {
      for (int i = 0; i < history.size(); i++) {
        body.putChar((char) history.owner(i));
      }
    }
    for (History history : distinct) {
      for (int i = 0; i < history.size(); i++) {
        body.putInt((int) history.since(i));
      }
    }
    body.asIntBuffer().put(index);
    return body;
  }

  /** The distinct ones; {@code index} gets each bucket's number, 0 for none. */
  private static History[] number(Ring ring, int[] index) {
    Map<History, Integer> numbers = new HashMap<>();
    History last = History.NONE;
    int number = 0;
    for (int bucket = 0; bucket < index.length; bucket++) {
      History history = ring.history(bucket);
      if (history != last) {
        last = history;
        number =
            history.size() == 0 ? 0 : numbers.computeIfAbsent(history, first -> numbers.size() + 1);
      }
      index[bucket] = number;
    }
    History[] distinct = new History[numbers.size()];
    numbers.forEach((history, at) -> distinct[at - 1] = history);
    return distinct;
  }

  static Ring decode(ByteBuffer body, Frame.Header header) throws RefusedException {
    int buckets = header.buckets();
    long historiesAt =
        BACKENDS_AT + DeltaCodec.listLength(body, BACKENDS_AT, DeltaCodec.BACKEND) + 2L * buckets;
    Frame.checkLeast(body, historiesAt + 8);
    long n = Integer.toUnsignedLong(body.getInt((int) historiesAt));
    long entries = Integer.toUnsignedLong(body.getInt((int) historiesAt + 4));
    Frame.checkLength(body, historiesAt + 8 + n + ENTRY * entries + 4L * buckets);
    long committed = Integer.toUnsignedLong(body.getInt());
    long closedUntil = Integer.toUnsignedLong(body.getInt());
    long sum = body.getLong();
    SortedMap<Integer, Backend> backends = DeltaCodec.getBackends(body);
    char[] current = new char[buckets];
    body.asCharBuffer().get(current);
    body.position((int) historiesAt + 8);
    History[] distinct = histories(body, (int) n, (int) entries, backends);
    Ring ring =
        new Ring(
            header.service(),
            header.generation(),
            committed,
            closedUntil,
            backends,
            current,
            named(body, current, distinct, backends),
            List.of());
    DeltaCodec.checkSum(ring.sum(), sum);
    return ring;
  }

  private static History[] histories(
      ByteBuffer body, int n, int entries, SortedMap<Integer, Backend> backends)
      throws RefusedException {
    History[] distinct = new History[n];
    int ownersAt = body.position() + n;
    int sincesAt = ownersAt + 2 * entries;
    Set<History> known = new HashSet<>();
    int at = 0;
    for (int number = 0; number < n; number++) {
      int count = Byte.toUnsignedInt(body.get());
      if (count == 0 || count > History.most(false) || at + count > entries) {
        throw refused(number + 1, "%d of %d entries".formatted(count, entries - at));
      }
      char[] owners = new char[count];
      int[] sinces = new int[count];
      for (int i = 0; i < count; i++, at++) {
        owners[i] = body.getChar(ownersAt + 2 * at);
        sinces[i] = body.getInt(sincesAt + 4 * at);
      }
      distinct[number] = History.of(owners, sinces);
      for (int i = 0; i < count; i++) {
        if (!backends.containsKey((int) owners[i]) || distinct[number].indexOf(owners[i]) < i) {
          throw refused(number + 1, "owner %d is unknown or repeated".formatted((int) owners[i]));
        }
      }
      if (!known.add(distinct[number])) {
        throw refused(number + 1, "repeats another one");
      }
    }
    if (at != entries) {
      throw refused(n, "the last of %d entries is %d".formatted(entries, at));
    }
    body.position(sincesAt + 4 * entries);
    return distinct;
  }

  private static History[] named(
      ByteBuffer body, char[] current, History[] distinct, SortedMap<Integer, Backend> backends)
      throws RefusedException {
    History[] histories = new History[current.length];
    boolean[] isLive = new boolean[Backend.MAX + 1];
    isLive[Backend.NONE] = true;
    backends.values().forEach(backend -> isLive[backend.id()] = !backend.removed());
    int last = 0;
    for (int bucket = 0; bucket < current.length; bucket++) {
      int number = body.getInt();
      if (number < 0 || number > Math.min(last + 1, distinct.length)) {
        throw refused(
            last + 1,
            "bucket %d has number %s of %d"
                .formatted(bucket, Integer.toUnsignedString(number), distinct.length));
      }
      last = Math.max(last, number);
      histories[bucket] = number == 0 ? History.NONE : distinct[number - 1];
      if (!isLive[current[bucket]] || histories[bucket].indexOf(current[bucket]) >= 0) {
        throw new RefusedException(
            Reason.RUN,
            "current backend %d of bucket %d is removed, unknown, or a former owner"
                .formatted((int) current[bucket], bucket));
      }
    }
    if (last != distinct.length) {
      throw refused(last + 1, "no bucket has it");
    }
    return histories;
  }

  private static RefusedException refused(int number, String what) {
    return new RefusedException(Reason.RUN, "history %d: %s".formatted(number, what));
  }
}
