// SPDX-License-Identifier: Apache-2.0

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Servers as in 6LB's experiment: each has workers, which share its cores evenly, and a backlog, in
 * which connections wait for a worker in order. What exceeds the backlog is reset.
 *
 * <p>A worker's query ends when the server's progress, the work that each of them got since the
 * server was idle, reaches a mark that is fixed when it starts; so an event costs a look at one
 * server's workers and a path in the tree of the servers' next ends.
 */
final class Farm {
  /** Of each server. */
  record Shape(int servers, int cores, int workers, int backlog) {}

  private final Shape shape;
  private final Acceptance acceptance;
  private final int[] busy;
  private final double[] progress;
  private final double[] updated;
  private final double[][] marks;
  private final double[][] arrivals;
  private final int[] next;
  private final Backlog[] backlogs;

  private final double[] ends;
  private final int[] earliest; // a tree: each node the server below it that has the earliest end
  private final int leaves;

  private final int[] thresholds;
  private final int[] attempts;
  private final int[] accepted;

  private final int[] readings;
  private final double[] nextReading;
  private final double[] stalled;
  private final double[] stalledBefore;
  private final int[] taken;

  private long total;
  private long busySum;
  private long busySquares;

  Farm(Shape shape, Acceptance acceptance, SplittableRandom random) {
    int servers = shape.servers();
    this.shape = shape;
    this.acceptance = acceptance;
    busy = new int[servers];
    progress = new double[servers];
    updated = new double[servers];
    marks = new double[servers][shape.workers()];
    arrivals = new double[servers][shape.workers()];
    next = new int[servers];
    backlogs = new Backlog[servers];
    Arrays.setAll(backlogs, server -> new Backlog());
    leaves = Integer.highestOneBit(2 * servers - 1);
    ends = new double[leaves];
    Arrays.fill(ends, Double.POSITIVE_INFINITY);
    earliest = new int[2 * leaves];
    for (int node = 2 * leaves - 1; node > 0; node--) {
      earliest[node] = node < leaves ? earliest[2 * node] : node - leaves;
    }
    thresholds = new int[servers];
    Arrays.fill(thresholds, acceptance.c());
    attempts = new int[servers];
    accepted = new int[servers];
    readings = new int[servers];
    nextReading = new double[servers];
    Arrays.setAll(nextReading, server -> acceptance.everySeconds() * random.nextDouble());
    stalled = new double[servers];
    stalledBefore = new double[servers];
    taken = new int[servers];
  }

  /** When the next query ends. */
  double nextEnd() {
    return ends[earliest[1]];
  }

  /** Ends that query; returns when it arrived. */
  double end() {
    int server = earliest[1];
    double now = ends[server];
    read(server, now);
    advance(server, now);
    progress[server] = marks[server][next[server]];
    double arrived = arrivals[server][next[server]];
    int last = busy[server] - 1;
    marks[server][next[server]] = marks[server][last];
    arrivals[server][next[server]] = arrivals[server][last];
    setBusy(server, last);
    total--;
    Backlog backlog = backlogs[server];
    if (backlog.length > 0) {
      start(server, backlog.arrivals[backlog.head], backlog.works[backlog.head]);
      backlog.remove();
    } else if (last == 0) {
      progress[server] = 0;
    }
    schedule(server);
    return arrived;
  }

  /** Whether the server, a query's first candidate of two, takes it (Algorithms 1 and 2). */
  boolean accepts(int server, double now) {
    if (acceptance.isDynamic() && ++attempts[server] == Acceptance.WINDOW) {
      double share = (double) accepted[server] / Acceptance.WINDOW;
      if (share < 0.5 - Acceptance.EPSILON && thresholds[server] < acceptance.most()) {
        thresholds[server]++;
      } else if (share > 0.5 + Acceptance.EPSILON && thresholds[server] > 0) {
        thresholds[server]--;
      }
      attempts[server] = 0;
      accepted[server] = 0;
    }
    boolean isAccepted = signal(server, now) < thresholds[server];
    accepted[server] += isAccepted ? 1 : 0;
    return isAccepted;
  }

  /** Takes a query; returns false if it is reset, as the backlog is full. */
  boolean take(int server, double now, double work) {
    Backlog backlog = backlogs[server];
    if (busy[server] == shape.workers() && backlog.length == shape.backlog()) {
      return false;
    }
    read(server, now);
    taken[server]++;
    total++;
    if (busy[server] < shape.workers()) {
      advance(server, now);
      start(server, now, work);
      schedule(server);
    } else {
      backlog.add(now, work);
    }
    return true;
  }

