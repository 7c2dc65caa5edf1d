// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.ObjectMapper;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.core.assign.Assignment;
import io.fairlead.controller.resources.hold.Questions;
import io.fairlead.controller.resources.hold.Release;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.DeltaCodec;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.words.AssignmentMethod;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;

/**
 * What bench/run holds prints, computed by the controller's own classes: releases of many held
 * buckets, their number, bytes and time, and the time to ask about those that stay. Prints one JSON
 * document.
 *
 * <p>Run as {@code HoldFigures SEED BUCKETS SERVERS}.
 */
public final class HoldFigures {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;
  private static final int HOLD = 86_400;

  private HoldFigures() {}

  public static void main(String[] args) throws Exception {
    long seed = Long.parseLong(args[0]);
    int buckets = Integer.parseInt(args[1]);
    int servers = Integer.parseInt(args[2]);
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("seed", seed);
    result.put("buckets", buckets);
    result.put("servers", servers);
    for (boolean isScattered : new boolean[] {false, true}) {
      ServiceImage held = held(buckets, servers, isScattered, new Random(seed));
      String kind = isScattered ? "scattered" : "ranges";
      result.put(kind + ", all at the limit", releases(held, Instant.ofEpochSecond(NOW + HOLD), 1, seed));
      result.put(kind + ", nine tenths by report", releases(held, Instant.ofEpochSecond(NOW + WINDOW), 0.9, seed));
      result.put(kind + ", half by report", releases(held, Instant.ofEpochSecond(NOW + WINDOW), 0.5, seed));
    }
    System.out.println(new ObjectMapper().writeValueAsString(result));
  }

  /** An eighth of the ring has moved at NOW: to one more server for each seven that there were. */
  private static ServiceImage held(int buckets, int servers, boolean isScattered, Random random)
      throws Exception {
    ServiceConfig config =
        ServiceConfig.builder(1, "web")
            .buckets(buckets)
            .windowSeconds(WINDOW)
            .holdSeconds(HOLD)
            .build();
    int before = servers * 7 / 8;
    List<Backend> pool = new ArrayList<>();
    int[] weights = new int[Backend.MAX + 1];
    for (int id = 1; id <= servers; id++) {
      String address = "10.%d.%d.1".formatted(id / 256, id % 256);
      pool.add(new Backend(id, Address.parse(address).orElseThrow(), 100, false));
      weights[id] = id <= before ? 100 : 0;
    }
    Ring ring = Ring.empty(1, buckets, NOW - 2000);
    Runs first = Assignment.of(AssignmentMethod.BEAMER).assign(ring, weights, new FormerOwners(NOW, WINDOW, History.most(false)));
    if (isScattered) {
      Runs.Builder runs = new Runs.Builder();
      for (int bucket = 0; bucket < buckets; bucket++) {
        runs.add(bucket, 1, 1 + random.nextInt(before));
      }
      first = runs.build();
    }
    ring = ring.apply(Delta.after(ring, NOW - 1000, pool, first));
    for (int id = before + 1; id <= servers; id++) {
      weights[id] = 100;
    }
    Runs moved = Assignment.of(AssignmentMethod.BEAMER).assign(ring, weights, new FormerOwners(NOW, WINDOW, History.most(false)));
    return new ServiceImage(config, ring.apply(Delta.after(ring, NOW, List.of(), moved)));
  }

  /** All releases one after another; with a share below 1, of buckets that are reported empty. */
  private static Map<String, Object> releases(
      ServiceImage held, Instant now, double share, long seed) throws Exception {
    Agents agents = new Agents(share, held.ring().buckets(), seed);
    Questions questions = new Questions(agents, since -> since);
    ServiceImage image = held;
    int generations = 0;
    long bytes = 0;
    long most = 0;
    long buckets = 0;
    double slowest = 0;
    double asking = 0;
    int rounds = 0;
    for (int idle = 0; idle < 8; rounds++) { // owners take turns of three rounds
      long start = System.nanoTime();
      Release release = Release.of(image, now, questions.answers("web"));
      if (release.runs().size() > 0) {
        Ring ring = image.ring();
        Delta delta =
            Delta.after(ring, now.getEpochSecond(), List.of(), Runs.EMPTY).releasing(release.runs());
        Ring next = ring.apply(delta);
        byte[] encoded = DeltaCodec.encode(delta, ring);
        slowest = Math.max(slowest, (System.nanoTime() - start) / 1e9);
        image = image.withRing(next);
        generations++;
        bytes += encoded.length;
        most = Math.max(most, encoded.length);
        buckets += release.byReport() + release.atLimit();
        idle = 0;
      } else {
        idle++;
      }
      start = System.nanoTime();
      questions.ask(image, now.plusSeconds(rounds * 5L));
      asking = Math.max(asking, (System.nanoTime() - start) / 1e9);
    }
    Map<String, Object> figures = new LinkedHashMap<>();
    figures.put("buckets", buckets);
    figures.put("rounds", rounds);
    figures.put("generations", generations);
    figures.put("bytes", bytes);
    figures.put("largest", most);
    figures.put("releaseSeconds", slowest);
    figures.put("askSeconds", asking);
    return figures;
  }

  /** Agents of all servers, which answer at once. */
  private static final class Agents implements LiveConnections {
    private record Question(String name, BitSet buckets) {}

    private final BitSet connections = new BitSet();
    private final Map<Integer, Question> questions = new HashMap<>();
    private int last;

    Agents(double emptyShare, int buckets, long seed) {
      Random random = new Random(seed);
      for (int bucket = 0; bucket < buckets; bucket++) {
        connections.set(bucket, random.nextDouble() >= emptyShare);
      }
    }

    @Override
    public Optional<Count> connections(String service, int backend) {
      return Optional.of(new Count(1, 0, Duration.ZERO, Optional.of(Duration.ZERO)));
    }

    @Override
    public long connections(String service, Set<Integer> backends) {
      return backends.size();
    }

    @Override
    public Optional<String> ask(String service, int backend, BitSet buckets) {
      if (buckets.isEmpty()) {
        questions.remove(backend);
        return Optional.empty();
      }
      Question before = questions.get(backend);
      if (before == null || !before.buckets().equals(buckets)) {
        questions.put(backend, new Question("q" + ++last, (BitSet) buckets.clone()));
      }
      return Optional.of(questions.get(backend).name());
    }

    @Override
    public Optional<Occupied> occupied(String service, int backend) {
      return Optional.ofNullable(questions.get(backend))
          .map(
              question -> {
                BitSet left = (BitSet) question.buckets().clone();
                left.and(connections);
                return new Occupied(
                    left, left.cardinality(), question.name(), Duration.ZERO, Duration.ZERO);
              });
    }

    @Override
    public void watch(String service, int backend) {
      // they answer at once
    }
  }
}
