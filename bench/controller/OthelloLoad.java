// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.secret.SecretFile;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.zookeeper.ZooKeeperAccess;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.io.IOException;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongToIntFunction;
import org.apache.curator.framework.CuratorFramework;

/**
 * Connections of bench/run updates, and the agents that report them as protocol/README.md §11 says.
 * Each connection is a random flow hash; its server is the one to which ring and arrays lead when
 * it is opened. A server has an agent, which reports once a second.
 *
 * <p>Lines on standard input: {@code RATE}, how many connections are opened each second from then on;
 * as many are closed, the oldest, once {@code KNOWN} are open. Prints a JSON line each second.
 *
 * <p>Run as {@code OthelloLoad CONTROLLER ZOOKEEPER SERVICE
 * SERVERS AGE KNOWN SEED LOGINS}; the server of backend n has the address 10.2.(n / 256).(n % 256)
 * and its agent the token agent-of-server-n.
 */
public final class OthelloLoad {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long SECOND = 1_000_000_000L;
  private static final int REPORTERS = 16;

  private final String controller;
  private final String service;
  private final long ageNanos;
  private final int knownEach;
  private final SplittableRandom random;
  private final ServiceStore store;
  private final ServiceRepository repository;
  private final List<Agent> agents = new ArrayList<>();
  private final ExecutorService reporters = Executors.newFixedThreadPool(REPORTERS);
  private volatile int rate;
  private Optional<StoredService> stored = Optional.empty();
  private Optional<CommittedArrays> arrays = Optional.empty();
  private long opened;
  private final LongAdder reported = new LongAdder();
  private final LongAdder closed = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LongAdder waitedNanos = new LongAdder();

  private OthelloLoad(String[] args) {
    controller = args[0];
    Tree tree = new Tree("/fairlead");
    SecretFile logins = new SecretFile("LOGINS", Path.of(args[7]));
    CuratorFramework client =
        ZooKeeperClient.create(
            args[1], tree, Optional.of(ZooKeeperAccess.read(logins)), Optional.empty());
    client.start();
    store = new ServiceStore(ZooKeeperStore.of(client, tree), tree, Duration.ofSeconds(30));
    repository = new ServiceRepository(store);
    service = args[2];
    int servers = Integer.parseInt(args[3]);
    ageNanos = Long.parseLong(args[4]) * SECOND;
    knownEach = Integer.parseInt(args[5]) / servers;
    random = new SplittableRandom(Long.parseLong(args[6]));
    for (int id = 1; id <= servers; id++) {
      agents.add(new Agent(id));
    }
  }

  public static void main(String[] args) throws Exception {
    OthelloLoad load = new OthelloLoad(args);
    Thread orders =
        new Thread(
            () -> {
              try (var lines = new java.util.Scanner(System.in)) {
                while (lines.hasNextLine()) {
                  load.rate = Integer.parseInt(lines.nextLine().trim());
                }
              }
              System.exit(0);
            });
    orders.setDaemon(true);
    orders.start();
    load.run();
  }

  /** Each second: opens connections, a slice before each agent's report, at an even pace. */
  private void run() throws Exception {
    long next = System.nanoTime();
    double due = 0;
    while (true) {
      long late = 0;
      for (Agent agent : agents) {
        refresh();
        due += (double) rate / agents.size();
        for (; due >= 1; due--) {
          open();
        }
        if (agent.isReporting.compareAndSet(false, true)) {
          reporters.execute(agent::step);
        }
        next += SECOND / agents.size();
        long now = System.nanoTime();
        late = Math.max(late, now - next);
        if (now < next) {
          Thread.sleep((next - now) / 1_000_000, (int) ((next - now) % 1_000_000));
        } else if (now > next + SECOND) {
          next = now;
        }
      }
      tell(late);
    }
  }

  private void tell(long late) throws Exception {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("at", System.currentTimeMillis() / 1e3);
    row.put("opened", opened);
    row.put("reported", reported.sum());
    row.put("closed", closed.sum());
    row.put("refused", refused.sum());
    row.put("known", agents.stream().mapToInt(agent -> agent.known).sum());
    row.put("lateSeconds", late / 1e9);
    row.put("waitedSeconds", waitedNanos.sum() / 1e9);
    System.out.println(JSON.writeValueAsString(row));
    System.out.flush();
  }

  private long refreshedAt;

  /** Reads what has changed, a few times a second. */
  private void refresh() throws Exception {
    long now = System.nanoTime();
    if (stored.isPresent() && now - refreshedAt < SECOND / 4) {
      return;
    }
    refreshedAt = now;
    stored = repository.readCommitted(service, stored);
    Optional<LatestArrays> latest = stored.orElseThrow().state().arrays();
    if (!latest.map(LatestArrays::generation).equals(arrays.map(a -> a.latest().generation()))) {
      arrays = CommittedArrays.read(store, stored.get());
    }
  }

