// SPDX-License-Identifier: Apache-2.0

import java.util.SplittableRandom;

/**
 * How much work a query is, in seconds of one core: by {@code StrictMath}, so the same anywhere.
 */
interface Work {
  double next(SplittableRandom random);

  static Work exponential(double mean) {
    return random -> -mean * StrictMath.log(1 - random.nextDouble());
  }

  /** Log-normal by its median and sigma; constant if sigma is 0. */
  static Work logNormal(double median, double sigma) {
    return random -> {
      double radius = StrictMath.sqrt(-2 * StrictMath.log(1 - random.nextDouble()));
      double angle = 2 * StrictMath.PI * random.nextDouble();
      return median * StrictMath.exp(sigma * radius * StrictMath.cos(angle));
    };
  }
}
