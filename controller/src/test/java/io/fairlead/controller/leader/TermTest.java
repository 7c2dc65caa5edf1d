// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Proxied;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.NodeException;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.memory.MemoryStore;
import io.fairlead.controller.store.memory.MemoryTree;
import io.fairlead.controller.store.repository.StoredService;
import java.time.Duration;
import java.time.InstantSource;
import java.util.BitSet;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Nothing of a leader's term outlasts it, however it is elected and deposed. */
class TermTest {
  private static final Duration SOON = Duration.ofSeconds(30);

  private final MemoryTree tree = new MemoryTree(InstantSource.system());
  private final HeldController first = new HeldController("first");
  private final HeldController second = new HeldController("second");
  private final Reports reports = new Reports();

  /** A controller whose loads of services can be held up or made to fail. */
  private final class HeldController {
    private final MemoryStore store = tree.client();
    private final FairleadController controller;
    private volatile boolean fails;
    private volatile boolean isHeld;
    private final CountDownLatch failures = new CountDownLatch(2);
    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);

    HeldController(String id) {
      ControllerOptions options =
          ControllerOptions.of(
                  "memory", FreePorts.nextAddress(), "/fairlead", id, InstantSource.system())
              .with(this::loading);
      controller = new FairleadController(options, store);
    }

    private Store loading(Store real) {
      return Proxied.by(
          Store.class,
          (self, method, arguments) -> {
            Object answer = Proxied.call(real, method, arguments);
            if (method.getName().equals("children") && arguments[0].equals("/fairlead/services")) {
              hold();
            }
            return answer;
          });
    }

    /** An interrupt does not end it, as one that comes too late. */
    private void hold() throws NodeException {
      if (!Thread.currentThread().getName().startsWith("election")) {
        return;
      }
      if (fails) {
        failures.countDown();
        throw new NodeException("CONNECTIONLOSS", "there is no connection", null);
      }
      if (isHeld) {
        reached.countDown();
        boolean isReleased = false;
        while (!isReleased) {
          try {
            isReleased = released.await(SOON.toSeconds(), TimeUnit.SECONDS);
          } catch (InterruptedException e) {
            Thread.interrupted();
          }
        }
      }
    }

    void start() {
      controller.start(Optional.empty());
    }

    void lead() throws InterruptedException {
      start();
      assertThat(controller.awaitLeader(SOON)).isTrue();
    }

    /** Its session ends; it is a candidate again after the other one. */
    void lose(HeldController next) throws Exception {
      store.expire();
      assertThat(next.controller.awaitLeader(SOON)).isTrue();
      store.connect();
      await().atMost(SOON).until(() -> !isLeader() && health().equals("connected"));
    }

    boolean isLeader() {
      return controller.plane().health().leader();
    }

    String health() {
      return controller.plane().health().zookeeper();
    }

    long epoch() {
      return controller.plane().health().epoch();
    }

