// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Proxied;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.memory.MemoryStore;
import io.fairlead.controller.store.memory.MemoryTree;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Of several services the health of one cannot be looked at. */
class HealthFaultTest {
  private static final Duration SOON = Duration.ofSeconds(30);

  private final AtomicInteger failures = new AtomicInteger();

  /** Fails when health asks for when the configuration of the first service was written. */
  private Store failing(MemoryStore real) {
    return Proxied.by(
        Store.class,
        (self, method, arguments) -> {
          if (method.getName().equals("stat")
              && arguments[0].equals("/fairlead/services/app/config")
              && Thread.currentThread().getName().startsWith("term")) {
            failures.incrementAndGet();
            throw new IllegalStateException("a fault");
          }
          return Proxied.call(real, method, arguments);
        });
  }

  @Test
  void theOthersAreLookedAt() throws Exception {
    ControllerOptions options =
        ControllerOptions.of(
            "memory", FreePorts.nextAddress(), "/fairlead", "leader", InstantSource.system());
    MemoryStore store = new MemoryTree(InstantSource.system()).client();
    try (FairleadController leader = new FairleadController(options, failing(store))) {
      leader.start(Optional.empty());
      assertThat(leader.awaitLeader(SOON)).isTrue();
      for (String name : new String[] {"app", "web"}) {
        ServiceSpec spec = spec(name, name.equals("app") ? "10.99.0.1" : "10.99.0.2");
        done(leader.services().createService(spec, WriteOptions.COMMIT));
        done(leader.services().changeService(name, checked(), WriteOptions.COMMIT));
      }
      await().atMost(SOON).until(() -> isSeen(leader, "web"));
      assertThat(failures.get()).isPositive();
      assertThat(isSeen(leader, "app")).isFalse();
    }
  }

  private static boolean isSeen(FairleadController leader, String service) {
    return leader.probes().views().get().stream().anyMatch(view -> view.service().equals(service));
  }

  private static ServiceSpec checked() {
    return ServiceSpec.builder()
        .healthCheck(HealthServiceTest.health(Optional.of("tcp"), Optional.empty()))
        .build();
  }
}
