// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.ring.RingChange.Difference;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What a ring remembers of the generations that led to it. */
class RingChangeTest {
  private static final int BUCKETS = 256;

  private static Ring next(Ring ring, List<Backend> backends, Runs runs) throws RefusedException {
    return ring.apply(Delta.after(ring, 1001 + ring.generation(), backends, runs));
  }

  private static Backend backend(int id) {
    return new Backend(id, Address.parse("10.1.0." + id).orElseThrow(), 100, false);
  }

  private static Ring pool(int size) throws RefusedException {
    List<Backend> backends = IntStream.rangeClosed(1, size).mapToObj(id -> backend(id)).toList();
    Runs.Builder runs = new Runs.Builder();
    for (int id = 1; id <= size; id++) {
      int start = BUCKETS * (id - 1) / size;
      runs.add(start, BUCKETS * id / size - start, id);
    }
    return next(Ring.empty(1, BUCKETS, 1000), backends, runs.build());
  }

  @Test
  void differencesAreThoseOfTheOwnersBefore() throws RefusedException {
    Ring ring = pool(2);
    assertThat(ring.changes())
        .containsExactly(
            new RingChange(
                2,
                1002,
                256,
                List.of(new Difference(0, -256), new Difference(1, 128), new Difference(2, 128)),
                0));
    Ring moved = next(ring, List.of(), new Runs.Builder().add(120, 20, 2).build());
    // Eight of the twenty were of backend 1, the others of backend 2 before.
    assertThat(moved.changes()).hasSize(2);
    assertThat(moved.changes().get(1))
        .isEqualTo(
            new RingChange(3, 1003, 8, List.of(new Difference(1, -8), new Difference(2, 8)), 0));
    assertThat(ring.changes()).hasSize(1);
  }

  @Test
  void ofManyOnlyTheLargestAreKept() throws RefusedException {
    RingChange change = pool(20).changes().get(0);
    assertThat(change.largest()).hasSize(8);
    assertThat(change.largest().get(0)).isEqualTo(new Difference(0, -256));
    assertThat(change.others()).isEqualTo(13);
  }

  @Test
  void theLatestAreRemembered() throws RefusedException {
    Ring ring = pool(2);
    for (int i = 0; i < 60; i++) {
      ring = next(ring, List.of(), new Runs.Builder().add(i, 1, 1 + i % 2).build());
    }
    assertThat(ring.changes()).hasSize(RingChange.REMEMBERED_MAX);
    assertThat(ring.changes().get(0).generation()).isEqualTo(13);
    assertThat(ring.changes().get(49).generation()).isEqualTo(ring.generation());
    assertThat(ring.withGeneration(99).changes()).isEmpty();
    Ring snapshot = pool(2).withGeneration(20).remembering(ring);
    assertThat(snapshot.changes()).hasSize(8); // 13 to 20
    assertThat(snapshot.changes().get(7).generation()).isEqualTo(20);
    assertThat(snapshot.remembering(Ring.empty(2, BUCKETS, 1000))).isSameAs(snapshot);
  }
}
