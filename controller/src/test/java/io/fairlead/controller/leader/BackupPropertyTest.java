// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.done;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Requests;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.Listeners;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.services.ServiceView;
import io.fairlead.controller.store.repository.Backup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A cluster that changes at random, backed up meanwhile, loses ZooKeeper and is restored from any
 * of its backups, again and again. Servers remember the highest generation of each service's id,
 * and drop what comes from a lower one. So whatever is committed for an id must be above all that
 * was ever committed for it, in all of the cluster's lives.
 */
class BackupPropertyTest {
  private static final long NOW = 1_700_000_000;
  private static final int LIVES = 4;
  private static final int WRITES = 30;
  private static final int NAMES = 6;
  private static final int VIPS = 8;

  @TempDir private Path directory;
  private final SettableClock clock = new SettableClock(NOW);
  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);

  /** By id, the highest generation that a server may have seen. */
  private final Map<Integer, Long> remembered = new HashMap<>();

  private final List<Path> backups = new ArrayList<>();
  private TestingServer server;
  private FairleadController controller;

  @AfterEach
  void close() throws Exception {
    controller.close();
    server.close();
  }

  @Test
  void idsAndGenerationsNeverGoBack() throws Exception {
    server = TestZooKeeper.start();
    lead();
    for (int life = 1; life <= LIVES; life++) {
      Map<Integer, Long> before = Map.copyOf(remembered);
      liveAndBackUp(before);
      controller.close();
      server.close();
      server = TestZooKeeper.start();
      clock.set(clock.seconds() + 100 + random.nextInt(100_000));
      Path backup = backups.get(random.nextInt(backups.size()));
      try (FairleadController restoring = Controllers.prepare(options())) {
        restoring.restore(Backup.read(backup));
      }
      Map<Integer, Long> seen = Map.copyOf(remembered);
      lead();
      for (ServiceView view : Shown.services(controller)) {
        assertAbove(seen, view);
      }
    }
  }

  private ControllerOptions options() {
    return ControllerOptions.of(
            server.getConnectString(), FreePorts.nextAddress(), "/fairlead", "test", clock)
        .withClockCheck(false)
        .with(Duration.ZERO);
  }

  private void lead() throws Exception {
    controller = Controllers.open(options());
    assertThat(controller.awaitLeader(Duration.ofSeconds(60))).as("seed %d", seed).isTrue();
  }

  /** Backups are taken for as long as a life's writes last, whatever these are doing. */
  private void liveAndBackUp(Map<Integer, Long> before) throws Exception {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      Future<?> writes = thread.submit(() -> live(before));
      do {
        byte[] json = controller.backup().apply(Origin.ANONYMOUS);
        Path file = directory.resolve("backup%d.json".formatted(backups.size()));
        Backup backup = Backup.read(Files.write(file, json));
        List<ServiceConfig> services = new ArrayList<>();
        for (var image : backup.restored(clock.instant(), Map.of()).services()) {
          services.add(image.config());
          assertThat(backup.serviceIds().isTaken(image.config().id())).as("seed %d", seed).isTrue();
        }
        assertThat(Listeners.areDistinct(services)).as("seed %d", seed).isTrue();
        backups.add(file);
      } while (!writes.isDone());
      writes.get();
    } finally {
      thread.shutdownNow();
    }
  }

  private Void live(Map<Integer, Long> before) throws Exception {
    for (int write = 0; write < WRITES; write++) {
      String name = "s" + random.nextInt(NAMES);
      clock.set(clock.seconds() + random.nextInt(3));
      try {
        write(name);
      } catch (ExecutionException e) {
        // Refused: no such service, the name or the VIP is taken. It has changed nothing.
        assertThat(e).hasCauseInstanceOf(Refusal.class);
      }
      Optional<ServiceView> view = Shown.service(controller, name);
      if (view.isPresent()) {
        assertAbove(before, view.get());
        remembered.merge(view.get().config().id(), view.get().generation(), Math::max);
      }
    }
    return null;
  }

  private void write(String name) throws Exception {
    ServiceSpec spec = Requests.sized(name, "10.99.0." + random.nextInt(VIPS), 256);
    switch (random.nextInt(5)) {
      case 0, 1 -> done(controller.services().createService(spec, WriteOptions.COMMIT));
      case 2 -> done(controller.services().deleteService(name, WriteOptions.COMMIT));
      case 3 ->
          done(
              controller
                  .services()
                  .changeService(
                      name,
                      ServiceSpec.builder().vips(spec.vips().orElseThrow()).build(),
                      WriteOptions.COMMIT));
      default -> {
        Change add = Requests.add(1 + random.nextInt(4));
        done(controller.backends().change(name, List.of(add), Requests.FORCE));
      }
    }
  }

  private void assertAbove(Map<Integer, Long> before, ServiceView view) {
    int id = view.config().id();
    assertThat(view.generation())
        .as("%s, id %d, seed %d", view.config().name(), id, seed)
        .isGreaterThan(before.getOrDefault(id, 0L));
  }
}
