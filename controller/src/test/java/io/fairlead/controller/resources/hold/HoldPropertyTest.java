// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.DeltaCodec;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import java.time.Instant;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random moves, connections that end, agents that answer, are late or stop, and a mux that is late
 * or absent and opens connections by the ring that it has: no release cuts off a connection before
 * its time, and what has none is released.
 */
class HoldPropertyTest {
  private static final int BUCKETS = 256;
  private static final int BACKENDS = 5;
  private static final int WINDOW = 20;
  private static final int WAIT = 20;
  private static final int HOLD = 300;
  private static final int EVERY = 5;

  /** After which an absent mux withdraws; longer than the window. */
  private static final int BEHIND = 30;

  /** It has learned that it is behind, and routers have followed. */
  private static final int QUIET = BEHIND + 10;

  private static final WriteOptions FORCE = WriteOptions.COMMIT.with(WriteOptions.OnLoss.FORCE);

  /** In all runs. */
  private static int byReport;

  private static int atLimit;
  private static int singles;
  private static int openedByLate;

  private final FakeConnections live = new FakeConnections();
  private final SettledMoves settled = new SettledMoves(SettledMoves.Told.AT_ONCE);
  private final Questions questions = new Questions(live, this::settledAt);

  /** What the late mux has. */
  private ServiceImage late;

  /** When the first generation was committed that the late mux lacks. */
  private long lacksSince;

  private boolean isAbsent;
  private long gone;

  /** By bucket and owner: the generation by which it last lost it, and that if it is released. */
  private final long[][] lost = new long[BUCKETS][BACKENDS + 1];

  private final long[][] released = new long[BUCKETS][BACKENDS + 1];
  private final BitSet[] connections = new BitSet[BACKENDS + 1];
  private final boolean[] hasAgent = new boolean[BACKENDS + 1];
  private ServiceImage image;
  private long now = 1_700_000_000;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void noReleaseCutsOffAConnection(int run) throws Exception {
    long seed = System.nanoTime() * 31 + run;
    Random random = new Random(seed);
    System.out.println("HoldPropertyTest: seed " + seed);
    begin(random);
    for (int step = 0; step < 600; step++) {
      now += 1 + random.nextInt(3);
      if (random.nextInt(25) == 0) {
        move(random);
      }
      if (random.nextInt(4) == 0) {
        end(random);
      }
      if (random.nextInt(3) > 0) {
        live.answer();
      }
      if (random.nextInt(40) == 0) {
        int backend = 1 + random.nextInt(BACKENDS);
        hasAgent[backend] = !hasAgent[backend];
        report(backend);
      }
      stepLate(random);
      if (step % 2 == 0) {
        release();
      }
    }
    releaseAll();
  }

  /** The late mux catches up, loses its session or gets another, and opens connections. */
  private void stepLate(Random random) {
    if (random.nextInt(20) == 0) {
      isAbsent = !isAbsent;
      gone = now;
      late = isAbsent ? late : image;
    } else if (!isAbsent && random.nextInt(6) == 0) {
      late = image;
    }
    boolean lacks = late.ring().generation() < image.ring().generation();
    if (isAbsent && lacks && now >= Math.max(gone, lacksSince) + QUIET) {
      return;
    }
    for (int i = 0; i < 3; i++) {
      int bucket = random.nextInt(BUCKETS);
      int owner = late.ring().current(bucket);
      assertThat(late.ring().generation())
          .as("bucket %d was released although a mux still opens connections at %d", bucket, owner)
          .isGreaterThanOrEqualTo(released[bucket][owner]);
      openedByLate += owner == image.ring().current(bucket) ? 0 : 1;
      connections[owner].set(bucket);
      report(owner);
    }
  }

  private static MuxView mux(String id, ServiceImage image) {
    return Muxes.mux(
        id, "10.1.0.11", List.of(), Map.of("web", Muxes.serving(image.ring().generation())));
  }

  private MuxPresence presence() {
    MuxPresence.Present current = new MuxPresence.Present(mux("a", image), BEHIND);
    return isAbsent
        ? new MuxPresence(
            List.of(current), List.of(new MuxPresence.Absent(mux("b", late), BEHIND, gone)), 0)
        : new MuxPresence(
            List.of(current, new MuxPresence.Present(mux("b", late), BEHIND)), List.of(), 0);
  }

  private void next(ServiceImage next) {
    if (late.ring().generation() == image.ring().generation()) {
      lacksSince = now;
    }
    image = next;
  }

  /** Of one run alone each may be missing by chance. */
  @AfterAll
  static void everyKindOfReleaseCame() {
    assertThat(byReport).isPositive();
    assertThat(atLimit).isPositive();
    assertThat(singles).isPositive();
    assertThat(openedByLate).isPositive();
  }

  private void begin(Random random) throws Exception {
    List<Change> pool = new ArrayList<>();
    for (int id = 1; id <= BACKENDS; id++) {
      pool.add(add(id));
      connections[id] = new BitSet();
      hasAgent[id] = true;
      report(id);
    }
    image =
        ServiceImage.create(
            ServiceRules.created(Requests.sized("web", "10.99.0.1", BUCKETS), 1, new Random(1)),
            now);
    image =
        image.withConfig(
            image.config().toBuilder()
                .windowSeconds(WINDOW)
                .holdSeconds(HOLD)
                .holdByDefault(false)
                .build());
    image = PoolPlan.of(image, pool, Instant.ofEpochSecond(now), FORCE).after();
    late = image;
    open(random);
  }

