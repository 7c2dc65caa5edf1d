// SPDX-License-Identifier: Apache-2.0
package balancers;

import io.fairlead.controller.core.words.AssignmentMethod;
import java.util.Arrays;
import java.util.Map;

/**
 * Steering {@code maat} of this project: each connection has two buckets of one ring, by the halves
 * of its hash, the same at all muxes. A SYN goes to the less loaded of both owners, other packets
 * to the first bucket's owner, unless the mux's filter has the connection. A server that does not
 * know a connection passes it on: to the bucket's owners before, then to the other bucket's owner,
 * and to those before that one. So what a mux remembers only changes the order.
 */
final class TwoBuckets implements Balancer {
  /** Eight hops at most: of more a run fails. */
  static final int HOPS = 8;

  static final int BUCKETS = 16_384;
  private final Servers servers;
  private final Buckets ring;
  private final Settings settings;
  private final Mux[] muxes;
  private final long[] delivered = new long[Scenario.SERVERS]; // at the last sum
  private final boolean[] isNoted;
  private final boolean[] hasHopped;
  private int noted;
  private int now;
  private int most;
  private double mostFill;
  private long sent;
  private long hops;
  private int mostHops;
  private long falseHits;
  private long misses;

  /** What loads are. */
  enum Unit {
    /** That the mux sent: it does not see that a server passes them on. */
    PACKETS,
    /** The same but SYNs. */
    LATER,
    /** That each server delivered, from all muxes, as agents could report. */
    DELIVERED,
    /** That were opened. */
    CONNECTIONS
  }

  /**
   * @param delta how much more loaded the first must be, in packets
   * @param part the same, as a part of the mean load; the larger of both counts
   * @param halfLife of loads, in slots; 0: they do not decay
   * @param counters of 8 bits
   * @param clear slots after which the filter is emptied; 0: never
   */
  record Settings(
      double delta, double part, int halfLife, Unit unit, int counters, int hashes, int clear) {
    static final Settings DEFAULT =
        new Settings(10_000, 0, Scenario.SECOND, Unit.PACKETS, 1 << 16, 3, 0);

    Settings withDelta(double packets) {
      return new Settings(packets, 0, halfLife, unit, counters, hashes, clear);
    }

    Settings withPart(double ofMean) {
      return new Settings(0, ofMean, halfLife, unit, counters, hashes, clear);
    }

    Settings withHalfLife(int slots) {
      return new Settings(delta, part, slots, unit, counters, hashes, clear);
    }

    Settings withCounters(int count) {
      return new Settings(delta, part, halfLife, unit, count, hashes, clear);
    }

    Settings clearedEach(int slots) {
      return new Settings(delta, part, halfLife, unit, counters, hashes, slots);
    }

    Settings counting(Unit other, double otherDelta) {
      return new Settings(otherDelta, 0, halfLife, other, counters, hashes, clear);
    }
  }

  private static final class Mux {
    final double[] load = new double[Scenario.SERVERS];
    final long[] recent = new long[Scenario.SERVERS]; // since the last sum
    final CountingFilter filter;
    double delta;
    long wrongRemovals; // of connections that were never added

    Mux(Settings settings) {
      filter = new CountingFilter(settings.counters, 8, settings.hashes);
      delta = settings.delta;
    }
  }

  TwoBuckets(Servers servers, int connections, int muxes, Settings settings) {
    this.servers = servers;
    this.settings = settings;
    ring = new Buckets(AssignmentMethod.BEAMER, BUCKETS, servers);
    isNoted = new boolean[connections];
    hasHopped = new boolean[connections];
    this.muxes = new Mux[muxes];
    Arrays.setAll(this.muxes, mux -> new Mux(settings));
  }

  private static int first(long hash) {
    return (int) hash & BUCKETS - 1;
  }

  private static int second(long hash) {
    return (int) (hash >>> 32) & BUCKETS - 1;
  }

