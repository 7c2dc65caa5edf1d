// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import com.google.common.math.LongMath;
import com.google.common.primitives.Ints;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.steering.FlowHash;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.words.Affinity;
import java.util.Arrays;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The connections of a service that a recording has, each once: a hash table in columns, 37 bytes a
 * slot and at most 10 million connections. Connections are told apart by 64 bits of their hash: two
 * of 10 million are taken for one with a probability of 3 in a million.
 */
public final class FlowTable implements FlowRecord.Sink {
  /** Unix milliseconds of the year 2100. */
  static final long TIME_MAX = 4_102_444_800_000L;

  static final String TIMES = "from 1970 to 2100";

  /** Connections that a table takes. */
  public static final int MOST = 10_000_000;

  private static final byte[] KEY = new byte[16];
  private static final int SLOT_BYTES = 37;
  private static final int MEMORY_PERCENT = 85;
  private static final byte UDP = 1;
  private static final byte ENDED = 2;
  private static final byte BEGUN = 4;

  private final ServiceConfig config;
  private final Set<Address> vips;
  private final int most;
  private long[] keys;
  private long[] starts;
  private long[] ends;
  private int[] firsts;
  private int[] seconds;
  private int[] packets;
  private byte[] flags;
  private int size;
  private long records;
  private long others;
  private long otherBuckets;
  private long last;

  /** More connections than the table takes, or than there is memory for. */
  public static final class FullException extends RuntimeException {
    FullException(int size, String allowed) {
      super("it has more than %d connections of the service; allowed: %s".formatted(size, allowed));
    }
  }

  public FlowTable(ServiceConfig config) {
    this(config, MOST);
  }

  FlowTable(ServiceConfig config, int most) {
    this.config = config;
    vips =
        config.vips().stream()
            .map(vip -> Address.parse(vip).orElseThrow())
            .collect(Collectors.toUnmodifiableSet());
    this.most = most;
    allocate(1 << 12);
  }

  private void allocate(int slots) {
    keys = new long[slots];
    starts = new long[slots];
    ends = new long[slots];
    firsts = new int[slots];
    seconds = new int[slots];
    packets = new int[slots];
    flags = new byte[slots];
  }

  /** Connections. */
  public int size() {
    return size;
  }

  /** Records that were taken. */
  public long records() {
    return records;
  }

  /** Records of other destinations. */
  public long others() {
    return others;
  }

  /** Records with another bucket than the service's hash gives: its key has changed since. */
  public long otherBuckets() {
    return otherBuckets;
  }

  /** Unix milliseconds of the last packet of all. */
  public long last() {
    return last;
  }

  @Override
  public void take(FlowRecord flow) {
    ServiceConfig.Port port =
        new ServiceConfig.Port(
            flow.protocol() == FlowRecord.TCP ? "tcp" : "udp", flow.destinationPort());
    if (!config.ports().contains(port) || !vips.contains(flow.destination())) {
      others++;
      return;
    }
    records++;
    last = Math.max(last, flow.end());
    int first = flow.bucket();
    int second = flow.second();
    if (config.steering() != SteeringMethod.OTHELLO) {
      long wide = FlowHash.wide(config.hash(), config.hashKey(), key(config.affinity(), flow));
      int mask = config.buckets() - 1;
      first = (int) wide & mask;
      boolean hasTwo = config.hasTwoBuckets() && flow.protocol() == FlowRecord.TCP;
      second = hasTwo ? (int) (wide >>> 32) & mask : FlowRecord.NONE;
      otherBuckets += flow.bucket() != FlowRecord.NONE && flow.bucket() != first ? 1 : 0;
    } else if (first >= config.buckets() || second >= config.buckets()) {
      otherBuckets++;
      first = FlowRecord.NONE;
      second = FlowRecord.NONE;
    }
    put(FlowHash.sipHash(KEY, key(Affinity.CONNECTION, flow)), flow, first, second);
  }

  private static byte[] key(Affinity affinity, FlowRecord flow) {
    return FlowHash.key(
        affinity,
        flow.source(),
        flow.sourcePort(),
        flow.destination(),
        flow.destinationPort(),
        flow.protocol());
  }

  private void put(long hash, FlowRecord flow, int first, int second) {
    long key = hash == 0 ? 1 : hash;
    int slot = slot(key);
    if (keys[slot] == 0) {
      if (size == most) {
        throw new FullException(size, "a shorter recording");
      }
      size++;
      keys[slot] = key;
      starts[slot] = flow.start();
      ends[slot] = flow.end();
      flags[slot] = flow.protocol() == FlowRecord.UDP ? UDP : 0;
    }
    starts[slot] = Math.min(starts[slot], flow.start());
    ends[slot] = Math.max(ends[slot], flow.end());
    // the newest arrays that were seen
    firsts[slot] = first;
    seconds[slot] = second;
    packets[slot] = Ints.saturatedCast(LongMath.saturatedAdd(packets[slot], flow.packets()));
    if (flow.begun()) {
      flags[slot] |= BEGUN;
    }
    if (flow.ended()) {
      flags[slot] |= ENDED;
    }
    if (size > keys.length / 4 * 3) {
      grow();
    }
  }

  private int slot(long key) {
    int mask = keys.length - 1;
    int slot = (int) (key ^ key >>> 32) & mask;
    while (keys[slot] != 0 && keys[slot] != key) {
      slot = slot + 1 & mask;
    }
    return slot;
  }

  private void grow() {
    long needed = 3L * keys.length * SLOT_BYTES; // both tables, while one is copied into the other
    if (needed > Runtime.getRuntime().maxMemory() / 100 * MEMORY_PERCENT) {
      throw new FullException(
          size,
          "a shorter recording, or more memory; JAVA_OPTS=-Xmx1500m has room for %d"
              .formatted(MOST));
    }
    FlowTable old = new FlowTable(config, most);
    old.keys = keys;
    old.starts = starts;
    old.ends = ends;
    old.firsts = firsts;
    old.seconds = seconds;
    old.packets = packets;
    old.flags = flags;
    allocate(2 * old.keys.length);
    for (int from = 0; from < old.keys.length; from++) {
      if (old.keys[from] != 0) {
        int slot = slot(old.keys[from]);
        keys[slot] = old.keys[from];
        starts[slot] = old.starts[from];
        ends[slot] = old.ends[from];
        firsts[slot] = old.firsts[from];
        seconds[slot] = old.seconds[from];
        packets[slot] = old.packets[from];
        flags[slot] = old.flags[from];
      }
    }
  }

  /**
   * A connection.
   *
   * @param begun whether its beginning was seen; else it is older than {@code start}
   * @param ended whether its end was seen
   * @param first its bucket, {@link FlowRecord#NONE} if it is not known
   * @param second its other bucket, {@link FlowRecord#NONE} without one
   */
  record Connection(
      long start,
      long end,
      boolean begun,
      boolean ended,
      boolean isUdp,
      int first,
      int second,
      int packets) {}

  void forEach(Consumer<Connection> visitor) {
    for (int slot = 0; slot < keys.length; slot++) {
      if (keys[slot] != 0) {
        visitor.accept(
            new Connection(
                starts[slot],
                ends[slot],
                (flags[slot] & BEGUN) != 0,
                (flags[slot] & ENDED) != 0,
                (flags[slot] & UDP) != 0,
                firsts[slot],
                seconds[slot],
                packets[slot]));
      }
    }
  }

  @Override
  public String toString() {
    return "%d connections of '%s' in %d slots, %s"
        .formatted(size, config.name(), keys.length, Arrays.toString(new long[] {records, others}));
  }
}