  private void open() {
    Ring ring = stored.orElseThrow().image().ring();
    long key = random.nextLong();
    LongToIntFunction codes =
        arrays.isPresent() ? arrays.get().newest()::code : hash -> (int) hash & ring.buckets() - 1;
    int owner = ring.current(codes.applyAsInt(key));
    if (owner != Backend.NONE) {
      agents.get(owner - 1).young.add(new Young(key, System.nanoTime()));
      opened++;
    }
  }

  private JsonNode call(String token, String method, String path, byte[] body)
      throws IOException {
    long begun = System.nanoTime();
    HttpURLConnection call =
        (HttpURLConnection) URI.create("http://" + controller + path).toURL().openConnection();
    call.setRequestMethod(method);
    call.setRequestProperty("Authorization", "Bearer " + token);
    if (body.length > 0) {
      call.setDoOutput(true);
      call.setFixedLengthStreamingMode(body.length);
      call.setRequestProperty("Content-Type", "application/json");
      try (OutputStream out = call.getOutputStream()) {
        out.write(body);
      }
    }
    if (call.getResponseCode() != 200) {
      String why = new String(call.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
      throw new IOException(path + ": " + call.getResponseCode() + " " + why);
    }
    JsonNode answer = JSON.readTree(call.getInputStream().readAllBytes());
    waitedNanos.add(System.nanoTime() - begun);
    return answer;
  }

  private record Young(long key, long openedAt) {}

  /** One server's agent. */
  private final class Agent {
    final String address;
    final String boot;
    final String token;
    final AtomicBoolean isReporting = new AtomicBoolean();
    final ConcurrentLinkedQueue<Young> young = new ConcurrentLinkedQueue<>();
    volatile int known;

    /** What the controller knows, the oldest first. */
    final ArrayDeque<Long> told = new ArrayDeque<>();

    long sequence;
    String version = "";
    String memory = "";
    String mark = "";
    boolean isWhole;

    Agent(int id) {
      address = "10.2.%d.%d".formatted(id / 256, id % 256);
      boot = "%032x".formatted(id);
      token = "agent-of-server-%d".formatted(id);
    }

    void step() {
      try {
        report();
      } catch (IOException | RuntimeException e) {
        System.err.println(address + ": " + e);
        refused.increment();
      } finally {
        known = told.size();
        isReporting.set(false);
      }
    }

    private void report() throws IOException {
      if (version.isEmpty()) {
        version = call(token, "GET", "/v1/agent/services", new byte[0]).path("version").asText();
      }
      long now = System.nanoTime();
      List<Long> news = new ArrayList<>();
      while (!young.isEmpty() && now - young.peek().openedAt() >= ageNanos) {
        news.add(young.poll().key());
      }
      List<Long> ends = new ArrayList<>();
      while (!isWhole && !memory.isEmpty() && told.size() + news.size() - ends.size() > knownEach
          && ends.size() < told.size()) {
        ends.add(told.poll());
      }
      JsonNode answer = call(
              token, "POST", "/v1/agent/reports", JSON.writeValueAsBytes(body(news, ends)));
      told.addAll(news);
      reported.add(memory.isEmpty() ? 0 : news.size());
      closed.add(ends.size());
      if (!answer.path("servicesVersion").asText().equals(version)) {
        version = "";
      }
      isWhole = false;
      for (JsonNode each : answer.path("connections")) {
        if (each.has("refused")) {
          refused.increment();
        }
        isWhole = each.has("refused") || !each.path("memory").asText().equals(memory);
        memory = each.path("memory").asText();
        mark = each.path("mark").asText();
      }
    }

    private Map<String, Object> body(List<Long> news, List<Long> ends) {
      Map<String, Object> one = new HashMap<>();
      one.put("name", service);
      one.put("established", told.size());
      one.put("halfOpen", 0);
      one.put("opened", news.size());
      one.put("closed", ends.size());
      if (!memory.isEmpty()) {
        List<Long> all = new ArrayList<>(isWhole ? told : List.of());
        all.addAll(news);
        Map<String, Object> connections = new HashMap<>();
        connections.put("memory", memory);
        connections.put("mark", mark);
        connections.put("whole", isWhole);
        connections.put("first", isWhole);
        connections.put("last", true);
        connections.put("opened", base64(all));
        connections.put("closed", base64(ends));
        one.put("connections", connections);
      }
      Map<String, Object> body = new HashMap<>();
      body.put("format", 1);
      body.put("boot", boot);
      body.put("sequence", ++sequence);
      body.put("version", "0.1.0");
      body.put("mode", "events");
      body.put("addresses", List.of(address));
      body.put("servicesVersion", version);
      body.put("lostEvents", 0);
      body.put("services", List.of(one));
      return body;
    }

    private static String base64(List<Long> keys) {
      ByteBuffer bytes =
          ByteBuffer.allocate(Long.BYTES * keys.size()).order(ByteOrder.LITTLE_ENDIAN);
      keys.forEach(bytes::putLong);
      return Base64.getEncoder().encodeToString(bytes.array());
    }
  }
}
