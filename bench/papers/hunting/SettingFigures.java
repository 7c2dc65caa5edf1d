// SPDX-License-Identifier: Apache-2.0

import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.words.AssignmentMethod;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.LongFunction;
import java.util.stream.IntStream;

/** What a load of 0.71 takes under other settings (6LB, Figures 11a, 11b and 11f). */
final class SettingFigures {
  private static final double LOAD = 0.71;
  private static final int FEWEST_SERVERS = 36;
  private static final int LEAST_BITS = 6;
  private static final int MOST_BITS = 16;

  /** Standard deviations in seconds; the farm is overloaded beyond. */
  private static final double[] DEVIATIONS = {0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4};

  private static final double[] VARIATIONS = {0, 0.5, 1, 1.5, 2, 3, 4};

  private SettingFigures() {}

  private static Acceptance four() {
    return LoadFigures.policies().get("SR4");
  }

  /** The same queries for fewer servers. */
  static List<Object> figure11a(Points points) {
    List<Object> rows = new ArrayList<>();
    for (int servers = FEWEST_SERVERS; servers <= LoadFigures.SERVERS; servers++) {
      int count = servers;
      Farm.Shape all = LoadFigures.SHAPE;
      Run.Plan plan =
          new Run.Plan(
              new Farm.Shape(count, all.cores(), all.workers(), all.backlog()),
              four(),
              Work.exponential(LoadFigures.MEAN),
              LOAD * LoadFigures.CAPACITY,
              points.warm,
              points.queries,
              0);
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("servers", count);
      row.put("SR4", points.of(plan, seed -> Dispatch.uniform(count, 2)));
      rows.add(row);
    }
    return rows;
  }

  /** By the number of buckets; a ring has at least 256. */
  static List<Object> figure11b(Points points) {
    List<Object> rows = new ArrayList<>();
    for (int bits = LEAST_BITS; bits <= MOST_BITS; bits++) {
      int buckets = 1 << bits;
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("buckets", buckets);
      row.put(
          "one choice",
          points.of(
              LoadFigures.plan(points, Acceptance.always(), LOAD),
              seed -> Dispatch.table(table(buckets, 1, seed))));
      row.put(
          "Algorithm 3, SR4",
          points.of(
              LoadFigures.plan(points, four(), LOAD),
              seed -> Dispatch.table(table(buckets, 2, seed))));
      if (buckets >= Ring.BUCKETS_MIN) {
        Ring ring = Rings.first(AssignmentMethod.BEAMER, buckets, LoadFigures.SERVERS);
        int[] owners =
            IntStream.range(0, buckets).map(bucket -> Rings.owner(ring, bucket)).toArray();
        row.put(
            "two buckets, SR4",
            points.of(LoadFigures.plan(points, four(), LOAD), seed -> Dispatch.ring(owners)));
      }
      rows.add(row);
    }
    return rows;
  }

  private static CandidateTable table(int buckets, int choices, long seed) {
    CandidateTable.Permutations permutations =
        CandidateTable.Permutations.random(
            buckets, LoadFigures.SERVERS, new SplittableRandom(seed));
    int[] pool = IntStream.range(0, LoadFigures.SERVERS).toArray();
    return CandidateTable.of(permutations, pool, choices);
  }

  /**
   * Log-normal work: as in the paper with the median of the exponential work, so that the mean and
   * the load rise with the deviation; and with its mean, so that only the variance does.
   */
  static Map<String, Object> figure11f(Points points) {
    List<Object> sameMedian = new ArrayList<>();
    double median = LoadFigures.MEAN * StrictMath.log(2);
    for (double deviation : DEVIATIONS) {
      double ratio = deviation / median;
      double growth = (1 + Math.sqrt(1 + 4 * ratio * ratio)) / 2; // exp(sigma^2)
      double mean = median * Math.sqrt(growth);
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("deviation", deviation);
      row.put("load", LOAD * mean / LoadFigures.MEAN);
      row.putAll(byPolicy(points, Work.logNormal(median, Math.sqrt(StrictMath.log(growth)))));
      sameMedian.add(row);
    }
    List<Object> sameMean = new ArrayList<>();
    for (double variation : VARIATIONS) {
      double growth = 1 + variation * variation;
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("variation", variation);
      row.putAll(
          byPolicy(
              points,
              Work.logNormal(
                  LoadFigures.MEAN / Math.sqrt(growth), Math.sqrt(StrictMath.log(growth)))));
      sameMean.add(row);
    }
    Map<String, Object> figure = new LinkedHashMap<>();
    figure.put("sameMedian", sameMedian);
    figure.put("sameMean", sameMean);
    return figure;
  }

  private static Map<String, Object> byPolicy(Points points, Work work) {
    int servers = LoadFigures.SERVERS;
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("SC", of(points, Acceptance.always(), work, seed -> Dispatch.uniform(servers, 1)));
    row.put("SR4", of(points, four(), work, seed -> Dispatch.uniform(servers, 2)));
    Acceptance dynamic = LoadFigures.policies().get("SRdyn");
    row.put("SRdyn", of(points, dynamic, work, seed -> Dispatch.uniform(servers, 2)));
    row.put(
        "round robin", of(points, Acceptance.always(), work, seed -> Dispatch.roundRobin(servers)));
    return row;
  }

  private static Object of(
      Points points, Acceptance acceptance, Work work, LongFunction<Dispatch> dispatch) {
    Run.Plan plan =
        new Run.Plan(
            LoadFigures.SHAPE,
            acceptance,
            work,
            LOAD * LoadFigures.CAPACITY,
            points.warm,
            points.queries,
            0);
    return points.of(plan, dispatch);
  }
}
