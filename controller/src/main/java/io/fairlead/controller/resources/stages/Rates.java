// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

/**
 * Whether one rate of events exceeds another, by exact one-sided tests that hold for small counts.
 * Two rates are compared by the conditional test of Przyborowski and Wilenski ("Homogeneity of
 * results in testing samples from Poisson series", Biometrika 31, 1940): given the sum of both
 * counts, the one of the first sample is binomial.
 */
final class Rates {
  /** How unlikely a result must be if the rates were equal. */
  static final double SIGNIFICANCE = 0.001;

  /** Relative to the sum, below which further terms do not count. */
  private static final double PRECISION = 1e-12;

  /** More trials count as so many at the same rate: their factorials would not be exact. */
  private static final double TRIALS_MAX = 1e9;

  private Rates() {}

  /** Whether {@code events} of {@code trials} are too many for a rate of {@code allowed}. */
  static boolean exceeds(long events, long trials, double allowed) {
    return tail(events, trials, allowed) < SIGNIFICANCE;
  }

  /** Whether the rate is more than {@code factor} times that of the others, as far as is known. */
  static boolean exceeds(
      long events, long trials, long otherEvents, long otherTrials, double factor) {
    double weighted = factor * trials;
    double all = (double) events + otherEvents;
    return tail(events, all, weighted / (weighted + otherTrials)) < SIGNIFICANCE;
  }

  /**
   * The probability of {@code some} or more successes in {@code of} trials; 1 if they are no more
   * than expected.
   */
  static double tail(double some, double of, double chance) {
    double part = Math.min(1, TRIALS_MAX / of);
    long events = (long) (some * part);
    long trials = (long) (of * part);
    if (events <= trials * chance) {
      return 1;
    }
    double term =
        Math.exp(
            logFactorial(trials)
                - logFactorial(events)
                - logFactorial(trials - events)
                + events * Math.log(chance)
                + (trials - events) * Math.log1p(-chance));
    double sum = 0;
    for (long k = events; k <= trials && term > sum * PRECISION; k++) {
      sum += term;
      term *= (trials - k) / (k + 1.0) * chance / (1 - chance);
    }
    return Math.min(1, sum);
  }

  /** By Stirling's series from 10 on. */
  private static double logFactorial(long n) {
    if (n < 10) {
      double product = 1;
      for (long k = 2; k <= n; k++) {
        product *= k;
      }
      return Math.log(product);
    }
    double x = n + 1.0;
    return (x - 0.5) * Math.log(x)
        - x
        + 0.5 * Math.log(2 * Math.PI)
        + 1 / (12 * x)
        - 1 / (360 * x * x * x);
  }
}
