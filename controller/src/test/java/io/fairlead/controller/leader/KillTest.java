// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.core.ring.DeltaCodec;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.explain.RingView;
import io.fairlead.controller.store.repository.ChunkNodes;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.KeeperException.NoNodeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A controller with embedded ZooKeeper is killed (-9) at random moments while it commits, and
 * started again.
 */
class KillTest {
  private static final int KILLS = 6;

  /** Of one controller, with its start. */
  private static final Duration DEADLINE = Duration.ofSeconds(120);

  /** The exit value after SIGKILL. */
  private static final int KILLED = 128 + 9;

  private static final String WEB = "/fairlead/services/web";

  @TempDir private Path directory;

  @Test
  void everyAcknowledgedChangeIsThereOnce() throws Exception {
    long seed = System.nanoTime();
    System.out.println("KillTest seed " + seed);
    Random random = new Random(seed);
    long acknowledged = 2;
    for (int kill = 0; kill < KILLS; kill++) {
      acknowledged = runAndKill(acknowledged, random);
    }
    checkTheRest(acknowledged);
  }

  /** The last generation that the controller acknowledged before it was killed. */
  private long runAndKill(long acknowledged, Random random) throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty(
                    "surefire.test.class.path", System.getProperty("java.class.path")),
                KilledController.class.getName(),
                directory.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    CompletableFuture<Void> deadline =
        CompletableFuture.runAsync(
            () -> kill(process),
            CompletableFuture.delayedExecutor(DEADLINE.toSeconds(), TimeUnit.SECONDS));
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      String loaded = said(lines.readLine(), "loaded ");
      long generation = Long.parseLong(loaded.split(" ")[0]);
      // The change in flight when it was killed may have been committed without being acknowledged,
      // and only that.
      assertThat(generation).isBetween(acknowledged, acknowledged + 1);
      if (generation > 2) {
        assertThat(loaded).endsWith("weights " + weights(generation));
      }
      AtomicLong last = new AtomicLong(generation);
      int commits = 5 + random.nextInt(60);
      for (int i = 0; i < commits; i++) {
        last.set(committed(lines.readLine()));
      }
      // Somewhere in the next commits, not at the moment of an acknowledgement.
      Thread killer =
          new Thread(
              () -> {
                try {
                  TimeUnit.MICROSECONDS.sleep(random.nextInt(20_000));
                } catch (InterruptedException e) {
                  Thread.currentThread().interrupt();
                }
                kill(process);
              });
      killer.start();
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        last.set(committed(line));
      }
      killer.join();
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).as("killed; otherwise see standard error").isEqualTo(KILLED);
      return last.get();
    } finally {
      deadline.cancel(false);
      process.destroyForcibly();
    }
  }

  /** The process's own destroyForcibly would discard what it has printed already. */
  private static void kill(Process process) {
    process.toHandle().destroyForcibly();
  }

  private static long committed(String line) {
    return Long.parseLong(said(line, "committed "));
  }

  /** What follows {@code start} in a line of the controller. */
  private static String said(String line, String start) {
    assertThat(line)
        .as(
            "line \"%s...\" of the controller; none: it failed, see standard error, or took %d s",
            start, DEADLINE.toSeconds())
        .isNotNull()
        .startsWith(start);
    return line.substring(start.length());
  }

  private static List<Integer> weights(long generation) {
    return IntStream.rangeClosed(1, KilledController.BACKENDS)
        .mapToObj(id -> KilledController.weight(id, generation))
        .toList();
  }

  /**
   * Every generation that is kept follows the previous one, and snapshots agree with the deltas.
   */
  private void checkTheRest(long acknowledged) throws Exception {
    try (FairleadController controller =
        Controllers.open(
            ControllerOptions.of(
                "embedded:" + directory,
                FreePorts.nextAddress(),
                "/fairlead",
                "killed",
                InstantSource.system()))) {
      assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
      long latest = Shown.service(controller, "web").orElseThrow().generation();
      assertThat(latest).isBetween(acknowledged, acknowledged + 1);
      try (CuratorFramework client =
          CuratorFrameworkFactory.newClient(controller.zookeeper(), new RetryOneTime(100))) {
        client.start();
        Ring ring =
            await("what is kept; the leader may prune meanwhile")
                .atMost(Duration.ofSeconds(30))
                .ignoreExceptionsInstanceOf(NoNodeException.class)
                .until(() -> replay(client, latest), Objects::nonNull);
        RingView view = Shown.ring(controller, "web");
        view.runs()
            .forEach(
                (owner, runs) -> {
                  for (int[] run : runs) {
                    for (int bucket = run[0]; bucket < run[0] + run[1]; bucket++) {
                      assertThat(ring.current(bucket)).isEqualTo(owner);
                    }
                  }
                });
      }
    }
  }

  private static Ring replay(CuratorFramework client, long latest) throws Exception {
    List<String> kept = new ArrayList<>(client.getChildren().forPath(WEB + "/ring/gen"));
    Collections.sort(kept);
    assertThat(Long.parseLong(kept.get(kept.size() - 1))).as("no orphan").isEqualTo(latest);
    Ring ring = null;
    int snapshots = 0;
    for (String name : kept) {
      String node = WEB + "/ring/gen/" + name;
      long generation = Long.parseLong(name);
      if (ring != null) {
        byte[] delta = ChunkNodes.read(client, node + "/delta");
        ring = ring.apply(DeltaCodec.decodeDelta(delta, ring));
      }
      if (client.checkExists().forPath(node + "/snapshot") != null) {
        byte[] bytes = ChunkNodes.read(client, node + "/snapshot");
        Ring snapshot = DeltaCodec.decodeSnapshot(bytes, 1, generation, KilledController.BUCKETS);
        assertThat(snapshot).isEqualTo(ring == null ? snapshot : ring);
        ring = snapshot;
        snapshots++;
      }
    }
    assertThat(snapshots).isPositive();
    assertThat(ring).isNotNull();
    assertThat(ring.generation()).isEqualTo(latest);
    return ring;
  }
}
