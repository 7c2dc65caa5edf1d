// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Comparator;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BackendHeapTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void theFirstOfAllIsOnTop(long seed) {
    Random random = new Random(seed);
    int[] loads = new int[300];
    Comparator<Integer> order =
        Comparator.<Integer>comparingInt(id -> loads[id]).thenComparing(Comparator.naturalOrder());
    TreeSet<Integer> expected = new TreeSet<>(order);
    BackendHeap heap = new BackendHeap((a, b) -> order.compare(a, b) < 0);
    int next = 0;
    for (int step = 0; step < 3000; step++) {
      if (next < loads.length && (expected.isEmpty() || random.nextInt(3) == 0)) {
        loads[next] = random.nextInt(50);
        heap.add(next);
        expected.add(next++);
      } else if (!expected.isEmpty()) {
        int top = expected.pollFirst();
        assertThat(heap.top()).as("seed %d, step %d", seed, step).isEqualTo(top);
        if (random.nextInt(3) == 0) {
          heap.removeTop();
        } else {
          loads[top] += random.nextInt(20);
          heap.moveTop();
          expected.add(top);
        }
      }
      assertThat(heap.isEmpty()).isEqualTo(expected.isEmpty());
    }
    assertThat(next).isEqualTo(loads.length);
  }
}
