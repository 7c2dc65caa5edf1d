// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fairlead.controller.FreePorts;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/**
 * ZooKeeper is unavailable for longer than a session lives: writes fail, reads do not, writes work
 * soon after its return, and the log has one line for each change.
 */
class OutageTest {
  private static final Logger ROOT =
      (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);

  private final ListAppender<ILoggingEvent> log = new ListAppender<>();

  @BeforeEach
  void listen() {
    log.start();
    ROOT.addAppender(log);
  }

  @AfterEach
  void stopListening() {
    ROOT.detachAppender(log);
  }

  @Test
  void writesWorkSoonAfterItsReturn() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        FairleadController controller = open(server.getConnectString())) {
      assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
      done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
      done(controller.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
      controller.plane().confirm();
      server.stop();
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> controller.plane().health().zookeeper().equals("lost"));
      assertThat(
              refusal(
                      controller
                          .backends()
                          .change("web", List.of(weight(1, 7)), WriteOptions.COMMIT))
                  .kind())
          .isEqualTo(Refusal.Kind.UNAVAILABLE);
      assertThat(Shown.backends(controller, "web")).hasSize(2);
      assertThatThrownBy(() -> controller.plane().confirm()).isInstanceOf(Refusal.class);
      server.restart();
      long returned = System.nanoTime();
      // ZooKeeperClientTest checks how soon: here a slow machine may take its time.
      await()
          .atMost(Duration.ofSeconds(30))
          .pollInterval(Duration.ofMillis(20))
          .until(() -> controller.plane().health().leader());
      assertThat(
              done(controller.backends().change("web", List.of(weight(1, 7)), WriteOptions.COMMIT))
                  .generation())
          .isEqualTo(3);
      System.out.printf(
          "OutageTest: the first write is committed %.2f s after ZooKeeper's return%n",
          (System.nanoTime() - returned) / 1e9);
    }
    assertThat(lines("connected")).hasSize(2);
    assertThat(lines("connection lost")).hasSize(1);
    assertThat(lines("leading in epoch")).hasSize(2);
    assertThat(lines("no longer leads")).hasSize(1);
    assertThat(List.copyOf(log.list)).noneMatch(line -> line.getLevel() == Level.ERROR);
  }

  /** At most 3 s later than for a controller that starts only now, however busy the machine is. */
  @Test
  void aStartWithoutZooKeeperSaysSoOnceAndWritesWorkSoonAfterItsReturn() throws Exception {
    try (TestingServer server = TestZooKeeper.start()) {
      server.stop();
      try (FairleadController controller = open(server.getConnectString())) {
        assertThat(controller.awaitLeader(Duration.ofSeconds(8))).isFalse();
        assertThat(lines("waits for ZooKeeper")).hasSize(1);
        server.restart();
        Duration waited = firstWrite(controller);
        Duration fresh;
        long began = System.nanoTime();
        try (FairleadController other = open(server.getConnectString(), "/other")) {
          firstWrite(other);
          fresh = Duration.ofNanos(System.nanoTime() - began);
        }
        System.out.printf(
            "OutageTest: that of a controller which started meanwhile after %.2f s; a fresh one's"
                + " takes %.2f s%n",
            waited.toMillis() / 1e3, fresh.toMillis() / 1e3);
        assertThat(waited).isLessThan(fresh.plusSeconds(3));
      }
    }
    assertThat(lines("waits for ZooKeeper")).hasSize(1);
    assertThat(List.copyOf(log.list)).noneMatch(line -> line.getLevel() == Level.ERROR);
  }

  /** ZooKeeper has the former process's session and nodes for six seconds after its return. */
  @Test
  void aRestartWithoutZooKeeperDoesNotWaitForTheFormerSession() throws Exception {
    try (TestingServer server = TestZooKeeper.start()) {
      FairleadController former = open(server.getConnectString());
      firstWrite(former);
      server.stop();
      former.close();
      try (FairleadController controller = open(server.getConnectString())) {
        server.restart();
        long began = System.nanoTime();
        assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
        done(controller.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
        double waited = (System.nanoTime() - began) / 1e9;
        System.out.printf("OutageTest: that of a restarted controller after %.2f s%n", waited);
        assertThat(waited).isLessThan(6);
      }
    }
  }

  /** How long it takes until the first write is committed. */
  private static Duration firstWrite(FairleadController controller) throws Exception {
    long began = System.nanoTime();
    assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    return Duration.ofNanos(System.nanoTime() - began);
  }

  private List<String> lines(String part) {
    return List.copyOf(log.list).stream()
        .filter(line -> line.getLoggerName().startsWith("io.fairlead"))
        .map(ILoggingEvent::getFormattedMessage)
        .filter(line -> line.contains(part))
        .toList();
  }

  private static FairleadController open(String zookeeper) throws Exception {
    return open(zookeeper, "/fairlead");
  }

  private static FairleadController open(String zookeeper, String root) throws Exception {
    return Controllers.open(
        ControllerOptions.of(
            zookeeper, FreePorts.nextAddress(), root, "outage", InstantSource.system()));
  }
}