  /** The agent's next report, if it has one. */
  private void report(int backend) {
    if (hasAgent[backend]) {
      live.has(backend, connections[backend]);
    } else {
      live.silence(backend);
    }
  }

  private void move(Random random) throws Exception {
    List<Change> weights = new ArrayList<>();
    for (int id = 1; id <= BACKENDS; id++) {
      weights.add(weight(id, random.nextInt(3) * 50 + 10));
    }
    Ring before = image.ring();
    PoolPlan plan = PoolPlan.of(image, weights, Instant.ofEpochSecond(now), FORCE);
    next(decoded(plan));
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      int from = before.current(bucket);
      if (from != image.ring().current(bucket)) {
        lost[bucket][from] = image.ring().generation();
      }
    }
    open(random);
  }

  /** Each owner gets a connection in some of its buckets. */
  private void open(Random random) {
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      if (random.nextInt(3) == 0) {
        connections[image.ring().current(bucket)].set(bucket);
      }
    }
    for (int id = 1; id <= BACKENDS; id++) {
      report(id);
    }
  }

  private void end(Random random) {
    for (int id = 1; id <= BACKENDS; id++) {
      for (int i = 0; i < 12; i++) {
        connections[id].clear(random.nextInt(BUCKETS));
      }
      report(id);
    }
  }

  /** As the next leader would have it. */
  private ServiceImage decoded(PoolPlan plan) throws Exception {
    Ring before = image.ring();
    Delta delta = DeltaCodec.decodeDelta(DeltaCodec.encode(plan.delta(), before), before);
    Ring next = before.apply(delta);
    assertThat(next).isEqualTo(plan.after().ring());
    return image.withRing(next);
  }

  private void see() {
    settled.see(image, presence(), SettledMoves.Sharing.NONE, now, now - image.ring().committed());
  }

  private long settledAt(long since) {
    OptionalLong ago = settled.settledFor(since);
    return ago.isPresent() ? now - ago.getAsLong() : Long.MAX_VALUE;
  }

  private void release() throws Exception {
    see();
    Release release = Release.of(image, Instant.ofEpochSecond(now), questions.answers("web"));
    Ring before = image.ring();
    if (release.runs().size() > 0) {
      PoolPlan plan = PoolPlan.releasing(image, release.runs(), Instant.ofEpochSecond(now));
      assertThat(plan.result().movedBuckets()).isZero();
      next(decoded(plan));
    }
    int all = 0;
    int single = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      assertThat(image.ring().current(bucket)).isEqualTo(before.current(bucket));
      int left = before.history(bucket).size() - image.ring().history(bucket).size();
      all += left > 0 && image.ring().history(bucket).size() == 0 ? 1 : 0;
      single += left > 0 && image.ring().history(bucket).size() > 0 ? 1 : 0;
      checkReleased(before, bucket);
    }
    assertThat(single).isEqualTo(release.single());
    assertThat(all).isEqualTo(release.byReport() + release.atLimit());
    singles += single;
    byReport += release.byReport();
    atLimit += release.atLimit();
    see();
    questions.ask(image, Instant.ofEpochSecond(now));
    checkNamed();
  }

  private void checkReleased(Ring before, int bucket) {
    History history = before.history(bucket);
    for (int i = 0; i < history.size(); i++) {
      int owner = history.owner(i);
      if (image.ring().history(bucket).indexOf(owner) < 0) {
        long age = now - history.since(i);
        assertThat(age).as("bucket %d: cookies of %d", bucket, owner).isGreaterThanOrEqualTo(WAIT);
        if (age < HOLD) {
          released[bucket][owner] = lost[bucket][owner];
          assertThat(connections[owner].get(bucket))
              .as("bucket %d: a connection of %d", bucket, owner)
              .isFalse();
        }
        connections[owner].clear(bucket);
        report(owner);
      }
    }
  }

  /** Packets name whoever has a connection. */
  private void checkNamed() {
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      for (int id = 1; id <= BACKENDS; id++) {
        assertThat(
                !connections[id].get(bucket)
                    || image.ring().current(bucket) == id
                    || image.ring().history(bucket).indexOf(id) >= 0)
            .as("bucket %d: a connection of %d", bucket, id)
            .isTrue();
      }
    }
  }

  /** Once everything has ended and every agent answers, one more look releases all. */
  private void releaseAll() throws Exception {
    for (int id = 1; id <= BACKENDS; id++) {
      connections[id].clear();
      hasAgent[id] = true;
      report(id);
    }
    isAbsent = false;
    for (int look = 0; look < BACKENDS; look++) { // each releases an owner of a bucket
      late = image;
      now += WINDOW + QUIET;
      release();
      live.answer();
      now += EVERY;
      release();
    }
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      assertThat(image.ring().previous(bucket)).isZero();
    }
    release();
    assertThat(questions.isAsking()).isFalse();
  }
}
