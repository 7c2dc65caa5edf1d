// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.ObjectMapper;
import io.fairlead.controller.core.assign.Assignment;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.steering.othello.ArraysCodec;
import io.fairlead.controller.core.steering.othello.NextArrays;
import io.fairlead.controller.core.steering.othello.OthelloArrays;
import io.fairlead.controller.core.steering.othello.OthelloMap;
import io.fairlead.controller.core.steering.othello.ServerBuckets;
import io.fairlead.controller.store.ArraysWrite;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.Roots;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import io.fairlead.controller.core.words.Hash;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.data.Stat;

/**
 * The controller's side of bench/run arrays: commits arrays of a service by the controller's own
 * classes, at most one set for each line on its standard input, {@code whole} or {@code patch}.
 * Before a patch a 256th of the known connections belong to another server. Prints a JSON line for
 * each: when it began, when ZooKeeper had it (latest_gen's time), seconds to build and to encode.
 *
 * <p>Run as {@code OthelloCommits ZOOKEEPER CONNECTIONS
 * BUCKETS SEED}.
 */
public final class OthelloCommits {
  private static final String NAME = "arrays";
  private static final int SERVERS = 128;
  private static final int SHARE = 256;
  private static final Tree TREE = new Tree("/fairlead");

  private final CuratorFramework client;
  private final ServiceStore store;
  private final ServiceRepository repository;
  private final SplittableRandom random;
  private final long[] keys;
  private final OthelloMap map;
  private final Epoch epoch;
  private StoredService stored;
  private Optional<OthelloArrays> newest = Optional.empty();

  private OthelloCommits(String zookeeper, int connections, int buckets, long seed)
      throws Exception {
    random = new SplittableRandom(seed);
    client = ZooKeeperClient.create(zookeeper);
    client.start();
    Roots.create(ZooKeeperStore.of(client, TREE), TREE);
    int version = client.setData().forPath(TREE.epoch(), "1".getBytes()).getVersion();
    epoch = new Epoch(1, Version.after(version));
    store = new ServiceStore(ZooKeeperStore.of(client, TREE), TREE, Duration.ofSeconds(120));
    repository = new ServiceRepository(store);
    ServiceConfig config =
        ServiceConfig.builder(1, NAME)
            .vips(List.of("198.18.0.1"))
            .ports(List.of(new ServiceConfig.Port("tcp", 80)))
            .buckets(buckets)
            .hash(Hash.SIPHASH).hashKey("000102030405060708090a0b0c0d0e0f")
            .windowSeconds(240)
            .steering(SteeringMethod.OTHELLO)
            .othello(Optional.of(new ServiceConfig.Othello(60, 120)))
            .build();
    stored = repository.create(epoch, ServiceImage.create(config, seconds()));
    commit(pool(buckets), Optional.empty());
    map = OthelloMap.sized(Hash.SIPHASH, random.nextLong(), connections);
    keys = random.longs(connections).toArray();
    for (long key : keys) {
      map.put(key, 1 + random.nextInt(SERVERS));
    }
  }

  public static void main(String[] args) throws Exception {
    OthelloCommits commits =
        new OthelloCommits(
            args[0], Integer.parseInt(args[1]), Integer.parseInt(args[2]), Long.parseLong(args[3]));
    ObjectMapper json = new ObjectMapper();
    System.out.println(json.writeValueAsString(Map.of("generation", 2)));
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
    for (String order = orders.readLine(); order != null; order = orders.readLine()) {
      System.out.println(json.writeValueAsString(commits.next(order)));
    }
    commits.client.close();
  }

  private static long seconds() {
    return System.currentTimeMillis() / 1000;
  }

  /** Each backend has as many buckets as any other. */
  private Delta pool(int buckets) {
    List<Backend> backends = new ArrayList<>();
    Runs.Builder runs = new Runs.Builder();
    for (int id = 1; id <= SERVERS; id++) {
      Address address = Address.parse("10.1.0." + id).orElseThrow();
      backends.add(new Backend(id, address, 100, false));
      int each = buckets / SERVERS;
      runs.add((id - 1) * each, each, id);
    }
    return Delta.after(stored.image().ring(), seconds(), backends, runs.build());
  }

  private void commit(Delta delta, Optional<ArraysWrite> arrays) throws Exception {
    ServiceImage image = stored.image();
    ServiceImage next = image.withRing(image.ring().apply(delta));
    stored = repository.commit(epoch, stored, next, delta, arrays);
  }

  private Map<String, Object> next(String order) throws Exception {
    boolean isWhole = order.equals("whole");
    if (!isWhole && (newest.isEmpty() || !order.equals("patch"))) {
      throw new IllegalArgumentException("'" + order + "'; allowed: whole, later patch");
    }
    int recoded = keys.length / SHARE;
    for (int i = 0; i < recoded && !isWhole; i++) {
      map.put(keys[random.nextInt(keys.length)], 1 + random.nextInt(SERVERS));
    }
    long generation = stored.image().ring().generation() + 1;
    ServerBuckets buckets = ServerBuckets.of(stored.image().ring(), Map.of());
    Optional<LatestArrays> before = stored.state().arrays();
    long begun = System.nanoTime();
    if (isWhole && newest.isPresent()) {
      map.rebuild(random.nextLong());
    }
    OthelloArrays arrays =
        isWhole
            ? NextArrays.fresh(map, generation, buckets).arrays()
            : NextArrays.change(map, newest.get(), generation, buckets).arrays();
    long built = System.nanoTime();
    byte[] bytes =
        isWhole
            ? ArraysCodec.encode(1, arrays)
            : ArraysCodec.encodePatch(1, arrays, newest.get());
    ArraysWrite write =
        isWhole
            ? ArraysWrite.ofWhole(
                bytes,
                before.map(l -> l.replaced(generation)).orElse(LatestArrays.first(generation)))
            : ArraysWrite.ofPatch(bytes, before.orElseThrow().patched(generation));
    long encoded = System.nanoTime();
    long at = System.currentTimeMillis();
    commit(
        Delta.after(stored.image().ring(), seconds(), List.of(), Runs.EMPTY), Optional.of(write));
    Stat stat = client.checkExists().forPath(TREE.latestGeneration(NAME));
    newest = Optional.of(arrays);
    if (isWhole && before.isPresent()) {
      for (long old : store.unnamedArrays(stored.state(), before)) {
        store.removeArrays(epoch, stored.state(), old);
      }
    }
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("kind", order);
    row.put("generation", generation);
    row.put("bytes", bytes.length);
    row.put("buildSeconds", (built - begun) / 1e9);
    row.put("encodeSeconds", (encoded - built) / 1e9);
    row.put("begun", at / 1e3);
    row.put("committed", stat.getMtime() / 1e3);
    return row;
  }
}
