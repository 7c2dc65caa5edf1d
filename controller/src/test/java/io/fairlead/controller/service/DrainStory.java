// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.Requests.add;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.Drain.Reason;
import io.fairlead.controller.core.image.Drain.Then;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.drains.DrainView;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.services.ServiceSpecBuilder;
import io.fairlead.controller.store.StoreException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;

/** Drains of a service on images, with a test's own time, agents and muxes. */
abstract class DrainStory {
  static final long NOW = 1_700_000_000;
  static final int WINDOW = 240;

  /** Of muxes, as long as none lags; and how long a drain waits for one that may be absent. */
  static final int BEHIND = 60;

  static final int SETTLED = BEHIND + SettledMoves.MARGIN_SECONDS;

  /** After that, until no SYN cookie of the drained backend can come back. */
  static final int WAIT = 130;

  /** What is said of a drain that begins at {@link #NOW}, without a hold. */
  static final String EXPIRES = "ends as expired at " + Instant.ofEpochSecond(NOW + WINDOW);

  /** Connections by backend; one that is absent has no agent that reports. */
  final Map<Integer, Long> connections = new HashMap<>();

  final List<Integer> watched = new ArrayList<>();
  long now = NOW;
  long reportedAt = NOW;
  List<MuxView> muxes = List.of();
  List<MuxPresence.Absent> absent = List.of();
  ServiceImage image = image(spec());

  final DrainWatch watch =
      new DrainWatch(
          new LiveConnections() {
            @Override
            public Optional<Count> connections(String service, int backend) {
              return Optional.ofNullable(connections.get(backend))
                  .map(
                      count -> {
                        Duration age = Duration.ofSeconds(now - reportedAt);
                        return new Count(count, 0, age, Optional.of(age));
                      });
            }

            @Override
            public long connections(String service, Set<Integer> backends) {
              throw new AssertionError("a drain counts each backend");
            }

            @Override
            public Optional<String> ask(String service, int backend, BitSet buckets) {
              throw new AssertionError("a drain asks nothing");
            }

            @Override
            public Optional<Occupied> occupied(String service, int backend) {
              return Optional.empty();
            }

            @Override
            public void watch(String service, int backend) {
              watched.add(backend);
            }
          },
          new SettledServices(
              this::presence,
              () -> now,
              committed -> now - committed,
              SettledMoves.Told.AT_ONCE,
              config -> SettledMoves.Sharing.NONE),
          () -> now * 1_000_000_000L);
  private String done;
  TransitionWork work = leader();

  MuxPresence presence() {
    return new MuxPresence(
        muxes.stream().map(mux -> new MuxPresence.Present(mux, BEHIND)).toList(), absent, 0);
  }

  TransitionWork leader() {
    return new TransitionWork(
        watch,
        new CommitMetrics(new SimpleMeterRegistry()),
        (plan, options) -> {
          image = plan.after();
          done = options.origin().what();
          return plan.result();
        });
  }

  static ServiceSpecBuilder spec() {
    return Requests.spec("web", "10.99.0.1").toBuilder();
  }

  static ServiceImage image(ServiceSpecBuilder spec) {
    ServiceImage empty =
        ServiceImage.create(ServiceRules.created(spec.build(), 1, new Random(1)), NOW - 2000);
    List<Change> pool = List.of(add(1), add(2), add(3), add(4));
    return PoolPlan.of(empty, pool, Instant.ofEpochSecond(NOW - 2000), WriteOptions.COMMIT).after();
  }

  PoolPlan drain(Optional<Integer> deadline, Then then, Integer... ids) {
    PoolPlan plan =
        PoolPlan.drain(
            image,
            new DrainOrder(List.of(ids), deadline, then),
            Instant.ofEpochSecond(now),
            WriteOptions.COMMIT);
    image = plan.after();
    return plan;
  }

  /** Drains backend 2, which has no connection, while these muxes are alive. */
  void drainEmpty(MuxView... alive) {
    connections.put(2, 0L);
    muxes = List.of(alive);
    drain(Optional.empty(), Then.KEEP, 2);
  }

  /** So many seconds later each agent reports, and no drain ends by that. */
  void waitsOn(long seconds) {
    now += seconds;
    report();
    assertThat(work()).isEmpty();
  }

  /** Each agent reports now. */
  void report() {
    reportedAt = now;
  }

  /** The leader does what is due; returns what for. */
  String work() {
    done = "";
    Instant at = Instant.ofEpochSecond(now);
    if (!work.due(image, at).isAfter(at)) {
      try {
        work.run(image, at);
      } catch (StoreException e) {
        throw new AssertionError(e);
      }
    }
    return done;
  }

  /** How many buckets name it as a former owner. */
  long named(int id) {
    return IntStream.range(0, image.ring().buckets())
        .filter(bucket -> image.ring().history(bucket).indexOf(id) >= 0)
        .count();
  }

  Optional<Reason> reason(int id) {
    return Optional.ofNullable(image.transitions().drains().get(id))
        .flatMap(Drain::end)
        .map(Drain.End::reason);
  }

  DrainView view(int id) {
    return DrainView.of(image, watch).stream()
        .filter(view -> view.backend() == id)
        .findFirst()
        .orElseThrow();
  }

  static MuxView mux(String id, long generation) {
    return Muxes.mux(id, "10.1.0.11", List.of(), Map.of("web", Muxes.serving(generation)));
  }
}
