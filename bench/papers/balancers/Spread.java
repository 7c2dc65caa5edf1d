// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Of values over servers, or of figures over runs. */
final class Spread {
  private Spread() {}

  static double mean(double[] values) {
    return Arrays.stream(values).sum() / values.length;
  }

  /** Mean square of the distances from the mean. */
  static double variance(double[] values) {
    double mean = mean(values);
    return Arrays.stream(values).map(value -> (value - mean) * (value - mean)).sum()
        / values.length;
  }

  /** Mean, lowest and highest of each figure over the runs. */
  static Map<String, Object> of(List<Map<String, Double>> runs) {
    Map<String, Object> all = new LinkedHashMap<>();
    for (String name : runs.get(0).keySet()) {
      double[] values = runs.stream().mapToDouble(run -> run.get(name)).toArray();
      all.put(name, of(values));
    }
    return all;
  }

  static Map<String, Double> of(double[] values) {
    Map<String, Double> of = new LinkedHashMap<>();
    of.put("mean", mean(values));
    of.put("least", Arrays.stream(values).min().orElseThrow());
    of.put("most", Arrays.stream(values).max().orElseThrow());
    return of;
  }
}
