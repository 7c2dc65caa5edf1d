// SPDX-License-Identifier: Apache-2.0

/**
 * When the first candidate takes a new connection: 6LB's Algorithms 1 (static) and 2 (dynamic), by
 * what the server knows of itself.
 *
 * @param c the threshold: it takes what comes while the signal is below; the first one if dynamic
 * @param most the dynamic policy's greatest threshold
 * @param everySeconds how often an agent reads the signal; 0 if the server's program always knows
 *     it
 * @param isCounting whether the program adds what it has taken since the reading
 */
record Acceptance(
    Signal signal, int c, boolean isDynamic, int most, double everySeconds, boolean isCounting) {
  static final int WINDOW = 50;
  static final double EPSILON = 0.1;
  private static final int FIRST = 1;

  /** What makes a server busy. */
  enum Signal {
    /** Workers that have a query: the paper's. */
    WORKERS,
    /** Connections whose query has not been answered: those that wait for a worker, too. */
    IN_WORK,
    /** Connections that wait for a worker. */
    QUEUE,
    /** Percent of the last interval in which a query waited for a core (PSI's "some"). */
    STALL
  }

  /** One candidate, which takes all. */
  static Acceptance always() {
    return new Acceptance(Signal.WORKERS, Integer.MAX_VALUE, false, 0, 0, false);
  }

  static Acceptance fixed(Signal signal, int c) {
    return new Acceptance(signal, c, false, 0, 0, false);
  }

  static Acceptance dynamic(Signal signal, int most) {
    return new Acceptance(signal, FIRST, true, most, 0, false);
  }

  Acceptance readEvery(double seconds) {
    return new Acceptance(signal, c, isDynamic, most, seconds, isCounting);
  }

  Acceptance counting() {
    return new Acceptance(signal, c, isDynamic, most, everySeconds, true);
  }
}