  @Override
  public int open(int mux, int flow, long hash) {
    Mux of = muxes[mux];
    int one = ring.owner(first(hash));
    int other = ring.owner(second(hash));
    double more = of.load[one] - of.load[other];
    boolean isSecond = more > 0 && more >= of.delta;
    int server = isSecond ? other : one;
    if (isSecond) {
      isNoted[flow] = true;
      of.filter.add(hash);
      noted++;
      most = Math.max(most, ++now);
      mostFill = Math.max(mostFill, of.filter.fill());
    }
    of.recent[server] += settings.unit == Unit.PACKETS || settings.unit == Unit.CONNECTIONS ? 1 : 0;
    return server;
  }

  @Override
  public int send(int mux, int flow, long hash, int packets) {
    Mux of = muxes[mux];
    boolean isSecond = of.filter.has(hash);
    if (isSecond != isNoted[flow]) {
      falseHits += isSecond ? packets : 0;
      misses += isSecond ? 0 : packets;
      boolean isExplained = muxes.length > 1 || of.wrongRemovals > 0 || settings.clear > 0;
      if (!isSecond && !isExplained) {
        throw new IllegalStateException("the filter has lost connection " + flow);
      }
    }
    int first = isSecond ? second(hash) : first(hash);
    int other = isSecond ? first(hash) : second(hash);
    boolean isCounted = settings.unit == Unit.PACKETS || settings.unit == Unit.LATER;
    of.recent[ring.owner(first)] += isCounted ? packets : 0;
    int away = hops(first, other, servers.home(flow));
    sent += packets;
    hops += (long) away * packets;
    hasHopped[flow] |= away > 0;
    mostHops = Math.max(mostHops, away);
    return servers.home(flow);
  }

  /**
   * From the first bucket's owner to the server that knows the connection; throws if none on the
   * way does.
   */
  private int hops(int first, int other, int home) {
    int away = ring.owner(first) == home ? 0 : ring.chained(first, home);
    if (away < 0) {
      int chained = ring.chained(other, home);
      int step = ring.owner(other) == ring.owner(first) ? 0 : 1;
      away = chained < 0 ? -1 : ring.moves(first) + step + chained;
    }
    if (away < 0 || away > HOPS) {
      throw new IllegalStateException(
          "a connection of server %d is out of reach: %d".formatted(home, away));
    }
    return away;
  }

  @Override
  public void close(int mux, int flow, long hash) {
    Mux of = muxes[mux];
    if (of.filter.has(hash)) {
      of.wrongRemovals += isNoted[flow] ? 0 : 1;
      of.filter.remove(hash);
    }
    now -= isNoted[flow] ? 1 : 0;
    isNoted[flow] = false;
  }

  @Override
  public void tick(int slot) {
    double kept = settings.halfLife == 0 ? 1 : Math.pow(0.5, (double) TICK / settings.halfLife);
    for (Mux mux : muxes) {
      for (int server = 0; server < mux.load.length; server++) {
        long reported =
            settings.unit == Unit.DELIVERED ? servers.load[server] - delivered[server] : 0;
        mux.load[server] = mux.load[server] * kept + mux.recent[server] + reported;
        mux.recent[server] = 0;
      }
      mux.delta = Math.max(settings.delta, settings.part * Spread.mean(mux.load));
      if (settings.clear > 0 && slot % settings.clear == 0) {
        mux.filter.clear();
      }
    }
    System.arraycopy(servers.load, 0, delivered, 0, delivered.length);
  }

  @Override
  public void change(int slot) {
    ring.change(servers);
  }

  @Override
  public void report(Map<String, Double> figures) {
    int hopped = 0;
    for (boolean each : hasHopped) {
      hopped += each ? 1 : 0;
    }
    double fill = 0;
    for (Mux mux : muxes) {
      fill = Math.max(fill, mux.filter.fill());
    }
    figures.put("noted", (double) noted);
    figures.put("notedPart", (double) noted / isNoted.length);
    figures.put("mostNoted", (double) most);
    figures.put("mostFill", mostFill);
    figures.put("fillAtTheEnd", fill);
    figures.put("falseHits", (double) falseHits);
    figures.put("misses", (double) misses);
    figures.put("hopsPerPacket", (double) hops / sent);
    figures.put("mostHops", (double) mostHops);
    figures.put("hoppedPart", (double) hopped / isNoted.length);
  }
}
