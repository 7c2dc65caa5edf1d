// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.ObjectMapper;
import io.fairlead.controller.core.assign.Assignment;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.steering.FlowHash;
import io.fairlead.controller.core.steering.othello.ArraysCodec;
import io.fairlead.controller.core.steering.othello.NextArrays;
import io.fairlead.controller.core.steering.othello.OthelloArrays;
import io.fairlead.controller.core.steering.othello.OthelloMap;
import io.fairlead.controller.core.steering.othello.Pins;
import io.fairlead.controller.core.steering.othello.ServerBuckets;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.core.words.Hash;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.zip.CRC32;

/**
 * What bench/run othello_map prints, computed by the controller's own classes: how long it takes to
 * build arrays (Concury, SoCC '20, Figure 8) and to know connections (Figure 20), memory, how
 * evenly codes of unknown connections are spread (Figures 5 to 7) and the load by weight (Figures
 * 25 and 26). Times are processor time of one thread. Prints one JSON document.
 *
 * <p>Run as {@code OthelloFigures PART SEED MOST TESTS},
 * where PART is {@code control} or {@code codes}.
 */
public final class OthelloFigures {
  private static final int SERVERS = 128;
  private static final int BUCKETS = 4096;
  private static final int KNOWN = 65_536;
  private static final int[] SIZES = {
    8192, 16_384, 32_768, 65_536, 131_072, 1 << 20, 1 << 22, 1 << 24
  };
  private static final double Z = 1.6449; // 5 % of a normal distribution are above
  private static final double KOLMOGOROV = 1.3581; // the same of Kolmogorov's
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private OthelloFigures() {}

  public static void main(String[] args) throws Exception {
    long seed = Long.parseLong(args[1]);
    int most = Integer.parseInt(args[2]);
    Map<String, Object> result =
        args[0].equals("control") ? control(most, seed) : codes(most, Integer.parseInt(args[3]), seed);
    System.out.println(new ObjectMapper().writeValueAsString(result));
  }

  private static Map<String, Object> control(int most, long seed) throws Exception {
    construction(Math.min(most, 65_536), seed); // compiles what is measured below
    insertion(Math.min(most, 1 << 18), seed);
    Map<String, Object> construction = new LinkedHashMap<>();
    Map<String, Object> insertion = new LinkedHashMap<>();
    for (int keys : SIZES) {
      if (keys <= most) {
        construction.put("" + keys, construction(keys, seed));
        insertion.put("" + keys, insertion(keys, seed));
      }
    }
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("servers", SERVERS);
    result.put("buckets", BUCKETS);
    result.put("figure8", construction);
    result.put("figure20", insertion);
    return result;
  }

  private static Map<String, Object> codes(int most, int tests, long seed) throws Exception {
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("figure5", figure5(seed));
    result.put("figure26", figure26(Math.min(most, 1 << 22), seed));
    result.put("figure6and7", uniformity(tests, seed));
    return result;
  }

