// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.ObjectMapper;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.words.AssignmentMethod;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Which connections lose their server when others are removed or added (6LB, Figures 7 and 11d):
 * one choice, Algorithm 3, and two buckets of the controller's ring, without and with the hop to
 * the former owner that Fairlead's servers make. Prints one JSON document.
 *
 * <p>Run by bench/run hunt_candidates as {@code CandidateFigures SEED DRAWS full|small}.
 */
public final class CandidateFigures {
  private static final int[] RESET_SERVERS = {1, 2, 4, 8, 12, 16};
  private static final int FLOWS = 1000;
  private static final int FARM = 48;
  private static final int FARM_BUCKETS = 4096;
  private static final int BUSY = 8;

  private CandidateFigures() {}

  public static void main(String[] args) throws Exception {
    long seed = Long.parseLong(args[0]);
    int draws = Integer.parseInt(args[1]);
    boolean isSmall = args[2].equals("small");
    Size size = isSmall ? new Size(100, 4099, 4096) : new Size(1000, 65_537, 65_536);
    int[] changed = isSmall ? new int[] {0, 3} : IntStream.rangeClosed(0, 30).toArray();
    CandidateTable.checkExample();
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("figure7", figure7(size, changed, draws, seed));
    result.put("figure11d", figure11d(draws, seed));
    System.out.println(new ObjectMapper().writeValueAsString(result));
  }

  /** The paper's tables have a prime number of buckets in Figure 7, rings a power of two. */
  private record Size(int servers, int tableBuckets, int ringBuckets) {}

  private static Map<String, Object> figure7(Size size, int[] changed, int draws, long seed) {
    Map<String, Object> figure = new LinkedHashMap<>();
    figure.put("servers", size.servers());
    figure.put("tableBuckets", size.tableBuckets());
    figure.put("ringBuckets", size.ringBuckets());
    figure.put("draws", draws);
    figure.put("changed", changed);
    figure.put("removed", series(size, changed, draws, seed, true));
    figure.put("added", series(size, changed, draws, seed, false));
    return figure;
  }

  /**
   * By what chooses candidates: for each number of changed servers the failure rate of each draw.
   */
  private static Map<String, double[][]> series(
      Size size, int[] changed, int draws, long seed, boolean isRemoval) {
    Map<String, double[][]> series = new LinkedHashMap<>();
    int most = Arrays.stream(changed).max().orElseThrow();
    Ring beamer = Rings.first(AssignmentMethod.BEAMER, size.ringBuckets(), size.servers());
    Ring maglev = Rings.first(AssignmentMethod.MAGLEV, size.ringBuckets(), size.servers());
    int[] all = IntStream.range(0, size.servers()).toArray();
    for (int draw = 0; draw < draws; draw++) {
      SplittableRandom random = new SplittableRandom(seed + draw);
      CandidateTable.Permutations permutations =
          CandidateTable.Permutations.random(size.tableBuckets(), size.servers() + most, random);
      CandidateTable one = CandidateTable.of(permutations, all, 1);
      CandidateTable two = CandidateTable.of(permutations, all, 2);
      int[] order = shuffled(size.servers(), random);
      for (int point = 0; point < changed.length; point++) {
        int count = changed[point];
        boolean[] isGone = new boolean[size.servers()];
        IntStream.range(0, isRemoval ? count : 0).forEach(i -> isGone[order[i]] = true);
        IntPredicate stays = server -> !isGone[server];
        int[] pool =
            isRemoval
                ? Arrays.stream(all).filter(stays).toArray()
                : IntStream.range(0, size.servers() + count).toArray();
        Map<String, Double> rates = new LinkedHashMap<>();
        rates.put("one choice", one.failures(CandidateTable.of(permutations, pool, 1), stays));
        rates.put("Algorithm 3", two.failures(CandidateTable.of(permutations, pool, 2), stays));
        failures(rates, "beamer", beamer, AssignmentMethod.BEAMER, pool, stays);
        failures(rates, "maglev", maglev, AssignmentMethod.MAGLEV, pool, stays);
        for (Map.Entry<String, Double> rate : rates.entrySet()) {
          series
                  .computeIfAbsent(rate.getKey(), key -> new double[changed.length][draws])[point][
                  draw] =
              rate.getValue();
        }
      }
    }
    return series;
  }

