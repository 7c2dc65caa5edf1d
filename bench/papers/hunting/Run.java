// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Poisson arrivals at a farm: first queries that only warm it up, then those that are measured;
 * more arrive until the last of these has ended. Runs of one seed have the same arrivals and the
 * same work, whatever their policy is. Each run checks that no query is lost or made up, and
 * Little's law.
 */
final class Run {
  private static final double LITTLE = 0.01;
  private static final int CHECKED_EVERY = 1000;

  /**
   * What to simulate.
   *
   * @param rate queries a second
   * @param warm queries before the measured ones
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

  private final Plan plan;
  private final Dispatch dispatch;
  private final SplittableRandom gaps;
  private final SplittableRandom works;
  private final SplittableRandom choices;
  private final Farm farm;

  private double now;
  private double start = Double.POSITIVE_INFINITY;
  private double end = Double.POSITIVE_INFINITY;
  private long arrived;
  private long ended;
  private long reset;
  private long atStart;
  private long atEnd;

  private final double[] responses;
  private int answered;
  private int resets;
  private int passed;
  private int wronglyPassed;
  private double queriesArea;
  private double busyArea;
  private double fairnessArea;
  private double threshold;
  private final int[] seen = new int[1024];
  private final List<double[]> samples = new ArrayList<>();

  private Run(Plan plan, Dispatch dispatch, long seed) {
    this.plan = plan;
    this.dispatch = dispatch;
    SplittableRandom random = new SplittableRandom(seed);
    gaps = random.split();
    works = random.split();
    choices = random.split();
    farm = new Farm(plan.shape(), plan.acceptance(), random.split());
    responses = new double[plan.queries()];
  }

  /** Simulates the plan; each run needs a dispatch of its own. */
  static Run of(Plan plan, Dispatch dispatch, long seed) {
    Run run = new Run(plan, dispatch, seed);
    run.simulate();
    run.checkConservation();
    Arrays.sort(run.responses, 0, run.answered);
    if (run.little() > run.littleMost()) {
      throw new IllegalStateException(
          "Little's law: the servers and the responses differ by %.4f, more than %.4f"
              .formatted(run.little(), run.littleMost()));
    }
    return run;
  }

  private void simulate() {
    double arrival = gap();
    double sample = plan.sampleSeconds() > 0 ? 0 : Double.POSITIVE_INFINITY;
    while (end == Double.POSITIVE_INFINITY || answered + resets < plan.queries()) {
      double time = Math.min(arrival, farm.nextEnd());
      for (; sample <= time; sample += plan.sampleSeconds()) {
        samples.add(new double[] {farm.meanBusy(), farm.fairness()});
      }
      pass(time);
      if (arrival > time) {
        end();
      } else {
        arrival += gap();
        arrive();
      }
    }
  }

  private double gap() {
    return -StrictMath.log(1 - gaps.nextDouble()) / plan.rate();
  }

  private boolean isMeasured(double time) {
    return time >= start && time < end;
  }

  private void pass(double time) {
    if (isMeasured(now)) {
      queriesArea += (time - now) * farm.queries();
      busyArea += (time - now) * farm.meanBusy();
      fairnessArea += (time - now) * farm.fairness();
    }
    now = time;
  }

  private void end() {
    double since = farm.end();
    ended++;
    if (isMeasured(since)) {
      responses[answered++] = now - since;
    }
  }

  private void arrive() {
    if (arrived == plan.warm()) {
      start = now;
      atStart = farm.queries();
    } else if (arrived == plan.warm() + plan.queries()) {
      end = now;
      atEnd = farm.queries();
      threshold = farm.meanThreshold();
    }
    int isCounted = isMeasured(now) ? 1 : 0;
    dispatch.choose(farm, now, choices);
    int server = dispatch.first;
    int queries = farm.queries(server);
    seen[Math.min(queries, seen.length - 1)] += isCounted;
    if (dispatch.second != Dispatch.NONE && !farm.accepts(server, now)) {
      server = dispatch.second;
      passed += isCounted;
      wronglyPassed += farm.queries(server) > queries ? isCounted : 0;
    }
    boolean isTaken = farm.take(server, now, plan.work().next(works));
    arrived++;
    reset += isTaken ? 0 : 1;
    resets += isTaken ? 0 : isCounted;
    if (arrived % CHECKED_EVERY == 0) {
      checkConservation();
    }
  }

  private void checkConservation() {
    long there = farm.counted();
    if (arrived != ended + reset + there || there != farm.queries()) {
      throw new IllegalStateException(
          "%d arrived, but %d ended, %d were reset, %d are at the servers"
              .formatted(arrived, ended, reset, there));
    }
  }

  /** How far the queries at the servers are from what their arrivals and responses say. */
  double little() {
    return Math.abs(queriesArea / (mean() * answered) - 1);
  }

  /** How far at most: what is there at the start or at the end counts on one side only. */
  private double littleMost() {
    return LITTLE + 4.0 * (atStart + atEnd) / plan.queries();
  }

  /** Seconds that an answered query took. */
  double mean() {
    return Arrays.stream(responses, 0, answered).average().orElse(0);
  }

  double percentile(double percent) {
    return responses[(int) Math.min(answered - 1L, (long) (answered * percent / 100))];
  }

  /** The part of the queries that was reset. */
  double reset() {
    return (double) resets / plan.queries();
  }

  /** The part that its first candidate refused. */
  double passed() {
    return (double) passed / plan.queries();
  }

  /** The part that was passed on to a server with more queries (6LB, section V-E). */
  double wronglyPassed() {
    return (double) wronglyPassed / plan.queries();
  }

  /** Busy workers of a server, over time. */
  double busy() {
    return busyArea / (end - start);
  }

  double fairness() {
    return fairnessArea / (end - start);
  }

  /** The mean of the servers' thresholds at the end. */
  double threshold() {
    return threshold;
  }

  /** Queries by how many their first candidate had. */
  int[] seen() {
    return seen.clone();
  }

  /** Of each sample: the mean of busy workers, fairness. */
  double[][] samples() {
    return samples.toArray(new double[0][]);
  }
}
