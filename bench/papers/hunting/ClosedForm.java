// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The simulation against M/M/c/K: with one choice and exponential work a server is one, K its
 * workers and backlog, since the number of queries there does not depend on the order in which they
 * are served.
 */
final class ClosedForm {
  static final double RESPONSE_MOST = 0.02;
  static final double RESET_MOST = 0.005;
  private static final int WARM = 100_000;
  private static final int QUERIES = 200_000;
  private static final int SEEDS = 4;
  private static final double[] LOADS = {0.3, 0.6, 1.3};

  private ClosedForm() {}

  /** Mean response in seconds, and the part that is reset. */
  record Figures(double seconds, double reset) {
    static Figures of(Farm.Shape shape, double mean, double load) {
      double offered = load * shape.cores();
      double weight = 1;
      double sum = 0;
      double queries = 0;
      int most = shape.workers() + shape.backlog();
      for (int n = 0; n <= most; n++) {
        weight *= n == 0 ? 1 : offered / Math.min(n, shape.cores());
        sum += weight;
        queries += n * weight;
      }
      double reset = weight / sum;
      double rate = offered / mean * (1 - reset);
      return new Figures(queries / sum / rate, reset);
    }
  }

  /** Fails if the simulation is off. */
  static List<Object> check(long seed) {
    List<Object> rows = new ArrayList<>();
    Points points = new Points(seed, SEEDS, WARM, QUERIES);
    for (double load : LOADS) {
      Figures exact = Figures.of(LoadFigures.SHAPE, LoadFigures.MEAN, load);
      Map<String, Object> run =
          points.of(
              LoadFigures.plan(points, Acceptance.always(), load),
              each -> LoadFigures.uniform(Acceptance.always()));
      double seconds = (double) run.get("seconds");
      double reset = (double) run.get("reset");
      if (Math.abs(seconds / exact.seconds() - 1) > RESPONSE_MOST
          || Math.abs(reset - exact.reset()) > RESET_MOST) {
        throw new IllegalStateException(
            "load %.2f: %.4f s and %.4f reset, but M/M/c/K has %s"
                .formatted(load, seconds, reset, exact));
      }
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("load", load);
      row.put("seconds", seconds);
      row.put("exactSeconds", exact.seconds());
      row.put("reset", reset);
      row.put("exactReset", exact.reset());
      rows.add(row);
    }
    return rows;
  }
}