  /**
   * The exact failure rate over all pairs of buckets, b1 and b2 independent: a remaining owner of
   * b1 fails if b1 has moved on, unless it owns b2; and the same the other way round.
   */
  private static void failures(
      Map<String, Double> rates,
      String name,
      Ring ring,
      AssignmentMethod method,
      int[] pool,
      IntPredicate stays) {
    Ring after = Rings.change(ring, method, pool);
    int[] owned = after.owned();
    double lost = 0;
    int unreached = 0;
    int all = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      int owner = Rings.owner(ring, bucket);
      if (stays.test(owner)) {
        all++;
        if (Rings.owner(after, bucket) != owner) {
          lost += 1 - (double) owned[owner + 1] / ring.buckets();
          unreached += Rings.previous(after, bucket) == owner ? 0 : 1;
        }
      }
    }
    rates.put("two buckets, " + name, lost / all);
    rates.put("two buckets, " + name + ", with former owners", (double) unreached / all);
  }

  /**
   * Of 1,000 long connections, each of which keeps a worker busy, those of remaining servers that
   * no candidate has after the change; the balancer has no memory of them.
   */
  private static Map<String, Object> figure11d(int draws, long seed) {
    Map<String, double[][]> series = new LinkedHashMap<>();
    Ring ring = Rings.first(AssignmentMethod.BEAMER, FARM_BUCKETS, FARM);
    int[] all = IntStream.range(0, FARM).toArray();
    for (int draw = 0; draw < draws; draw++) {
      SplittableRandom random = new SplittableRandom(seed + draw);
      CandidateTable.Permutations permutations =
          CandidateTable.Permutations.random(FARM_BUCKETS, FARM, random);
      CandidateTable one = CandidateTable.of(permutations, all, 1);
      CandidateTable two = CandidateTable.of(permutations, all, 2);
      int[][] flows = new int[FLOWS][];
      Arrays.setAll(
          flows, i -> new int[] {random.nextInt(FARM_BUCKETS), random.nextInt(FARM_BUCKETS)});
      int[] order = shuffled(FARM, random);
      for (int point = 0; point < RESET_SERVERS.length; point++) {
        boolean[] isGone = new boolean[FARM];
        IntStream.range(0, RESET_SERVERS[point]).forEach(i -> isGone[order[i]] = true);
        int[] pool = Arrays.stream(all).filter(server -> !isGone[server]).toArray();
        CandidateTable oneAfter = CandidateTable.of(permutations, pool, 1);
        CandidateTable twoAfter = CandidateTable.of(permutations, pool, 2);
        Ring ringAfter = Rings.change(ring, AssignmentMethod.BEAMER, pool);
        int[] resets = new int[4];
        int[] busyTwo = new int[FARM];
        int[] busyRing = new int[FARM];
        for (int[] flow : flows) {
          int server = one.server(flow[0], 0);
          resets[0] += isGone[server] ? 1 : 0;
          resets[1] += isGone[server] || oneAfter.has(flow[0], server) ? 0 : 1;
          server = hunt(busyTwo, two.server(flow[0], 0), two.server(flow[0], 1));
          resets[2] += isGone[server] || twoAfter.has(flow[0], server) ? 0 : 1;
          server = hunt(busyRing, Rings.owner(ring, flow[0]), Rings.owner(ring, flow[1]));
          resets[3] += isGone[server] || isReached(ringAfter, flow, server) ? 0 : 1;
        }
        String[] names = {
          "on removed servers, one choice", "one choice", "Algorithm 3, SR8", "ring, SR8"
        };
        for (int i = 0; i < names.length; i++) {
          series
                  .computeIfAbsent(names[i], key -> new double[RESET_SERVERS.length][draws])[point][
                  draw] =
              (double) resets[i] / FLOWS;
        }
      }
    }
    Map<String, Object> figure = new LinkedHashMap<>();
    figure.put("servers", FARM);
    figure.put("buckets", FARM_BUCKETS);
    figure.put("connections", FLOWS);
    figure.put("draws", draws);
    figure.put("changed", RESET_SERVERS);
    figure.put("resets", series);
    return figure;
  }

  private static int hunt(int[] busy, int first, int second) {
    int server = busy[first] < BUSY ? first : second;
    busy[server]++;
    return server;
  }

  private static boolean isReached(Ring ring, int[] buckets, int server) {
    return Arrays.stream(buckets)
        .anyMatch(
            bucket ->
                Rings.owner(ring, bucket) == server || Rings.previous(ring, bucket) == server);
  }

  private static int[] shuffled(int count, SplittableRandom random) {
    List<Integer> order = new ArrayList<>(IntStream.range(0, count).boxed().toList());
    for (int i = count - 1; i > 0; i--) {
      int other = random.nextInt(i + 1);
      order.set(i, order.set(other, order.get(i)));
    }
    return order.stream().mapToInt(Integer::intValue).toArray();
  }
}
