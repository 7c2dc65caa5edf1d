// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Function;

/**
 * Tests of the parts of bench/run maat: tables, and naive oracles. Prints each row; throws at the
 * first that fails.
 */
public final class Checks {
  private static final int NULL = PaperMux.NULL;
  private static final long FLOW = 0x1234_5678_9abc_def0L;

  private Checks() {}

  public static void main(String[] args) {
    sizes();
    algorithm1();
    units();
    filters();
    saturation();
    simulations();
  }

  private static void expect(String row, Object found, Object wanted) {
    if (!found.equals(wanted)) {
      throw new AssertionError("%s: %s, expected %s".formatted(row, found, wanted));
    }
    System.out.printf("ok - %s: %s%n", row, wanted);
  }

  private static void refused(String row, Runnable action) {
    try {
      action.run();
    } catch (IllegalArgumentException e) {
      System.out.printf("ok - %s is refused: %s%n", row, e.getMessage());
      return;
    }
    throw new AssertionError(row + " was taken");
  }

  private static void sizes() {
    FlowSizes sizes =
        new FlowSizes("drawn", new double[] {0, 1460, 14_600}, new double[] {0, 0.5, 1});
    double[][] rows = {{0, 1}, {0.25, 1}, {0.5, 1}, {0.51, 2}, {0.75, 6}, {1, 10}};
    for (double[] row : rows) {
      expect("packets of the flow at " + row[0], sizes.packets(row[0]), (int) row[1]);
    }
    expect("mean of both halves", sizes.mean(), (730 + 8030) / 2.0);
    expect("above the second point", sizes.above(1460), 0.5);
    expect("above a quarter of the first", sizes.above(365), 0.875);
    double[] up = {0, 1};
    refused("one point", () -> new FlowSizes("x", new double[] {0}, new double[] {0}));
    refused("a point without part", () -> new FlowSizes("x", new double[] {0, 1, 2}, up));
    refused("parts up to a half", () -> new FlowSizes("x", up, new double[] {0, 0.5}));
    refused("sizes that fall", () -> new FlowSizes("x", new double[] {2, 1}, up));
    refused("a run without a mux", () -> new Scenario(1, 1, 1, 0, 0, 0));
    refused("a filter without counters", () -> new CountingFilter(0, 8, 3));
    refused("counters of 9 bits", () -> new CountingFilter(8, 9, 3));
  }

  /** A case of Algorithm 1: three servers, Delta 100, a flow whose hash chooses server 0. */
  private record Case(String row, int load0, int load1, int backup0, boolean isBackup1) {
    PaperMux mux() {
      PaperMux mux = new PaperMux(3, 100, PaperMux.Unit.PACKETS, new CountingFilter(1024, 2, 3));
      mux.load[0] = load0;
      mux.load[1] = load1;
      mux.backup[0] = backup0;
      mux.isBackup[1] = isBackup1;
      return mux;
    }
  }

  private static void algorithm1() {
    Map<Case, Integer> firsts = new LinkedHashMap<>();
    firsts.put(new Case("lines 3 to 8: Delta, no flag", 150, 50, NULL, false), 1);
    firsts.put(new Case("lines 9 to 11: less than Delta", 149, 50, NULL, false), 0);
    firsts.put(new Case("lines 9 to 11: the flag", 150, 50, NULL, true), 0);
    firsts.put(new Case("lines 9 to 11: the random one has more", 50, 150, NULL, false), 0);
    firsts.put(new Case("lines 13 to 16: the backup, at Delta", 150, 50, 1, true), 1);
    firsts.put(new Case("lines 17 to 19: the backup has too much", 149, 50, 1, true), 0);
    firsts.put(new Case("lines 13 to 16: not the random one", 150, 50, 2, false), 2);
    firsts.forEach(
        (each, server) -> {
          PaperMux mux = each.mux();
          expect(each.row, mux.first(FLOW, 0, 1), server);
          expect(
              each.row + ", T",
              mux.load[server],
              (server == 0 ? each.load0 : server == 1 ? each.load1 : 0) + 1L);
          expect(each.row + ", filter", mux.filter.has(FLOW), server != 0);
          boolean isNew = each.backup0 == NULL && server == 1;
          expect(
              each.row + ", B", mux.backup[0], isNew ? Integer.valueOf(1) : (Integer) each.backup0);
          expect(each.row + ", F", mux.isBackup[1], isNew || each.isBackup1);
          expect(each.row + ", later packets", mux.later(FLOW, 0), server);
          mux.last(FLOW);
          expect(each.row + ", after the FIN", mux.later(FLOW, 0), 0);
          mux.reset();
          expect(each.row + ", after an update", Arrays.toString(mux.backup), "[-1, -1, -1]");
        });
    PaperMux mux = new Case("", 500, 0, NULL, false).mux();
    mux.filter.add(FLOW);
    expect("lines 20 to 22: no backup, whatever the filter says", mux.later(FLOW, 0), 0);
    expect("a server is not its own backup", mux.first(FLOW, 0, 0), 0);
  }

