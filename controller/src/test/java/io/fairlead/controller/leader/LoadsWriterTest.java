// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Maat;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.words.MaatLoad;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Loads;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Version;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** When which loads are written. */
class LoadsWriterTest {
  private static final Epoch FIRST = new Epoch(1, Version.after(1));
  private static final Epoch SECOND = new Epoch(2, Version.after(2));
  private static final long NOW = 1_700_000_000;

  private final Map<Integer, SortedMap<Integer, Long>> known = new HashMap<>();
  private final List<String> written = new ArrayList<>();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Map<String, Loads> found = new HashMap<>();
  private boolean fails;
  private long now;
  private LoadsWriter writer = leader(FIRST);

  private LoadsWriter leader(Epoch of) {
    return new LoadsWriter(
        image -> known.getOrDefault(image.config().id(), new TreeMap<>()),
        new LoadsWriter.Store() {
          @Override
          public void write(Epoch epoch, String service, Loads loads) throws StoreException {
            if (fails) {
              throw new StoreException("no ZooKeeper");
            }
            written.add("%d %s %s".formatted(epoch.number(), service, loads.loads()));
          }

          @Override
          public Optional<Loads> readSince(String service, Instant since) throws StoreException {
            if (fails) {
              throw new StoreException("no ZooKeeper");
            }
            assertThat(since).isEqualTo(Instant.ofEpochSecond(NOW - 10));
            return Optional.ofNullable(found.get(service));
          }
        },
        of,
        () -> Instant.ofEpochSecond(NOW),
        () -> now,
        registry);
  }

  private static ServiceImage service(int id, MaatLoad load) {
    return ServiceImage.create(
        ServiceConfig.builder(id, "s" + id)
            .buckets(256)
            .windowSeconds(240)
            .steering(SteeringMethod.MAAT)
            .maat(Optional.of(new Maat(load, 10, 1000, 65_536, 3)))
            .build(),
        1_700_000_000);
  }

  private static ServiceImage byAgents(int id) {
    return service(id, MaatLoad.AGENTS);
  }

  private static ServiceImage withBackends(Integer... ids) throws RefusedException {
    List<Backend> backends = new ArrayList<>();
    for (int id : ids) {
      backends.add(new Backend(id, Address.parse("10.2.0." + id).orElseThrow(), 100, false));
    }
    Ring ring = Ring.empty(1, 256, 1);
    return byAgents(1).withRing(ring.apply(Delta.after(ring, 2, backends, Runs.EMPTY)));
  }

  private List<String> step(ServiceImage... services) {
    written.clear();
    writer.step(List.of(services));
    return written;
  }

  private void busy(int service, long... loads) {
    SortedMap<Integer, Long> map = new TreeMap<>();
    for (int i = 0; i < loads.length; i++) {
      map.put(i + 1, loads[i]);
    }
    known.put(service, map);
  }

  private void pass(Duration time) {
    now += time.toNanos();
  }

  @Test
  void onlyWhatChangedIsWritten() {
    busy(1, 3, 4);
    busy(2, 5);
    assertThat(step(byAgents(1), byAgents(2))).containsExactly("1 s1 {1=3, 2=4}", "1 s2 {1=5}");
    assertThat(step(byAgents(1), byAgents(2))).isEmpty();
    busy(2, 6);
    assertThat(step(byAgents(1), byAgents(2))).containsExactly("1 s2 {1=6}");
    assertThat(registry.counter("fairlead.controller.loads.writes", "result", "written").count())
        .isEqualTo(3);
  }

  @Test
  void onlyServicesThatGoByAgentsHaveThem() {
    busy(1, 3);
    ServiceImage[] others = {
      service(1, MaatLoad.PACKETS),
      service(1, MaatLoad.BYTES),
      service(1, MaatLoad.CONNECTIONS),
      ServiceImage.create(ServiceConfig.builder(1, "s1").buckets(256).build(), 1_700_000_000)
    };
    for (ServiceImage other : others) {
      assertThat(step(other)).isEmpty();
    }
    assertThat(step(byAgents(1))).hasSize(1);
    assertThat(step(others[0])).isEmpty();
    assertThat(step(byAgents(1))).as("again").hasSize(1);
  }

