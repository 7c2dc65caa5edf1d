// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.ObjectMapper;
import io.fairlead.controller.core.assign.Assignment;
import io.fairlead.controller.core.assign.Defragmentation;
import io.fairlead.controller.core.assign.Fragmentation;
import io.fairlead.controller.core.assign.Placement;
import io.fairlead.controller.core.assign.Rebalance;
import io.fairlead.controller.core.assign.Upkeep;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.words.AssignmentMethod;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/**
 * What bench/run assignment plots, computed by the controller's own classes: evenness, rules and
 * churn of each method, fragmentation after changes, and defragmentation (Beamer, NSDI '18, Table
 * 1, Figures 5 and 25, the table of A.3). Prints one JSON document.
 *
 * <p>Run as {@code AssignmentFigures SEED RUNS}.
 */
public final class AssignmentFigures {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;
  private static final int SERVERS = 1000;
  private static final int BUCKETS = 65536;
  private static final int LARGE_SERVERS = 10_000;
  private static final int LARGE_BUCKETS = 1 << 20;

  private AssignmentFigures() {}

  public static void main(String[] args) throws Exception {
    long seed = Long.parseLong(args[0]);
    int runs = Integer.parseInt(args[1]);
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("seed", seed);
    result.put("runs", runs);
    result.put("table1", table1(seed, runs));
    result.put("figure5", figure5());
    result.put("fragmentation", fragmentation(seed));
    result.put("figure25", figure25(seed));
    result.put("seconds", durations());
    System.out.println(new ObjectMapper().writeValueAsString(result));
  }

  private static Map<String, Object> table1(long seed, int runs) throws Exception {
    Map<String, Object> rows = new LinkedHashMap<>();
    for (AssignmentMethod method : AssignmentMethod.values()) {
      // Consistent hashing has a point per unit of weight: the paper's 9K rules are ten a server.
      rows.put(method.toString(), row(method, 10, seed, runs));
    }
    rows.put("consistent, 50 points", row(AssignmentMethod.CONSISTENT, 50, seed, runs));
    return rows;
  }

