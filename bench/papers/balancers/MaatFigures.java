// SPDX-License-Identifier: Apache-2.0
package balancers;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * What bench/run maat prints: the figures of the Maat paper that a simulation can have, as one JSON
 * document. Arguments: the file of flow sizes, the seed, runs, the most connections, and whether
 * only the figures of a switch are wanted. Run r has the seed {@code seed + r} in every row, so
 * that all methods see the same connections.
 */
public final class MaatFigures {
  private static final int[] SIZES = {16_000, 32_000, 65_000, 130_000};
  private static final int GIGABIT = 10;
  private static final int HUNDRED_MEGABIT = 100;
  private static final int TEN_MEGABIT = 1000;
  private static final double[] KIB = {2.44, 3.66, 4.88, 5.6, 6.1, 7.32, 8.54};
  private static final int[] HASHES = {1, 2, 4, 8};
  private static final int[] COUNTERS = {1 << 12, 1 << 14, 1 << 16, 1 << 18};
  private static final String UNCOUNTED = ", first packets not counted";
  private static final int REPORT = Scenario.SECOND / 10;

  private final Map<String, FlowSizes> distributions;
  private final long seed;
  private final int runs;
  private final int most;

  private MaatFigures(Map<String, FlowSizes> distributions, long seed, int runs, int most) {
    this.distributions = distributions;
    this.seed = seed;
    this.runs = runs;
    this.most = most;
  }

  /** The methods of a row, made again for each run. */
  private interface Row {
    Map<String, Function<Servers, Balancer>> of(Methods methods);
  }

  public static void main(String[] args) throws Exception {
    MaatFigures figures =
        new MaatFigures(
            FlowSizes.read(Path.of(args[0])),
            Long.parseLong(args[1]),
            Integer.parseInt(args[2]),
            Integer.parseInt(args[3]));
    boolean isSwitch = Boolean.parseBoolean(args[4]);
    Map<String, Object> result = isSwitch ? figures.ofSwitch() : figures.all();
    System.out.println(new ObjectMapper().writeValueAsString(result));
  }

  private Map<String, Object> all() {
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("figure11", Memory.figure11(seed));
    for (FlowSizes sizes : distributions.values()) {
      Map<String, Object> of = new LinkedHashMap<>();
      of.put("meanBytes", sizes.mean());
      of.put("runs", runs);
      of.put("fewerRuns", fewer(sizes));
      of.put("figure8", bySize(sizes, runs, Methods::all));
      say(sizes, "figure 8");
      of.put("figure9", bySize(sizes, fewer(sizes), methods -> units(methods, sizes)));
      say(sizes, "figure 9");
      of.put(
          "figure10",
          row(sizes, fewer(sizes), Scenario.plain(most, GIGABIT), MaatFigures::filters));
      of.put(
          "figure10Slow",
          row(sizes, fewer(sizes), Scenario.plain(most, HUNDRED_MEGABIT), MaatFigures::filters));
      say(sizes, "figure 10");
      of.put("pace", paces(sizes));
      of.put(
          "settings",
          row(sizes, fewer(sizes), Scenario.plain(most, GIGABIT), MaatFigures::settings));
      say(sizes, "paces and settings");
      of.put("table2", table2(sizes));
      say(sizes, "table 2");
      result.put(sizes.name(), of);
    }
    return result;
  }

  /** Figures 14 and 15, for which a switch is not needed: what its form does not count. */
  private Map<String, Object> ofSwitch() {
    Map<String, Object> result = new LinkedHashMap<>();
    for (FlowSizes sizes : distributions.values()) {
      Map<String, Object> of = new LinkedHashMap<>();
      of.put("runs", fewer(sizes));
      of.put("figure14", bySize(sizes, fewer(sizes), MaatFigures::firstUncounted));
      of.put(
          "figure15",
          row(sizes, fewer(sizes), Scenario.plain(most, GIGABIT), MaatFigures::filtersUncounted));
      say(sizes, "figures 14 and 15");
      result.put(sizes.name(), of);
    }
    return result;
  }

  private static void say(FlowSizes sizes, String what) {
    System.err.println(sizes.name() + ": " + what);
  }

  /** Runs of what is not Figure 8; connections of data mining have seven times the packets. */
  private int fewer(FlowSizes sizes) {
    return Math.max(1, sizes.mean() < 5e6 ? runs / 3 : runs / 10);
  }

  /** The sizes up to the most; that one in any case. */
  private int[] connections() {
    int[] below = Arrays.stream(SIZES).filter(size -> size < most).toArray();
    int[] sizes = Arrays.copyOf(below, below.length + 1);
    sizes[below.length] = most;
    return sizes;
  }