  /** What a flow's first packet, a later burst, and its tenth kilobyte add to its server's load. */
  private static void units() {
    long[][] rows = {{1, 10, 0}, {0, 10, 0}, {1, 0, 0}, {0, 0, 1}};
    PaperMux.Unit[] units = {
      PaperMux.Unit.PACKETS, PaperMux.Unit.LATER, PaperMux.Unit.CONNECTIONS, PaperMux.Unit.LARGE
    };
    for (int i = 0; i < units.length; i++) {
      PaperMux mux = new PaperMux(2, 100, units[i], new CountingFilter(64, 2, 3));
      mux.first(FLOW, 0, 1);
      expect(units[i] + ", a first packet", mux.load[0], rows[i][0]);
      mux.count(0, 10, false);
      expect(units[i] + ", ten later ones", mux.load[0], rows[i][0] + rows[i][1]);
      mux.count(0, 0, true);
      expect(units[i] + ", a flow that is large now", mux.load[0], Arrays.stream(rows[i]).sum());
    }
  }

  /** Against a map, with adds and removals at random; and no other flow is removed. */
  private static void filters() {
    for (int bits : new int[] {2, 8}) {
      SplittableRandom random = new SplittableRandom(bits);
      CountingFilter filter = new CountingFilter(4096, bits, 3);
      Map<Long, Boolean> added = new HashMap<>();
      long lost = 0;
      for (int step = 0; step < 20_000; step++) {
        long flow = random.nextInt(500) * 0x9e37_79b9L;
        if (added.remove(flow) != null) {
          filter.remove(flow);
        } else {
          added.put(flow, true);
          filter.add(flow);
        }
        lost += added.keySet().stream().limit(20).filter(each -> !filter.has(each)).count();
      }
      expect("flows lost by a filter of %d bits".formatted(bits), lost, 0L);
      added.keySet().forEach(filter::remove);
      if (bits == 8) {
        expect("part of it that is left when all are removed", filter.fill(), 0.0);
      }
      filter.clear();
      expect("part of it that is left when it is cleared", filter.fill(), 0.0);
    }
    expect(
        "bytes of 5.6 KiB of 2 bits",
        Math.round(CountingFilter.ofBytes(5.6 * 1024, 2, 3).bytes()),
        5734L);
  }

  private static void saturation() {
    CountingFilter filter = new CountingFilter(1, 2, 1);
    for (int flow = 0; flow < 5; flow++) {
      filter.add(flow);
    }
    for (int flow = 0; flow < 4; flow++) {
      filter.remove(flow);
    }
    expect("a saturated counter keeps the fifth flow", filter.has(4), true);
    CountingFilter wide = new CountingFilter(1, 8, 1);
    wide.add(1);
    wide.add(2);
    wide.remove(1);
    expect("the other of two flows", wide.has(2), true);
    wide.remove(2);
    expect("neither of two flows", wide.has(2), false);
  }

  /**
   * All that must hold in runs: the simulation checks sums, and two buckets their filter and their
   * reach.
   */
  private static void simulations() {
    FlowSizes sizes =
        new FlowSizes("drawn", new double[] {0, 10_000, 3_000_000}, new double[] {0, 0.5, 1});
    Scenario plain = Scenario.plain(3000, 100);
    Scenario hard = plain.withMuxes(4, Scenario.SECOND / 4).withChanges(Scenario.SECOND, 6);
    TwoBuckets.Settings usual = TwoBuckets.Settings.DEFAULT.withDelta(50);
    TwoBuckets.Settings[] filters = {
      usual, usual.withCounters(16), usual.clearedEach(Balancer.TICK)
    };
    for (TwoBuckets.Settings settings : filters) {
      for (Scenario scenario : new Scenario[] {plain, hard}) {
        Map<String, Double> figures = run(sizes, scenario, methods -> methods.ours(settings));
        String row =
            "%d counters, emptied each %d, %d muxes"
                .formatted(settings.counters(), settings.clear(), scenario.muxes());
        expect(row + ": broken", figures.get("broken"), 0.0);
        expect(row + ": some were noted", figures.get("noted") > 100, true);
        boolean isExact = settings == usual && scenario == plain;
        expect(row + ": some were passed on", figures.get("hopsPerPacket") > 0, !isExact);
      }
    }
    Map<String, Double> first = run(sizes, plain, methods -> methods.ours(usual));
    expect("the same again", run(sizes, plain, methods -> methods.ours(usual)), first);
    expect(
        "hash under changes breaks some",
        run(sizes, hard, methods -> Baselines.Hash::new).get("broken") > 100,
        true);
    expect(
        "without changes none",
        run(sizes, plain, methods -> Baselines.Hash::new).get("broken"),
        0.0);
    PaperMaat.Settings small = new PaperMaat.Settings(50, PaperMux.Unit.PACKETS, 5.6, 3);
    Scenario reshuffled = plain.withMuxes(4, Scenario.SECOND / 4);
    expect(
        "the paper's at one balancer",
        run(sizes, plain, methods -> methods.paper(small, 0)).get("broken"),
        0.0);
    expect(
        "at four breaks some",
        run(sizes, reshuffled, methods -> methods.paper(small, 0)).get("broken") > 100,
        true);
  }

  private static Map<String, Double> run(
      FlowSizes sizes, Scenario scenario, Function<Methods, Function<Servers, Balancer>> method) {
    Traffic traffic = Traffic.of(sizes, scenario, 1);
    return Simulation.run(
        scenario, traffic, method.apply(new Methods(traffic, scenario.muxes(), 1)));
  }
}
