// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Maat as the paper has it: Concury's arrays choose the first server, Algorithm 1 the backup. Each
 * mux has tables and a filter of its own, since the paper says nothing of sharing them.
 */
final class PaperMaat implements Balancer {
  /** 5.6 KiB of 2-bit counters. How many hashes is not in the paper. */
  static final Settings PAPER = new Settings(100_000, PaperMux.Unit.PACKETS, 5.6, 3);

  /** Flows of more are large in Figure 9. */
  static final int LARGE_BYTES = 10_000;

  private static final int LARGE = LARGE_BYTES / FlowSizes.PAYLOAD; // packets
  private final Servers servers;
  private final Concury hash;
  private final PaperMux[] muxes;
  private final SplittableRandom random;
  private final boolean[] isNoted;
  private final int[] sent;
  private int noted;
  private int now;
  private int most;
  private double mostFill;
  private long falseHits;
  private long misses;

  /**
   * @param delta of the unit
   * @param kib of the filter
   */
  record Settings(long delta, PaperMux.Unit unit, double kib, int hashes) {
    Settings withFilter(double size, int hashCount) {
      return new Settings(delta, unit, size, hashCount);
    }

    Settings counting(PaperMux.Unit other, long otherDelta) {
      return new Settings(otherDelta, other, kib, hashes);
    }
  }

  PaperMaat(Servers servers, Concury hash, int muxes, Settings settings, long seed) {
    this.servers = servers;
    this.hash = hash;
    random = new SplittableRandom(seed);
    isNoted = new boolean[hash.connections()];
    sent = new int[hash.connections()];
    this.muxes = new PaperMux[muxes];
    Arrays.setAll(
        this.muxes,
        mux ->
            new PaperMux(
                Scenario.SERVERS,
                settings.delta,
                settings.unit,
                CountingFilter.ofBytes(settings.kib * 1024, 2, settings.hashes)));
  }

  @Override
  public int open(int mux, int flow, long flowHash) {
    int s1 = hash.open(mux, flow, flowHash);
    int[] pool = servers.pool();
    int s2 = pool[random.nextInt(pool.length)];
    int server = muxes[mux].first(flowHash, s1, s2);
    isNoted[flow] = server != s1;
    if (isNoted[flow]) {
      noted++;
      most = Math.max(most, ++now);
      mostFill = Math.max(mostFill, muxes[mux].filter.fill());
    }
    return server;
  }

  @Override
  public int send(int mux, int flow, long flowHash, int packets) {
    int s1 = hash.open(mux, flow, flowHash);
    PaperMux of = muxes[mux];
    int server = of.later(flowHash, s1);
    boolean isSecond = server != s1;
    falseHits += isSecond && !isNoted[flow] ? packets : 0;
    misses += !isSecond && isNoted[flow] ? packets : 0;
    boolean wasSmall = sent[flow] < LARGE;
    sent[flow] += packets;
    of.count(server, packets, wasSmall && sent[flow] >= LARGE);
    return server;
  }

  @Override
  public void close(int mux, int flow, long flowHash) {
    muxes[mux].last(flowHash);
    now -= isNoted[flow] ? 1 : 0;
    isNoted[flow] = false;
  }

  @Override
  public void change(int slot) {
    hash.change(slot);
    for (PaperMux mux : muxes) {
      mux.reset();
    }
    Arrays.fill(isNoted, false);
    now = 0;
  }

  @Override
  public void report(Map<String, Double> figures) {
    figures.put("noted", (double) noted);
    figures.put("notedPart", (double) noted / isNoted.length);
    figures.put("mostNoted", (double) most);
    figures.put("mostFill", mostFill);
    figures.put("falseHits", (double) falseHits);
    figures.put("misses", (double) misses);
  }
}
