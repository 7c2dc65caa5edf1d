// SPDX-License-Identifier: Apache-2.0

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Poisson arrivals at a farm: first queries that only warm it up, then those that are measured;
 * more arrive until the last of these has ended. Runs of one seed have the same arrivals and the
 * same work, whatever their policy is. Each run checks that no query is lost or made up, and
 * Little's law.
 */
final class Run {
  static final double LITTLE = 0.01;

  /**
   * What to simulate.
   *
   * @param rate queries a second
   * @param sampleSeconds how often the load of the servers is noted; 0 if it is not
   */
  record Plan(
      Farm.Shape shape,
      Acceptance acceptance,
      Work work,
      double rate,
      int warm,
      int queries,
      double sampleSeconds) {}

  /** Seconds that each answered query took, ascending. */
  final double[] responses;

  final int resets;

  /** Parts of the measured queries: refused by their first candidate, and that wrongly (§V-E). */
  final double passed;

  final double wronglyPassed;

  /** Means over time. */
  final double busy;

  final double fairness;

  final double threshold;

  /** How far both sides of Little's law are apart, and how far they may be. */
  final double little;

  final double littleMost;

  /** Measured queries by how many their first candidate had. */
  final int[] seen = new int[1024];

  /** Of each sample: mean of busy workers, fairness. */
  final double[][] samples;

  /** Each run needs a dispatch of its own. */
  Run(Plan plan, Dispatch dispatch, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    SplittableRandom gaps = random.split();
    SplittableRandom works = random.split();
    SplittableRandom choices = random.split();
    Farm farm = new Farm(plan.shape(), plan.acceptance(), random.split());
    int all = plan.warm() + plan.queries();
    double[] seconds = new double[plan.queries()];
    double[][] noted = new double[0][];
    int answered = 0;
    int lost = 0;
    int refused = 0;
    int wrongly = 0;
    long arrived = 0;
    long ended = 0;
    long reset = 0;
    long atStart = 0;
    long atEnd = 0;
    double start = Double.POSITIVE_INFINITY;
    double end = Double.POSITIVE_INFINITY;
    double queriesArea = 0;
    double busyArea = 0;
    double fairnessArea = 0;
    double thresholds = 0;
    double now = 0;
    double arrival = gap(gaps, plan.rate());
    double sample = plan.sampleSeconds() > 0 ? 0 : Double.POSITIVE_INFINITY;
    while (end == Double.POSITIVE_INFINITY || answered + lost < plan.queries()) {
      double time = Math.min(arrival, farm.nextEnd());
      for (; sample <= time; sample += plan.sampleSeconds()) {
        noted = Arrays.copyOf(noted, noted.length + 1);
        noted[noted.length - 1] = new double[] {farm.meanBusy(), farm.fairness()};
      }
      if (now >= start && now < end) {
        queriesArea += (time - now) * farm.queries();
        busyArea += (time - now) * farm.meanBusy();
        fairnessArea += (time - now) * farm.fairness();
      }
      now = time;
      if (arrival > time) {
        double since = farm.end();
        ended++;
        if (since >= start && since < end) {
          seconds[answered++] = now - since;
        }
        continue;
      }
      arrival += gap(gaps, plan.rate());
      if (arrived == plan.warm()) {
        start = now;
        atStart = farm.queries();
      } else if (arrived == all) {
        end = now;
        atEnd = farm.queries();
        thresholds = farm.meanThreshold();
      }
      boolean isMeasured = now >= start && now < end;
      dispatch.choose(farm, now, choices);
      int server = dispatch.first;
      int queries = farm.queries(server);
      if (dispatch.second != Dispatch.NONE && !farm.accepts(server, now)) {
        server = dispatch.second;
        refused += isMeasured ? 1 : 0;
        wrongly += isMeasured && farm.queries(server) > queries ? 1 : 0;
      }
      boolean isTaken = farm.take(server, now, plan.work().next(works));
      arrived++;
      reset += isTaken ? 0 : 1;
      if (isMeasured) {
        seen[Math.min(queries, seen.length - 1)]++;
        lost += isTaken ? 0 : 1;
      }
      if (arrived != ended + reset + farm.queries()) {
        throw new IllegalStateException(
            "%d arrived, but %d ended, %d reset, %d at the servers"
                .formatted(arrived, ended, reset, farm.queries()));
      }
    }
    responses = Arrays.copyOf(seconds, answered);
    Arrays.sort(responses);
    resets = lost;
    passed = (double) refused / plan.queries();
    wronglyPassed = (double) wrongly / plan.queries();
    busy = busyArea / (end - start);
    fairness = fairnessArea / (end - start);
    threshold = thresholds;
    samples = noted;
    double byResponses = Arrays.stream(responses).sum();
    little = Math.abs(queriesArea / byResponses - 1);
    // What is there at the start or at the end counts on one side only.
    littleMost = LITTLE + 4.0 * (atStart + atEnd) / plan.queries();
    if (little > littleMost) {
      throw new IllegalStateException(
          "Little's law: %.6g queries at the servers, %.6g by their responses"
              .formatted(queriesArea / (end - start), byResponses / (end - start)));
    }
  }

  double mean() {
    return Arrays.stream(responses).average().orElse(0);
  }

  double percentile(double percent) {
    return responses[
        (int) Math.min(responses.length - 1L, (long) (responses.length * percent / 100))];
  }

  private static double gap(SplittableRandom random, double rate) {
    return -StrictMath.log(1 - random.nextDouble()) / rate;
  }
}
