// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.store.ServiceIds.Free;
import io.fairlead.controller.store.ServiceIds.Next;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ids of services are given again, and their generations rise. */
class ServiceIdsTest {
  private static final long NOW = 1_700_000_000;
  private static final long DAY = 86_400;

  @Test
  void anIdIsGivenAgainADayAfterItsServiceWasDeleted() {
    ServiceIds ids = ServiceIds.NONE.taking(1).taking(2).freeing(1, NOW, 41);
    assertThat(ids.isTaken(1)).isFalse();
    assertThat(ids.isTaken(2)).isTrue();
    assertThat(ids.isTaken(3)).isFalse();
    assertThat(ids.next(ofEpochSecond(NOW + DAY - 1))).contains(new Next(3, 1));
    assertThat(ids.next(ofEpochSecond(NOW + DAY))).contains(new Next(1, 42));
    ServiceIds both = ids.freeing(2, NOW - 5, 7);
    assertThat(both.next(ofEpochSecond(NOW + DAY)))
        .as("the one that is free for longer")
        .contains(new Next(2, 8));
    assertThat(both.taking(2).next(ofEpochSecond(NOW + DAY))).contains(new Next(1, 42));
  }

  @Test
  void whereAllAreInUseNoneIsGiven() {
    ServiceIds all = ServiceIds.NONE.taking(ServiceIds.MAX);
    assertThat(all.next(ofEpochSecond(NOW))).isEmpty();
    assertThat(all.nextAt()).isZero();
    ServiceIds one = all.freeing(7, NOW, 1);
    assertThat(one.next(ofEpochSecond(NOW))).isEmpty();
    assertThat(one.nextAt()).isEqualTo(NOW + DAY);
    assertThat(one.next(ofEpochSecond(NOW + DAY))).contains(new Next(7, 2));
  }

  /** What is free has to fit into a node. */
  @Test
  void ofTooManyThatAreFreeOneIsAwaited() {
    TreeMap<Integer, Free> free = new TreeMap<>();
    for (int id = 1; id <= ServiceIds.FREE_MAX; id++) {
      free.put(20_000 + id, new Free(NOW + id, 0xffff_ffffL));
    }
    ServiceIds ids = new ServiceIds(1, ServiceIds.MAX - 1, 1, free);
    assertThat(ids.next(ofEpochSecond(NOW))).isEmpty();
    assertThat(ids.next(ofEpochSecond(NOW + 1 + DAY))).contains(new Next(20_001, 0xffff_ffffL));
    assertThat(NodeJson.write(ids).length).isLessThan(450_000);
  }

  @Test
  void afterARestoreNoIdIsGivenForADay() {
    ServiceIds ids = ServiceIds.NONE.taking(4).freeing(1, NOW, 2_000_000_000).freeing(3, NOW, 5);
    ServiceIds restored = ids.restored(ofEpochSecond(NOW + 10 * DAY), NOW, Set.of(4));
    assertThat(restored.next(ofEpochSecond(NOW + 11 * DAY - 1))).contains(new Next(5, NOW));
    assertThat(restored.free())
        .isEqualTo(
            Map.of(
                1, new Free(NOW + 10 * DAY, 2_000_000_001),
                2, new Free(NOW + 10 * DAY, NOW),
                3, new Free(NOW + 10 * DAY, NOW)));
  }

  /**
   * No two services have an id at a time, and each starts above all generations of those before.
   */
  @Property(tries = 200)
  void generationsOfAnIdRise(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    ServiceIds ids = ServiceIds.NONE;
    Map<Integer, Long> seen = new HashMap<>();
    Map<Integer, Long> generations = new HashMap<>();
    long now = NOW;
    for (int step = 0; step < 300; step++) {
      now += random.nextInt((int) DAY / 4);
      if (random.nextInt(20) == 0) {
        long start = now + random.nextInt(1000);
        ids = ids.restored(ofEpochSecond(now), start, new HashSet<>(generations.keySet()));
        generations.replaceAll((id, generation) -> Math.max(generation, start));
      } else if (random.nextBoolean() || generations.isEmpty()) {
        Next next = ids.next(ofEpochSecond(now)).orElseThrow();
        assertThat(generations).doesNotContainKey(next.id());
        assertThat(next.generation()).isGreaterThan(seen.getOrDefault(next.id(), 0L));
        generations.put(next.id(), next.generation());
        ids = ids.taking(next.id());
      } else {
        int id = generations.keySet().iterator().next();
        long latest = generations.remove(id) + random.nextInt(50);
        seen.put(id, latest);
        ids = ids.freeing(id, now, latest);
      }
      assertThat(NodeJson.readServiceIds(NodeJson.write(ids))).isEqualTo(ids);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[]",
        "{\"format\":2,\"last\":0,\"first\":1,\"free\":{}}",
        "{\"format\":1,\"last\":0,\"free\":{}}",
        "{\"format\":1,\"last\":-1,\"first\":1,\"free\":{}}",
        "{\"format\":1,\"last\":65536,\"first\":1,\"free\":{}}",
        "{\"format\":1,\"last\":1,\"first\":0,\"free\":{}}",
        "{\"format\":1,\"last\":1,\"first\":1,\"free\":{\"2\":{\"since\":1,\"generation\":1}}}",
        "{\"format\":1,\"last\":1,\"first\":1,\"free\":{\"0\":{\"since\":1,\"generation\":1}}}",
        "{\"format\":1,\"last\":1,\"first\":1,\"free\":{\"1\":{\"since\":1,\"generation\":0}}}",
        "{\"format\":1,\"last\":1,\"first\":1,\"free\":{\"1\":{\"since\":-1,\"generation\":1}}}",
        "{\"format\":1,\"last\":1,\"first\":1,\"free\":{\"1\":null}}",
      })
  void malformedOnesAreRefused(String json) {
    assertThatThrownBy(() -> NodeJson.readServiceIds(json.getBytes(StandardCharsets.UTF_8)))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("service_ids");
  }
}