  private static Map<String, Object> row(AssignmentMethod method, int weight, long seed, int runs)
      throws Exception {
    Map<String, List<Double>> row = new LinkedHashMap<>();
    for (int run = 0; run < runs; run++) {
      Random random = new Random(seed + run);
      int[] weights = pool(random, SERVERS, weight);
      Ring ring = apply(Ring.empty(1, BUCKETS, NOW), Assignment.of(method), weights, NOW);
      add(row, "imbalance", Rebalance.imbalance(ring, weights));
      add(row, "rules", Fragmentation.of(ring).rules());
      for (int percent : new int[] {1, 5}) {
        int[] fewer = without(random, weights, SERVERS * percent / 100);
        Ring after = apply(ring, Assignment.of(method), fewer, NOW + WINDOW);
        int innocent = 0;
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
          boolean isMoved = ring.current(bucket) != after.current(bucket);
          innocent += isMoved && fewer[ring.current(bucket)] > 0 ? 1 : 0;
        }
        add(row, "churn%d".formatted(percent), (double) innocent / BUCKETS);
      }
    }
    return new LinkedHashMap<>(row);
  }

  private static void add(Map<String, List<Double>> row, String key, double value) {
    row.computeIfAbsent(key, k -> new ArrayList<>()).add(value);
  }

  /** Owners of 256 buckets, the fewest a ring has, among five servers. */
  private static Map<String, Object> figure5() throws Exception {
    Map<String, Object> owners = new LinkedHashMap<>();
    for (AssignmentMethod method : AssignmentMethod.values()) {
      int[] weights = new int[Backend.MAX + 1];
      Arrays.fill(weights, 1, 6, 10);
      Ring ring = apply(Ring.empty(1, 256, NOW), Assignment.of(method), weights, NOW);
      int[] row = new int[ring.buckets()];
      Arrays.setAll(row, ring::current);
      owners.put(method.toString(), row);
    }
    return owners;
  }

  /**
   * Rules per server after one operation on a fresh ring: of 10,000 servers as in the paper, and of
   * 8,192, of which each owns exactly 128 buckets. Servers are removed at random, and evenly spaced.
   */
  private static List<Object> fragmentation(long seed) throws Exception {
    List<Object> rows = new ArrayList<>();
    Assignment beamer = Assignment.of(AssignmentMethod.BEAMER);
    for (int servers : new int[] {LARGE_SERVERS, 8192}) {
      int[] all = pool(new Random(seed), servers, 100);
      Ring fresh = apply(Ring.empty(1, LARGE_BUCKETS, NOW), beamer, all, NOW);
      for (double percent : new double[] {0.1, 10, 33, 50, 100}) {
        int some = (int) Math.round(servers * percent / 100);
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("servers", servers);
        row.put("percent", percent);
        row.put("added", rate(fresh, with(new Random(seed + 1), all, some)));
        if (some < servers) {
          row.put("removed", rate(fresh, without(new Random(seed + 2), all, some)));
          row.put("removedEvenly", rate(fresh, withoutEvery(all, servers, some)));
        }
        rows.add(row);
      }
    }
    return rows;
  }

  private static double rate(Ring fresh, int[] weights) throws Exception {
    Ring ring = apply(fresh, Assignment.of(AssignmentMethod.BEAMER), weights, NOW + WINDOW);
    return Fragmentation.of(ring).rate();
  }

  private static int[] withoutEvery(int[] weights, int servers, int some) {
    int[] fewer = weights.clone();
    long seen = 0;
    for (int id = 1; id < fewer.length; id++) {
      if (fewer[id] > 0) {
        boolean isGoing = (seen + 1) * some / servers > seen * some / servers;
        fewer[id] = isGoing ? 0 : fewer[id];
        seen++;
      }
    }
    return fewer;
  }

  /** Defragmentation of a ring in which every bucket is a run of its own, to one range per server. */
  private static List<Object> figure25(long seed) throws Exception {
    List<Object> series = new ArrayList<>();
    for (int moves : new int[] {1, 10, 100}) {
      Random random = new Random(seed);
      char[] owners = new char[LARGE_BUCKETS];
      for (int bucket = 0; bucket < owners.length; bucket++) {
        owners[bucket] = (char) (1 + bucket % LARGE_SERVERS);
      }
      for (int bucket = owners.length - 1; bucket > 0; bucket--) {
        int other = random.nextInt(bucket + 1);
        char owner = owners[bucket];
        owners[bucket] = owners[other];
        owners[other] = owner;
      }
      Ring ring = Ring.empty(1, LARGE_BUCKETS, NOW - 1);
      ring = apply(ring, Runs.between(ring, owners), NOW);
      Upkeep defragmentation = new Defragmentation();
      Upkeep.Limits limits = new Upkeep.Limits(1, moves);
      List<double[]> points = new ArrayList<>();
      points.add(new double[] {0, Fragmentation.of(ring).rate()});
      long moved = 0;
      boolean isReached = false;
      for (long now = NOW + WINDOW; !isReached; now += WINDOW) {
        Upkeep.Step step = defragmentation.step(ring, new int[0], limits, formers(now));
        moved += step.runs().buckets();
        isReached = step.reached();
        ring = apply(ring, step.runs(), now);
        points.add(new double[] {(double) moved / LARGE_BUCKETS, Fragmentation.of(ring).rate()});
      }
      series.add(Map.of("maxMoves", moves, "iterations", points.size() - 1, "points", points));
    }
    return series;
  }

  /**
   * Seconds of one core for one assignment, and for one iteration, at the greatest size; the median
   * of five.
   */
  private static Map<String, Object> durations() throws Exception {
    Map<String, Object> seconds = new LinkedHashMap<>();
    int[] weights = new int[Backend.MAX + 1];
    Arrays.fill(weights, 1, weights.length, 100);
    Ring empty = Ring.empty(1, Ring.BUCKETS_MAX, NOW);
    for (AssignmentMethod method : AssignmentMethod.values()) {
      Assignment assignment = Assignment.of(method);
      seconds.put(
          method.toString(),
          median(
              () ->
                  assignment instanceof Placement placement
                      ? placement.owners(Ring.BUCKETS_MAX, weights)
                      : assignment.assign(empty, weights, formers(NOW))));
    }
    Assignment beamer = Assignment.of(AssignmentMethod.BEAMER);
    Ring one = apply(empty, beamer, part(2, 0), NOW);
    Ring other = apply(one, beamer, part(2, 1), NOW + WINDOW);
    int[] back = part(2, 0);
    seconds.put(
        "beamer, all of it moves on within its window",
        median(() -> beamer.assign(other, back, formers(NOW + WINDOW + 10))));
    Ring scattered = apply(empty, Assignment.of(AssignmentMethod.RENDEZVOUS), weights, NOW);
    Upkeep.Limits limits = new Upkeep.Limits(1, 10);
    seconds.put(
        "rebalance, one iteration",
        median(() -> new Rebalance().step(scattered, weights, limits, formers(NOW + WINDOW))));
    seconds.put(
        "defragment, first iteration",
        median(() -> new Defragmentation().step(scattered, weights, limits, formers(NOW + WINDOW))));
    return seconds;
  }

  /** Evenly spaced backends, of weight 100. */
  private static int[] part(int every, int rest) {
    int[] weights = new int[Backend.MAX + 1];
    for (int id = 1; id <= Backend.MAX; id++) {
      weights[id] = id % every == rest ? 100 : 0;
    }
    return weights;
  }

  private static double median(Callable<?> work) throws Exception {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    double[] seconds = new double[5];
    for (int i = 0; i < seconds.length; i++) {
      long start = threads.getCurrentThreadCpuTime();
      work.call();
      seconds[i] = (threads.getCurrentThreadCpuTime() - start) / 1e9;
    }
    Arrays.sort(seconds);
    return seconds[seconds.length / 2];
  }

  private static int[] pool(Random random, int servers, int weight) {
    return with(random, new int[Backend.MAX + 1], servers, weight);
  }

  private static int[] with(Random random, int[] weights, int servers) {
    return with(random, weights, servers, 100);
  }

  private static int[] with(Random random, int[] weights, int servers, int weight) {
    int[] more = weights.clone();
    for (int left = servers; left > 0; ) {
      int id = 1 + random.nextInt(Backend.MAX);
      left -= more[id] == 0 ? 1 : 0;
      more[id] = weight;
    }
    return more;
  }

  private static int[] without(Random random, int[] weights, int servers) {
    int[] fewer = weights.clone();
    for (int left = servers; left > 0; ) {
      int id = 1 + random.nextInt(Backend.MAX);
      left -= fewer[id] > 0 ? 1 : 0;
      fewer[id] = 0;
    }
    return fewer;
  }

  private static FormerOwners formers(long now) {
    return new FormerOwners(now, WINDOW, History.most(false));
  }

  private static Ring apply(Ring ring, Assignment assignment, int[] weights, long now)
      throws Exception {
    return apply(ring, assignment.assign(ring, weights, formers(now)), now);
  }

  private static Ring apply(Ring ring, Runs runs, long now) throws Exception {
    TreeMap<Integer, Backend> owners = new TreeMap<>();
    for (int run = 0; run < runs.size(); run++) {
      int id = runs.owner(run);
      if (id != Backend.NONE && !ring.backends().containsKey(id)) {
        owners.put(id, new Backend(id, new Address(0, 0xffff_0a00_0000L + id), 100, false));
      }
    }
    List<Backend> backends = new ArrayList<>(owners.values());
    return ring.apply(
        Delta.after(ring, now, backends, runs)
            .closing(now - WINDOW)
            .releasing(ring.overflow(runs, History.most(false), Set.of(), now - WINDOW)));
  }
}
