// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;
import java.util.function.ToDoubleFunction;

/** Runs of one plan under several seeds, of which a figure has a point. */
final class Points {
  private final long seed;
  private final int seeds;
  final int warm;
  final int queries;
  private double worstLittle;

  Points(long seed, int seeds, int warm, int queries) {
    this.seed = seed;
    this.seeds = seeds;
    this.warm = warm;
    this.queries = queries;
  }

  /** How far both sides of Little's law were apart at worst. */
  double worstLittle() {
    return worstLittle;
  }

  Map<String, Object> of(Run.Plan plan, LongFunction<Dispatch> dispatch) {
    return summary(runs(plan, dispatch), plan.acceptance().isDynamic());
  }

  List<Run> runs(Run.Plan plan, LongFunction<Dispatch> dispatch) {
    List<Run> runs = new ArrayList<>();
    for (int i = 0; i < seeds; i++) {
      Run run = Run.of(plan, dispatch.apply(seed + i), seed + i);
      worstLittle = Math.max(worstLittle, run.little());
      runs.add(run);
    }
    return runs;
  }

  private static Map<String, Object> summary(List<Run> runs, boolean isDynamic) {
    Map<String, Object> point = new LinkedHashMap<>();
    point.put("seconds", mean(runs, Run::mean));
    point.put("secondsBySeed", runs.stream().mapToDouble(Run::mean).toArray());
    for (int percent : new int[] {50, 90, 99}) {
      point.put("percentile" + percent, mean(runs, run -> run.percentile(percent)));
    }
    point.put("reset", mean(runs, Run::reset));
    point.put("passed", mean(runs, Run::passed));
    point.put("busy", mean(runs, Run::busy));
    point.put("fairness", mean(runs, Run::fairness));
    if (isDynamic) {
      point.put("threshold", mean(runs, Run::threshold));
    }
    return point;
  }

  /** Response times in steps of one percent, as means of the runs. */
  static double[] distribution(List<Run> runs) {
    double[] percentiles = new double[100];
    for (int percent = 0; percent < 100; percent++) {
      int each = percent;
      percentiles[percent] = mean(runs, run -> run.percentile(each));
    }
    return percentiles;
  }

  private static double mean(List<Run> runs, ToDoubleFunction<Run> value) {
    return runs.stream().mapToDouble(value).average().orElseThrow();
  }
}