    int weight() {
      return Shown.backends(controller, "web").get(0).weight();
    }
  }

  @AfterEach
  void close() {
    first.controller.close();
    second.controller.close();
  }

  private void create() throws Exception {
    done(first.controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(first.controller.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
  }

  private static long termThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(each -> each.getName().startsWith("term-"))
        .count();
  }

  @Test
  void whatOneTermWasToldIsUnknownInTheNext() throws Exception {
    first.lead();
    create();
    BitSet buckets = new BitSet();
    buckets.set(3);
    SoftState told = first.controller.softState();
    String question = told.reports().ask("web", 1, buckets).orElseThrow();
    reports.from(first.controller, 1, Reports.web(7, Optional.empty(), Optional.empty()));
    assertThat(told.reports().connections("web", 1)).isPresent();
    second.start();

    first.lose(second);
    SoftState none = first.controller.softState();
    assertThat(none.reports().connections("web", 1)).as("a follower").isEmpty();
    assertThat(none.reports().ask("web", 1, buckets)).isEmpty();
    second.lose(first);
    SoftState next = first.controller.softState();
    assertThat(next.reports()).isNotSameAs(told.reports());
    assertThat(next.settled()).isNotSameAs(told.settled());
    assertThat(next.drains()).isNotSameAs(told.drains());
    assertThat(next.reports().connections("web", 1)).as("the next term").isEmpty();
    assertThat(next.reports().ask("web", 1, buckets).orElseThrow()).isNotEqualTo(question);
    assertThat(first.epoch()).isEqualTo(3);
  }

  /** Its images of the term before must not replace what its watch has read since. */
  @Test
  void noReadGoesBackIfTheNextTermIsNotLoaded() throws Exception {
    first.lead();
    create();
    second.start();
    first.lose(second);
    done(second.controller.backends().change("web", List.of(weight(1, 7)), WriteOptions.COMMIT));
    assertThat(first.weight()).isEqualTo(7);

    first.fails = true;
    second.controller.close();
    assertThat(first.failures.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    first.store.disconnect();
    await().atMost(SOON).until(() -> first.health().equals("suspended"));
    await()
        .during(Duration.ofMillis(500))
        .atMost(SOON)
        .until(() -> !first.isLeader() && first.weight() == 7);

    first.fails = false;
    first.store.connect();
    assertThat(first.controller.awaitLeader(SOON)).isTrue();
    assertThat(first.weight()).isEqualTo(7);
  }

  @Test
  void whoReadsWhenItIsElectedFindsAllServices() throws Exception {
    first.lead();
    create();
    second.start();
    await().atMost(SOON).until(second.controller::isServing);
    Collection<StoredService> read = second.controller.plane().services();
    first.controller.close();
    assertThat(second.controller.awaitLeader(SOON)).isTrue();
    await().during(Duration.ofMillis(200)).atMost(SOON).until(() -> read.size() == 1);
  }

  @Test
  void aTermThatIsLostWhileItIsLoadedWritesNothing() throws Exception {
    first.lead();
    create();
    first.controller.close();
    second.isHeld = true;
    second.start();
    assertThat(second.reached.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(second.isLeader()).as("before it has loaded").isFalse();
    HeldController third = new HeldController("third");
    try (FairleadController leader = third.controller) {
      third.start();
      second.store.expire();
      assertThat(leader.awaitLeader(SOON)).isTrue();
      second.store.connect();
      second.released.countDown();
      done(leader.backends().change("web", List.of(weight(1, 7)), WriteOptions.COMMIT));
      await().atMost(SOON).until(() -> second.health().equals("connected") && !second.isLeader());
      assertThat(
              refusal(
                      second
                          .controller
                          .backends()
                          .change("web", List.of(weight(1, 8)), WriteOptions.COMMIT))
                  .kind())
          .isEqualTo(Refusal.Kind.UNAVAILABLE);
      await().atMost(SOON).until(() -> second.weight() == 7);
      assertThat(third.weight()).isEqualTo(7);
    }
  }

  @Test
  void aControllerThatIsClosedWhileItLoadsNeverLeads() throws Exception {
    long before = termThreads();
    first.isHeld = true;
    first.start();
    assertThat(first.reached.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    first.controller.close();
    first.released.countDown();
    await()
        .during(Duration.ofMillis(500))
        .atMost(SOON)
        .until(() -> !first.isLeader() && termThreads() == before);
  }

  @Test
  void termsThatFollowOneAnotherQuicklyLeaveNoThreads() throws Exception {
    long before = termThreads();
    first.lead();
    create();
    long one = termThreads() - before;
    second.start();
    for (int i = 0; i < 5; i++) {
      first.lose(second);
      second.lose(first);
    }
    await().atMost(SOON).until(() -> termThreads() == before + one);
    assertThat(first.epoch()).isEqualTo(11);
    done(first.controller.backends().change("web", List.of(weight(1, 7)), WriteOptions.COMMIT));
    assertThat(second.weight()).isEqualTo(7);
    assertThat(first.controller.metrics().scrape()).contains("fairlead_controller_agents{");
    assertThat(second.controller.metrics().scrape()).doesNotContain("fairlead_controller_agents{");
  }
}