  /** Half of the buckets of one server have moved to another one. */
  private static Map<String, Object> construction(int keys, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    OthelloMap map = OthelloMap.sized(Hash.SIPHASH, seed, keys);
    for (int i = 0; i < keys; i++) {
      map.put(random.nextLong(), 1 + random.nextInt(SERVERS));
    }
    char[] owners = new char[BUCKETS];
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      owners[bucket] = (char) (1 + bucket % SERVERS);
    }
    ServerBuckets before = ServerBuckets.of(owners);
    OthelloArrays base = NextArrays.fresh(map, 1, before).arrays();
    for (int bucket = 6; bucket < BUCKETS; bucket += 2 * SERVERS) {
      owners[bucket] = 8;
    }
    ServerBuckets after = ServerBuckets.of(owners);
    int repetitions = Math.max(keys > 1 << 22 ? 1 : 3, Math.min(21, 1_000_000 / keys));
    double[] change = new double[repetitions];
    double[] fill = new double[repetitions];
    double[] again = new double[repetitions];
    double[] patch = new double[repetitions];
    double[] whole = new double[repetitions];
    Map<String, Object> figures = new LinkedHashMap<>();
    for (int i = 0; i < repetitions; i++) {
      long start = cpu();
      NextArrays next = NextArrays.change(map, base, 2, after);
      change[i] = since(start);
      start = cpu();
      byte[] patched = ArraysCodec.encodePatch(1, next.arrays(), base);
      patch[i] = since(start);
      start = cpu();
      NextArrays fresh = NextArrays.fresh(map, 2, after);
      fill[i] = since(start);
      start = cpu();
      byte[] all = ArraysCodec.encode(1, fresh.arrays());
      whole[i] = since(start);
      NextArrays.Misfits misfits =
          NextArrays.misfits(
              map, next.arrays()::code, Optional.empty(), after, Pins.NONE);
      if (misfits.count() != next.unplaced()) {
        throw new IllegalStateException("connections of " + keys + " that do not fit");
      }
      figures.put("recoded", next.recoded());
      figures.put("unplaced", next.unplaced());
      figures.put("patchBytes", patched.length);
      figures.put("wholeBytes", all.length);
    }
    for (int i = 0; i < repetitions; i++) {
      long start = cpu();
      map.rebuild(seed + 2 + i);
      NextArrays.fresh(map, 2, after);
      again[i] = since(start);
    }
    figures.put("changeSeconds", median(change));
    figures.put("fillSeconds", median(fill));
    figures.put("graphAndFillSeconds", median(again));
    figures.put("patchSeconds", median(patch));
    figures.put("wholeSeconds", median(whole));
    return figures;
  }

  private static Map<String, Object> insertion(int keys, long seed) {
    Map<String, Object> figures = new LinkedHashMap<>();
    int repetitions = Math.max(1, Math.min(21, 1_000_000 / keys));
    double[] sized = new double[repetitions];
    double[] growing = new double[repetitions];
    double[] plain = new double[repetitions];
    double[] churn = new double[repetitions];
    for (int i = 0; i < repetitions; i++) {
      OthelloMap map = OthelloMap.sized(Hash.SIPHASH, seed + i, 1);
      int rebuilds = 0;
      SplittableRandom random = new SplittableRandom(seed);
      long start = cpu();
      for (int key = 0; key < keys; key++) {
        map.put(random.nextLong(), 1 + key % SERVERS);
        if (map.needsRebuild()) {
          map.rebuild(seed + ++rebuilds);
        }
      }
      growing[i] = since(start);
      figures.put("rebuilds", rebuilds);
      map = OthelloMap.sized(Hash.SIPHASH, seed + i, keys);
      random = new SplittableRandom(seed);
      start = cpu();
      for (int key = 0; key < keys; key++) {
        map.put(random.nextLong(), 1 + key % SERVERS);
      }
      sized[i] = since(start);
      figures.put("bytes", map.bytes());
      figures.put("beside", map.beside());
      SplittableRandom oldest = new SplittableRandom(seed);
      int changes = Math.min(keys, 2_000_000);
      start = cpu();
      for (int key = 0; key < changes; key++) {
        map.remove(oldest.nextLong());
        map.put(random.nextLong(), 1 + key % SERVERS);
      }
      churn[i] = since(start) / changes;
      figures.put("besideAfterChanges", map.beside());
      figures.put("heapBytes", heap(map));
      if (keys <= 1 << 21) {
        map = null;
        random = new SplittableRandom(seed);
        Map<Long, Integer> table = new HashMap<>();
        start = cpu();
        for (int key = 0; key < keys; key++) {
          table.put(random.nextLong(), 1 + key % SERVERS);
        }
        plain[i] = since(start);
      }
    }
    figures.put("sizedSeconds", median(sized));
    figures.put("growingSeconds", median(growing));
    figures.put("closeAndOpenSeconds", median(churn));
    if (keys <= 1 << 21) {
      figures.put("hashMapSeconds", median(plain));
    }
    return figures;
  }

  /** What the map keeps alive, and the program around it (a few MB). */
  private static long heap(OthelloMap map) {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    long used = runtime.totalMemory() - runtime.freeMemory();
    return map.size() < 0 ? 0 : used;
  }

  /** One way from a flow to a number of so many bits. */
  private interface Method {
    int code(byte[] flow);
  }

  private static Map<String, Method> methods(int bits, long seed) throws Exception {
    Map<String, Method> methods = new LinkedHashMap<>();
    byte[] key = ByteBuffer.allocate(16).putLong(seed).putLong(~seed).array();
    OthelloArrays sip = arrays(Hash.SIPHASH, bits, seed);
    OthelloArrays crc = arrays(Hash.CRC32, bits, seed);
    methods.put("othello, siphash", flow -> sip.code(FlowHash.sipHash(key, flow)));
    methods.put("othello, crc32", flow -> crc.code(crc(flow)));
    for (String name : new String[] {"MD5", "SHA-256"}) {
      MessageDigest digest = MessageDigest.getInstance(name);
      methods.put(
          name,
          flow ->
              ByteBuffer.wrap(digest.digest(flow)).order(ByteOrder.LITTLE_ENDIAN).getInt()
                  & (1 << bits) - 1);
    }
    return methods;
  }

  /** The CRC, and above it its halves exchanged, as muxes make 64 bits of it. */
  private static long crc(byte[] flow) {
    CRC32 crc = new CRC32();
    crc.update(flow);
    int value = (int) crc.getValue();
    return (long) Integer.rotateLeft(value, 16) << 32 | value & 0xffffffffL;
  }

  /** With 65,536 known connections of 128 servers. */
  private static OthelloArrays arrays(Hash hash, int bits, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    OthelloMap map = OthelloMap.sized(hash, random.nextLong(), KNOWN);
    for (int i = 0; i < KNOWN; i++) {
      map.put(random.nextLong(), 1 + i % SERVERS);
    }
    char[] owners = new char[1 << bits];
    for (int bucket = 0; bucket < owners.length; bucket++) {
      owners[bucket] = (char) (1 + bucket % SERVERS);
    }
    return NextArrays.fresh(map, 1, ServerBuckets.of(owners)).arrays();
  }

  /** Clients with addresses one after another, each with 4,096 ports one after another, to a VIP. */
  private static byte[] flow(int test, int i) {
    ByteBuffer flow = ByteBuffer.allocate(13);
    flow.putInt(0x0a000000 + (test << 16) + (i >> 12)).putInt(0x0a630001);
    return flow.putChar((char) (16_384 + (i & 4095))).putChar((char) 443).put((byte) 6).array();
  }

  private static int[] counts(Method method, int bits, int test, int flows) {
    int[] counts = new int[1 << bits];
    for (int i = 0; i < flows; i++) {
      counts[method.code(flow(test, i))]++;
    }
    return counts;
  }

  private static Map<String, Object> figure5(long seed) throws Exception {
    Map<String, Object> figures = new LinkedHashMap<>();
    for (Map.Entry<String, Method> method : methods(10, seed).entrySet()) {
      int[] counts = counts(method.getValue(), 10, 0, 1 << 20);
      figures.put(method.getKey(), quantiles(Arrays.stream(counts).asDoubleStream().toArray()));
    }
    return figures;
  }

  /** The part of tests at 5 % that fail, by bits. */
  private static Map<String, Object> uniformity(int tests, long seed) throws Exception {
    Map<String, Object> figures = new LinkedHashMap<>();
    figures.put("tests", tests);
    figures.put("flowsPerCode", 16);
    for (int bits = 8; bits <= 16; bits++) {
      Map<String, int[]> failed = new LinkedHashMap<>();
      for (int test = 0; test < tests; test++) {
        for (Map.Entry<String, Method> each : methods(bits, seed + test).entrySet()) {
          int flows = 16 << bits;
          int[] counts = counts(each.getValue(), bits, test, flows);
          int[] of = failed.computeIfAbsent(each.getKey(), any -> new int[2]);
          of[0] += chiSquared(counts, flows) > chiSquaredAt5(counts.length - 1) ? 1 : 0;
          of[1] += kolmogorov(counts, flows) > KOLMOGOROV / Math.sqrt(flows) ? 1 : 0;
        }
      }
      Map<String, Object> row = new LinkedHashMap<>();
      failed.forEach(
          (name, of) ->
              row.put(
                  name,
                  Map.of(
                      "chiSquared", (double) of[0] / tests,
                      "kolmogorovSmirnov", (double) of[1] / tests)));
      figures.put("" + bits, row);
    }
    return figures;
  }

  private static double chiSquared(int[] counts, int flows) {
    double expected = (double) flows / counts.length;
    double sum = 0;
    for (int count : counts) {
      sum += (count - expected) * (count - expected) / expected;
    }
    return sum;
  }

  /** By Wilson and Hilferty's approximation. */
  private static double chiSquaredAt5(int freedom) {
    double ninth = 2.0 / (9 * freedom);
    return freedom * Math.pow(1 - ninth + Z * Math.sqrt(ninth), 3);
  }

  private static double kolmogorov(int[] counts, int flows) {
    double most = 0;
    long below = 0;
    for (int code = 0; code < counts.length; code++) {
      below += counts[code];
      double expected = (code + 1.0) / counts.length;
      most = Math.max(most, Math.abs((double) below / flows - expected));
    }
    return most;
  }

  /** Connections over weight, by the mean: weights 1 to 6, as many of each, and two of 0. */
  private static Map<String, Object> figure26(int connections, long seed) throws Exception {
    Map<String, Object> figures = new LinkedHashMap<>();
    figures.put("connections", connections);
    for (int bits : new int[] {12, 16}) {
      int[] weights = new int[65_536];
      int sum = 0;
      for (int server = 1; server <= SERVERS; server++) {
        weights[server] = server <= 2 ? 0 : 1 + server % 6;
        sum += weights[server];
      }
      Ring ring = Ring.empty(1, 1 << bits, 1_700_000_000);
      char[] owners =
          Assignment.of(AssignmentMethod.BEAMER)
              .assign(ring, weights, new FormerOwners(1_700_000_000, 240, History.most(false)))
              .owners(ring);
      Map<String, Method> methods = methods(bits, seed);
      byte[] key = ByteBuffer.allocate(16).putLong(seed).putLong(~seed).array();
      methods.put("ring", flow -> (int) FlowHash.sipHash(key, flow) & (1 << bits) - 1);
      for (String name : new String[] {"othello, siphash", "othello, crc32", "ring"}) {
        int[] loads = new int[SERVERS + 1];
        int[] counts = counts(methods.get(name), bits, 0, connections);
        for (int bucket = 0; bucket < counts.length; bucket++) {
          loads[owners[bucket]] += counts[bucket];
        }
        double[] load = new double[SERVERS - 2];
        for (int i = 0; i < load.length; i++) {
          load[i] = (double) loads[i + 3] / weights[i + 3] * sum / connections;
        }
        Map<String, Object> of = quantiles(load);
        of.put("ofWeight0", loads[1] + loads[2]);
        of.put("loads", load);
        figures.put("%d buckets, %s".formatted(1 << bits, name), of);
      }
    }
    return figures;
  }

  private static Map<String, Object> quantiles(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    Map<String, Object> of = new LinkedHashMap<>();
    of.put("min", sorted[0]);
    of.put("10%", sorted[sorted.length / 10]);
    of.put("mean", Arrays.stream(sorted).average().orElseThrow());
    of.put("90%", sorted[sorted.length * 9 / 10]);
    of.put("max", sorted[sorted.length - 1]);
    return of;
  }

  private static long cpu() {
    return THREADS.getCurrentThreadCpuTime();
  }

  private static double since(long start) {
    return (cpu() - start) / 1e9;
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }
}