  /** What the server's program knows of how busy it is. */
  int signal(int server, double now) {
    if (acceptance.everySeconds() == 0) {
      return count(server);
    }
    read(server, now);
    return readings[server] + (acceptance.isCounting() ? taken[server] : 0);
  }

  /** Queries at the server, in work or waiting. */
  int queries(int server) {
    return busy[server] + backlogs[server].length;
  }

  /** Queries at all servers, by arrivals and ends. */
  long queries() {
    return total;
  }

  /** The same by a look at each server. */
  long counted() {
    return IntStream.range(0, shape.servers()).mapToLong(this::queries).sum();
  }

  double meanBusy() {
    return (double) busySum / shape.servers();
  }

  /** Jain's index of the numbers of busy workers; 1 if no server has any. */
  double fairness() {
    return busySum == 0 ? 1 : (double) busySum * busySum / shape.servers() / busySquares;
  }

  double meanThreshold() {
    return Arrays.stream(thresholds).average().orElseThrow();
  }

  private int count(int server) {
    return switch (acceptance.signal()) {
      case WORKERS -> busy[server];
      case IN_WORK -> queries(server);
      case QUEUE -> backlogs[server].length;
      case STALL -> busy[server] > shape.cores() ? 100 : 0;
    };
  }

  /**
   * Makes up for the agent's readings until {@code now}. To be called before anything changes at
   * the server, so that what it has now is what it had at the last of them.
   */
  private void read(int server, double now) {
    double every = acceptance.everySeconds();
    if (every == 0 || nextReading[server] > now) {
      return;
    }
    double last = nextReading[server] + every * Math.floor((now - nextReading[server]) / every);
    readings[server] = count(server);
    if (acceptance.signal() == Acceptance.Signal.STALL) {
      double before =
          last > nextReading[server] ? stalledAt(server, last - every) : stalledBefore[server];
      stalledBefore[server] = stalledAt(server, last);
      readings[server] = (int) Math.round(100 * (stalledBefore[server] - before) / every);
    }
    taken[server] = 0;
    nextReading[server] = last + every;
  }

  private double stalledAt(int server, double time) {
    return stalled[server] + (busy[server] > shape.cores() ? time - updated[server] : 0);
  }

  private double rate(int server) {
    return busy[server] <= shape.cores() ? 1 : (double) shape.cores() / busy[server];
  }

  private void advance(int server, double now) {
    double passed = now - updated[server];
    if (busy[server] > shape.cores()) {
      stalled[server] += passed;
    }
    progress[server] += busy[server] > 0 ? passed * rate(server) : 0;
    updated[server] = now;
  }

  private void start(int server, double arrived, double work) {
    marks[server][busy[server]] = progress[server] + work;
    arrivals[server][busy[server]] = arrived;
    setBusy(server, busy[server] + 1);
  }

  private void setBusy(int server, int count) {
    busySum += count - busy[server];
    busySquares += (long) count * count - (long) busy[server] * busy[server];
    busy[server] = count;
  }

  private void schedule(int server) {
    double end = Double.POSITIVE_INFINITY;
    if (busy[server] > 0) {
      int first = 0;
      for (int worker = 1; worker < busy[server]; worker++) {
        first = marks[server][worker] < marks[server][first] ? worker : first;
      }
      next[server] = first;
      end = updated[server] + (marks[server][first] - progress[server]) / rate(server);
    }
    ends[server] = end;
    for (int node = (server + leaves) / 2; node > 0; node /= 2) {
      int left = earliest[2 * node];
      int right = earliest[2 * node + 1];
      earliest[node] = ends[left] <= ends[right] ? left : right;
    }
  }

  /** Connections that wait for a worker, in order. */
  private static final class Backlog {
    double[] arrivals = new double[16];
    double[] works = new double[16];
    int head;
    int length;

    void add(double arrived, double work) {
      if (length == arrivals.length) {
        arrivals = grown(arrivals);
        works = grown(works);
        head = 0;
      }
      int tail = (head + length) % arrivals.length;
      arrivals[tail] = arrived;
      works[tail] = work;
      length++;
    }

    void remove() {
      head = (head + 1) % arrivals.length;
      length--;
    }

    private double[] grown(double[] values) {
      double[] more = new double[2 * values.length];
      for (int i = 0; i < length; i++) {
        more[i] = values[(head + i) % values.length];
      }
      return more;
    }
  }
}