  private Map<String, Object> bySize(FlowSizes sizes, int count, Row row) {
    Map<String, Object> figure = new LinkedHashMap<>();
    for (int connections : connections()) {
      figure.put("" + connections, row(sizes, count, Scenario.plain(connections, GIGABIT), row));
    }
    return figure;
  }

  private Map<String, Object> row(FlowSizes sizes, int count, Scenario scenario, Row row) {
    Map<String, List<Map<String, Double>>> byMethod = new LinkedHashMap<>();
    for (int run = 0; run < count; run++) {
      Traffic traffic = Traffic.of(sizes, scenario, seed + run);
      Methods methods = new Methods(traffic, scenario.muxes(), seed + run);
      row.of(methods)
          .forEach(
              (name, method) ->
                  byMethod
                      .computeIfAbsent(name, any -> new ArrayList<>())
                      .add(Simulation.run(scenario, traffic, method)));
    }
    Map<String, Object> figures = new LinkedHashMap<>();
    byMethod.forEach((name, of) -> figures.put(name, Spread.of(of)));
    Map<String, Object> ratios = new LinkedHashMap<>();
    for (String name : List.of(Methods.OURS, Methods.OURS_PART)) {
      if (byMethod.containsKey(Methods.PAPER) && byMethod.containsKey(name)) {
        ratios.put(name, overPaper(byMethod.get(name), byMethod.get(Methods.PAPER)));
      }
    }
    figures.put("variance over the paper's, by run", ratios);
    return figures;
  }

  private static Map<String, Double> overPaper(
      List<Map<String, Double>> ours, List<Map<String, Double>> papers) {
    double[] ratios = new double[ours.size()];
    Arrays.setAll(ratios, run -> ours.get(run).get("variance") / papers.get(run).get("variance"));
    return Spread.of(ratios);
  }

  /** Figure 9. Thresholds of other units are as many packets on average. */
  private static Map<String, Function<Servers, Balancer>> units(Methods methods, FlowSizes sizes) {
    double packets = sizes.mean() / FlowSizes.PAYLOAD;
    PaperMaat.Settings paper = PaperMaat.PAPER;
    TwoBuckets.Settings ours = TwoBuckets.Settings.DEFAULT;
    long connections = Math.max(1, Math.round(paper.delta() / packets));
    long large =
        Math.max(1, Math.round(paper.delta() / packets * sizes.above(PaperMaat.LARGE_BYTES)));
    Map<String, Function<Servers, Balancer>> all = new LinkedHashMap<>();
    all.put(Methods.PAPER, methods.paper(paper, 0));
    all.put(
        Methods.PAPER + ", connections",
        methods.paper(paper.counting(PaperMux.Unit.CONNECTIONS, connections), 0));
    all.put(
        Methods.PAPER + ", large flows",
        methods.paper(paper.counting(PaperMux.Unit.LARGE, large), 0));
    all.put(Methods.OURS, methods.ours(ours));
    all.put(
        Methods.OURS + ", connections",
        methods.ours(ours.counting(TwoBuckets.Unit.CONNECTIONS, ours.delta() / packets)));
    return all;
  }

  /** Figure 10: the paper's filter by its size and its hashes, and ours. */
  private static Map<String, Function<Servers, Balancer>> filters(Methods methods) {
    Map<String, Function<Servers, Balancer>> all = new LinkedHashMap<>();
    for (double kib : KIB) {
      all.put(
          "paper, %.2f KiB, 3 hashes".formatted(kib),
          methods.paper(PaperMaat.PAPER.withFilter(kib, 3), 0));
    }
    for (int hashes : HASHES) {
      PaperMaat.Settings settings = PaperMaat.PAPER.withFilter(PaperMaat.PAPER.kib(), hashes);
      all.put(
          "paper, %.2f KiB, %d hashes".formatted(settings.kib(), hashes),
          methods.paper(settings, 0));
    }
    for (int counters : COUNTERS) {
      all.put(
          "ours, %d KiB".formatted(counters >> 10),
          methods.ours(TwoBuckets.Settings.DEFAULT.withCounters(counters)));
    }
    return all;
  }

  /** Figure 14: loads with and without the first packet of each flow. */
  private static Map<String, Function<Servers, Balancer>> firstUncounted(Methods methods) {
    PaperMaat.Settings paper = PaperMaat.PAPER;
    TwoBuckets.Settings ours = TwoBuckets.Settings.DEFAULT;
    Map<String, Function<Servers, Balancer>> all = new LinkedHashMap<>();
    all.put(Methods.PAPER, methods.paper(paper, 0));
    all.put(
        Methods.PAPER + UNCOUNTED,
        methods.paper(paper.counting(PaperMux.Unit.LATER, paper.delta()), 0));
    all.put(Methods.OURS, methods.ours(ours));
    all.put(
        Methods.OURS + UNCOUNTED,
        methods.ours(ours.counting(TwoBuckets.Unit.LATER, ours.delta())));
    return all;
  }

