// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What 6LB's analytic model (its section V) is compared with: many servers that answer one query
 * after the other, with exponential work of mean 1, under SC and SRc. Prints one JSON document.
 *
 * <p>Run by bench/run hunt_model as {@code ModelFigures SEED SEEDS SERVERS WARM QUERIES LOADS
 * THRESHOLDS}, the last two with commas; threshold 0 is one choice.
 */
public final class ModelFigures {
  private static final int STATES = 40;
  private static final int UNLIMITED = 1 << 20;
  private static final double[] PERCENTILES = {10, 25, 50, 75, 90, 99};

  private ModelFigures() {}

  public static void main(String[] args) throws Exception {
    long seed = Long.parseLong(args[0]);
    int seeds = Integer.parseInt(args[1]);
    int servers = Integer.parseInt(args[2]);
    int warm = Integer.parseInt(args[3]);
    int queries = Integer.parseInt(args[4]);
    double[] loads = Arrays.stream(args[5].split(",")).mapToDouble(Double::parseDouble).toArray();
    int[] thresholds = Arrays.stream(args[6].split(",")).mapToInt(Integer::parseInt).toArray();
    List<Object> points = new ArrayList<>();
    for (double load : loads) {
      for (int c : thresholds) {
        Acceptance acceptance =
            c == 0 ? Acceptance.always() : Acceptance.fixed(Acceptance.Signal.IN_WORK, c);
        Run.Plan plan =
            new Run.Plan(
                new Farm.Shape(servers, 1, 1, UNLIMITED),
                acceptance,
                Work.exponential(1),
                load * servers,
                warm,
                queries,
                0);
        List<Run> runs = new ArrayList<>();
        for (int i = 0; i < seeds; i++) {
          runs.add(Run.of(plan, Dispatch.uniform(servers, c == 0 ? 1 : 2), seed + i));
        }
        points.add(point(load, c, runs, (double) queries * seeds));
      }
    }
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("servers", servers);
    result.put("seeds", seeds);
    result.put("warm", warm);
    result.put("queries", queries);
    result.put("percents", PERCENTILES);
    result.put("points", points);
    System.out.println(new ObjectMapper().writeValueAsString(result));
  }

  private static Map<String, Object> point(double load, int c, List<Run> runs, double queries) {
    Map<String, Object> point = new LinkedHashMap<>();
    point.put("load", load);
    point.put("threshold", c);
    point.put("means", runs.stream().mapToDouble(Run::mean).toArray());
    point.put("percentiles", percentiles(runs));
    // A query finds its first candidate as a server is at any time, since arrivals are Poisson.
    double sum = 0;
    double squares = 0;
    double[] atLeast = new double[STATES];
    for (Run run : runs) {
      int[] seen = run.seen();
      for (int n = 0; n < seen.length; n++) {
        double share = seen[n] / queries;
        sum += n * share;
        squares += (double) n * n * share;
        for (int m = 0; m <= Math.min(n, STATES - 1); m++) {
          atLeast[m] += share;
        }
      }
    }
    point.put("fairness", sum * sum / squares);
    point.put("atLeast", atLeast);
    point.put("passed", runs.stream().mapToDouble(Run::passed).average().orElseThrow());
    point.put(
        "wronglyPassed", runs.stream().mapToDouble(Run::wronglyPassed).average().orElseThrow());
    return point;
  }

  private static double[] percentiles(List<Run> runs) {
    return Arrays.stream(PERCENTILES)
        .map(
            percent ->
                runs.stream().mapToDouble(run -> run.percentile(percent)).average().orElseThrow())
        .toArray();
  }
}
