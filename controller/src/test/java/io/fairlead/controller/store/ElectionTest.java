// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Proxied;
import io.fairlead.controller.store.memory.MemoryStore;
import io.fairlead.controller.store.memory.MemoryTree;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A controller that stands for election again after a fault. */
class ElectionTest {
  private static final Tree TREE = new Tree("/fairlead");
  private static final int SOON_SECONDS = 30;

  private final MemoryTree tree = new MemoryTree(InstantSource.system());
  private final BlockingQueue<String> calls = new LinkedBlockingQueue<>();
  private final AtomicInteger faults = new AtomicInteger();

  private final class Listener implements Election.Listener {
    @Override
    public void enter() {
      calls.add("enter");
    }

    @Override
    public void lead(Epoch epoch) {
      calls.add("lead " + epoch.number());
    }

    @Override
    public void follow() {
      calls.add("follow");
    }
  }

  private Store failingToStand(Store real) {
    return Proxied.by(
        Store.class,
        (self, method, arguments) -> {
          if (method.getName().equals("stand")
              && faults.getAndUpdate(n -> Math.max(0, n - 1)) > 0) {
            throw new IllegalStateException("a fault");
          }
          return Proxied.call(real, method, arguments);
        });
  }

  private String next() throws InterruptedException {
    return calls.poll(SOON_SECONDS, TimeUnit.SECONDS);
  }

  @Test
  void whoseEpochIsOverStandsAgainEvenIfThatFailsAtFirst() throws Exception {
    try (MemoryStore store = tree.client();
        MemoryStore other = tree.client();
        Election election =
            new Election(
                failingToStand(store), TREE, "c1", Optional.empty(), false, new Listener())) {
      store.start();
      other.start();
      election.start();
      assertThat(List.of(next(), next())).containsExactly("enter", "lead 1");
      faults.set(2);
      other.write(List.of(Operation.set(TREE.epoch(), Decimal.write(2))));
      String call = next();
      while ("follow".equals(call)) {
        call = next();
      }
      assertThat(call).isEqualTo("lead 3");
      assertThat(faults).hasValue(0);
    }
  }
}
