// SPDX-License-Identifier: Apache-2.0

import java.util.Arrays;
import java.util.SplittableRandom;

/** Which servers a query is offered to: the first may refuse it if there is a second. */
abstract class Dispatch {
  static final int NONE = -1;

  int first;
  int second = NONE;

  abstract void choose(Farm farm, double now, SplittableRandom random);

  /** Any servers, each as likely: a ring or a table with very many buckets. */
  static Dispatch uniform(int servers, int choices) {
    return new Dispatch() {
      @Override
      void choose(Farm farm, double now, SplittableRandom random) {
        first = random.nextInt(servers);
        int other = random.nextInt(servers);
        second = choices == 1 ? NONE : other;
      }
    };
  }

  /** The list of one bucket of 6LB's table. */
  static Dispatch table(CandidateTable table) {
    return new Dispatch() {
      @Override
      void choose(Farm farm, double now, SplittableRandom random) {
        int bucket = random.nextInt(table.buckets());
        first = table.server(bucket, 0);
        second = table.choices() == 1 ? NONE : table.server(bucket, 1);
      }
    };
  }

  /** The owners of two buckets of a ring. */
  static Dispatch ring(int[] owners) {
    return new Dispatch() {
      @Override
      void choose(Farm farm, double now, SplittableRandom random) {
        first = owners[random.nextInt(owners.length)];
        second = owners[random.nextInt(owners.length)];
      }
    };
  }

  static Dispatch roundRobin(int servers) {
    return new Dispatch() {
      @Override
      void choose(Farm farm, double now, SplittableRandom random) {
        first = (first + 1) % servers;
      }
    };
  }

  /**
   * Weighted round robin (the smooth one) by the paper's weights, 0.1 + 0.9 exp(-8 (b/32)^2) for b
   * busy workers, which the farm's agents read.
   */
  static Dispatch feedback(int servers) {
    double[] weights = new double[servers];
    Arrays.fill(weights, 1);
    int[] read = new int[servers];
    double[] credit = new double[servers];
    return new Dispatch() {
      @Override
      void choose(Farm farm, double now, SplittableRandom random) {
        double total = 0;
        for (int server = 0; server < servers; server++) {
          int busy = farm.signal(server, now);
          if (busy != read[server]) {
            read[server] = busy;
            double share = busy / 32.0;
            weights[server] = 0.1 + 0.9 * StrictMath.exp(-8 * share * share);
          }
          total += weights[server];
          credit[server] += weights[server];
          first = credit[server] > credit[first] ? server : first;
        }
        credit[first] -= total;
      }
    };
  }
}