  @Test
  void theLastLoadThatIsKnownIsTakenAway() {
    busy(1, 3, 4);
    step(byAgents(1));
    busy(1, 3);
    assertThat(step(byAgents(1))).containsExactly("1 s1 {1=3}");
    busy(1);
    assertThat(step(byAgents(1))).containsExactly("1 s1 {}");
    assertThat(step(byAgents(1))).isEmpty();
  }

  @Test
  void aNewLeaderLeavesWhatItFindsUntilItHearsOrAgentsHadTheTime() {
    assertThat(step(byAgents(1))).isEmpty();
    pass(Duration.ofSeconds(10).minusNanos(1));
    assertThat(step(byAgents(1))).isEmpty();
    pass(Duration.ofNanos(1));
    assertThat(step(byAgents(1))).containsExactly("1 s1 {}");
    busy(1, 3);
    assertThat(step(byAgents(1))).containsExactly("1 s1 {1=3}");
    writer = leader(SECOND);
    assertThat(step(byAgents(1))).as("leads again").containsExactly("2 s1 {1=3}");
    busy(1);
    assertThat(step(byAgents(1))).containsExactly("2 s1 {}");
  }

  /** Its first report must not make all other servers unknown. */
  @Test
  void aNewLeaderKeepsWhatItFindsOfServersThatItHasNotHeard() throws RefusedException {
    ServiceImage service = withBackends(1, 2, 3);
    found.put("s1", Loads.of(new TreeMap<>(Map.of(1, 8L, 2, 9L, 77, 5L))));
    assertThat(step(service)).isEmpty();
    busy(1, 3);
    assertThat(step(service)).containsExactly("1 s1 {1=3, 2=9}");
    found.clear();
    busy(1, 4);
    assertThat(step(service)).as("once found").containsExactly("1 s1 {1=4, 2=9}");
    pass(Duration.ofSeconds(10).minusNanos(1));
    assertThat(step(service)).as("again").containsExactly("1 s1 {1=4, 2=9}");
    pass(Duration.ofNanos(1));
    assertThat(step(service)).containsExactly("1 s1 {1=4}");
    writer = leader(SECOND);
    assertThat(step(service)).as("nothing is found").containsExactly("2 s1 {1=4}");
  }

  /** Muxes take loads that are not written again for those of a leader that is gone. */
  @Test
  void whatStaysIsWrittenAgainBeforeItSeemsOld() {
    busy(1, 3);
    step(byAgents(1));
    pass(LoadsWriter.REPEAT.minusNanos(1));
    assertThat(step(byAgents(1))).isEmpty();
    pass(Duration.ofNanos(1));
    assertThat(step(byAgents(1))).containsExactly("1 s1 {1=3}");
    assertThat(step(byAgents(1))).isEmpty();
    busy(1);
    step(byAgents(1));
    pass(Duration.ofHours(1));
    assertThat(step(byAgents(1))).as("there is nothing to be old").isEmpty();
  }

  @Test
  void whatWasNotWrittenIsWrittenAsItIsThen() {
    busy(1, 3);
    fails = true;
    assertThat(step(byAgents(1))).isEmpty();
    busy(1, 4);
    fails = false;
    assertThat(step(byAgents(1))).containsExactly("1 s1 {1=4}");
    fails = true;
    busy(1, 5);
    step(byAgents(1));
    fails = false;
    busy(1, 4);
    assertThat(step(byAgents(1))).as("it may have been written").hasSize(1);
    assertThat(registry.counter("fairlead.controller.loads.writes", "result", "failed").count())
        .isEqualTo(2);
  }

  @Test
  void anotherServiceOfTheNameIsAnother() {
    busy(1, 3);
    busy(2, 3);
    step(byAgents(1));
    assertThat(step(byAgents(2))).hasSize(1);
    assertThat(step(byAgents(1))).as("forgotten").hasSize(1);
  }
}