  /** Figure 15: the least, the usual and the largest filter of Figure 10, likewise. */
  private static Map<String, Function<Servers, Balancer>> filtersUncounted(Methods methods) {
    PaperMaat.Settings paper = PaperMaat.PAPER;
    PaperMaat.Settings uncounted = paper.counting(PaperMux.Unit.LATER, paper.delta());
    Map<String, Function<Servers, Balancer>> all = new LinkedHashMap<>();
    for (double kib : new double[] {KIB[0], paper.kib(), KIB[KIB.length - 1]}) {
      String name = "paper, %.2f KiB".formatted(kib);
      all.put(name, methods.paper(paper.withFilter(kib, 3), 0));
      all.put(name + UNCOUNTED, methods.paper(uncounted.withFilter(kib, 3), 0));
    }
    return all;
  }

  /** The most connections, at other paces. */
  private Map<String, Object> paces(FlowSizes sizes) {
    Map<String, Object> figure = new LinkedHashMap<>();
    for (int pace : new int[] {1, HUNDRED_MEGABIT, TEN_MEGABIT}) {
      figure.put(
          "%d Mb/s".formatted(10_000 / pace),
          row(
              sizes,
              fewer(sizes),
              Scenario.plain(most, pace),
              methods -> {
                Map<String, Function<Servers, Balancer>> all = methods.all();
                all.keySet()
                    .retainAll(
                        List.of(
                            Methods.HASH,
                            Methods.TWO,
                            Methods.PAPER,
                            Methods.OURS,
                            Methods.OURS_PART));
                return all;
              }));
    }
    return figure;
  }

  /** Delta and half-life of two buckets. */
  private static Map<String, Function<Servers, Balancer>> settings(Methods methods) {
    Map<String, Function<Servers, Balancer>> all = new LinkedHashMap<>();
    TwoBuckets.Settings settings = TwoBuckets.Settings.DEFAULT;
    all.put("paper", methods.paper(PaperMaat.PAPER, 0));
    for (int delta : new int[] {1, 1000, 10_000, 100_000}) {
      all.put("delta %d packets".formatted(delta), methods.ours(settings.withDelta(delta)));
    }
    for (double part : new double[] {0.003, 0.01, 0.03, 0.1}) {
      all.put(
          "delta %.1f %% of the mean load".formatted(100 * part),
          methods.ours(settings.withPart(part)));
    }
    for (int halfLife : new int[] {1000, 10 * Scenario.SECOND}) {
      all.put(
          "half-life %.1f s".formatted((double) halfLife / Scenario.SECOND),
          methods.ours(settings.withHalfLife(halfLife)));
    }
    all.put("no decay", methods.ours(settings.withHalfLife(0)));
    return all;
  }

  /** Broken connections, by one and by four muxes, with and without changes of the pool. */
  private Map<String, Object> table2(FlowSizes sizes) {
    Scenario one = Scenario.plain(most, GIGABIT);
    Scenario four = one.withMuxes(4, Scenario.SECOND);
    Scenario changes = Scenario.plain(2 * most, TEN_MEGABIT).withChanges(6 * Scenario.SECOND, 2);
    Map<String, Object> table = new LinkedHashMap<>();
    table.put("four, reshuffled", row(sizes, runs, four, MaatFigures::four));
    table.put("one, pool changes", row(sizes, fewer(sizes), changes, MaatFigures::reported));
    table.put(
        "four, reshuffled, pool changes",
        row(sizes, fewer(sizes), changes.withMuxes(4, Scenario.SECOND), MaatFigures::reported));
    return table;
  }

  private static Map<String, Function<Servers, Balancer>> four(Methods methods) {
    Map<String, Function<Servers, Balancer>> all = methods.all();
    TwoBuckets.Settings settings = TwoBuckets.Settings.DEFAULT;
    all.put(
        Methods.OURS + ", loads that servers report",
        methods.ours(settings.counting(TwoBuckets.Unit.DELIVERED, settings.delta())));
    all.put(
        Methods.OURS + ", filter emptied each second",
        methods.ours(settings.clearedEach(Scenario.SECOND)));
    return all;
  }

  private static Map<String, Function<Servers, Balancer>> reported(Methods methods) {
    Map<String, Function<Servers, Balancer>> all = methods.all();
    all.put(Methods.CONCURY + ", reported after 100 ms", methods.concury(REPORT));
    all.put(Methods.PAPER + ", reported after 100 ms", methods.paper(PaperMaat.PAPER, REPORT));
    return all;
  }
}
