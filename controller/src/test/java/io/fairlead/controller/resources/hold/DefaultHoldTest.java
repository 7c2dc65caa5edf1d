// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.words.Encap;
import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.hold.DefaultHold.Change;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** When a service for which no hold is set begins and ends to hold. */
class DefaultHoldTest {
  private static final int WINDOW = 240;
  private static final int HOLD = ServiceConfig.HOLD_DEFAULT_SECONDS;
  private static final long START = 1_700_000_000;
  private static final ServiceConfig DEFAULT =
      ServiceConfig.builder(1, "web").buckets(256).windowSeconds(WINDOW).build().withDefaultHold();

  private final FakeConnections live = new FakeConnections();
  private DefaultHold hold = new DefaultHold(live);
  private ServiceImage image = new ServiceImage(DEFAULT, Ring.empty(1, 256, START));
  private long now = START;

  private void backends(int... weights) throws Exception {
    Backend[] all = new Backend[weights.length];
    for (int i = 0; i < weights.length; i++) {
      Address address = Address.parse("10.1.0." + (i + 1)).orElseThrow();
      all[i] = new Backend(i + 1, address, weights[i], false);
    }
    apply(List.of(all), Runs.EMPTY);
  }

  private void move(int bucket, int owner) throws Exception {
    apply(List.of(), new Runs.Builder().add(bucket, 1, owner).build());
  }

  /** With windows that end by time, where there is no hold. */
  private void apply(List<Backend> backends, Runs moves) throws Exception {
    long closed = image.config().closedUntil(now, true);
    Delta delta = Delta.after(image.ring(), now, backends, moves).closing(closed);
    image = image.withRing(image.ring().apply(delta));
  }

  /** What is to change now, which then is the configuration. */
  private Optional<Change> look() {
    Optional<Change> change = hold.next(image, Instant.ofEpochSecond(now));
    change.ifPresent(each -> image = image.withConfig(each.config()));
    return change;
  }

  private Optional<Change> lookIn(long seconds) {
    now += seconds;
    return look();
  }

  private String words() {
    return DefaultHold.words(image, live, Instant.ofEpochSecond(now));
  }

  @Test
  void itBeginsOnceTheAgentsOfAllBackendsWithAWeightReport() throws Exception {
    assertThat(look()).isEmpty();
    assertThat(words()).endsWith("report: no backend has a weight");
    backends(100, 100, 0);
    live.has(1);
    assertThat(lookIn(5)).isEmpty();
    assertThat(words())
        .isEqualTo(
            "for the window of 240 s, until the agents of all backends report: backend 2 has no"
                + " agent");
    live.has(2);
    assertThat(lookIn(4)).as("every 5 s").isEmpty();
    Change change = lookIn(1).orElseThrow();
    assertThat(change.config().holdSeconds()).isEqualTo(HOLD);
    assertThat(change.config().holdByDefault()).isTrue();
    assertThat(change.options().origin().who()).isEqualTo("controller");
    assertThat(words())
        .isEqualTo("until its agent reports no connections, 86400 s at most, by default");
    assertThat(lookIn(5)).isEmpty();
  }

  /** One that drains, or that health took out of service: its buckets name it for the window. */
  @Test
  void itDoesNotBeginWhileABucketNamesABackendWhoseAgentIsSilent() throws Exception {
    backends(100, 0);
    apply(List.of(), new Runs.Builder().add(0, 255, 1).add(255, 1, 2).build());
    live.has(1);
    assertThat(look()).as("2 owns a bucket").isEmpty();
    assertThat(words()).endsWith("report: backend 2 has no agent");
    move(255, 1);
    assertThat(lookIn(5)).as("and had one").isEmpty();
    assertThat(lookIn(WINDOW - 6)).isEmpty();
    assertThat(words()).endsWith("report: backend 2 has no agent");
    assertThat(lookIn(6)).isPresent();
  }

  /** Lists of one or two former owners would be full for a day. */
  @Test
  void whereFewFormerOwnersAreNamedThereIsNoDefault() {
    for (SteeringMethod method : List.of(SteeringMethod.HUNT, SteeringMethod.MAAT)) {
      assertThat(DEFAULT.toBuilder().steering(method).build().withDefaultHold().holdByDefault())
          .isFalse();
    }
    assertThat(DEFAULT.toBuilder().encap(Encap.IPIP).build().withDefaultHold().holdByDefault())
        .isFalse();
  }

  /** New flows would go to the oldest former owner for as long. */
  @Test
  void whereDatagramsGoToFormerOwnersItDoesNotBegin() throws Exception {
    image = image.withConfig(withUdp(false));
    backends(100);
    live.has(1);
    assertThat(lookIn(5)).isEmpty();
    assertThat(words())
        .isEqualTo("for the window of 240 s, as datagrams go to former owners for so long");
    image = image.withConfig(withUdp(true));
    assertThat(lookIn(5)).isPresent();
    image = image.withConfig(withUdp(false).withDefaultHold(true));
    assertThat(lookIn(5).orElseThrow().config().holdSeconds()).as("it became one").isZero();
  }

  private static ServiceConfig withUdp(boolean isStateless) {
    return DEFAULT.toBuilder()
        .ports(List.of(new Port("udp", 53)))
        .statelessUdp(isStateless)
        .build();
  }

  /** Its entry outlives the window already, and would do so for a day. */
  @Test
  void itDoesNotGrowWhileAFormerOwnerThatIsHeldIsSilent() throws Exception {
    image = image.withConfig(DEFAULT.withHold(300).withDefaultHold());
    backends(100, 0);
    apply(List.of(), new Runs.Builder().add(0, 255, 1).add(255, 1, 2).build());
    move(255, 1);
    live.has(1);
    assertThat(lookIn(WINDOW + 10)).isEmpty();
    assertThat(lookIn(60)).isPresent();
  }

  @Test
  void aShorterHoldThatWasSetBefore() throws Exception {
    image = image.withConfig(DEFAULT.withHold(300).withDefaultHold());
    backends(100);
    assertThat(image.config().holdSeconds()).isEqualTo(300);
    assertThat(lookIn(5)).isEmpty();
    live.has(1);
    assertThat(lookIn(5).orElseThrow().config().holdSeconds()).isEqualTo(HOLD);
  }

  @Test
  void itGoesOnWhileAgentsAreSilentUntilTheBound() throws Exception {
    held();
    live.silence(1);
    assertThat(lookIn(HOLD)).as("one is heard").isEmpty();
    live.silence(2);
    assertThat(lookIn(HOLD - 1)).isEmpty();
    live.has(2);
    assertThat(lookIn(5)).isEmpty();
    live.silence(2);
    hold = new DefaultHold(live);
    assertThat(lookIn(HOLD)).as("another leader").isEmpty();
    assertThat(lookIn(HOLD - 1)).isEmpty();
    Change change = lookIn(5).orElseThrow();
    assertThat(change.config().holdSeconds()).isZero();
    assertThat(change.config().holdByDefault()).isTrue();
    live.has(1);
    assertThat(lookIn(5)).as("one of two").isEmpty();
    live.has(2);
    assertThat(lookIn(5)).as("it begins again").isPresent();
  }

  @Test
  void itEndsOnlyIfNoBucketIsHeldForLessTimeThereby() throws Exception {
    held();
    live.silence(1);
    live.silence(2);
    now += HOLD;
    move(7, 2);
    assertThat(look()).isEmpty();
    assertThat(lookIn(HOLD - 1)).as("7 names 1").isEmpty();
    assertThat(lookIn(5)).isPresent();
  }

  /** Backends 1 and 2, which share the buckets and whose agents report. */
  private void held() throws Exception {
    backends(100, 100);
    apply(List.of(), new Runs.Builder().add(0, 128, 1).add(128, 128, 2).build());
    live.has(1).has(2);
    assertThat(look()).isPresent();
  }

  @Test
  void whatIsSetStays() throws Exception {
    for (int seconds : new int[] {0, 600}) {
      image = new ServiceImage(DEFAULT.withHold(seconds), Ring.empty(1, 256, now));
      backends(100);
      live.has(1);
      assertThat(image.config().holdByDefault()).isFalse();
      assertThat(lookIn(5)).isEmpty();
      live.silence(1);
      assertThat(lookIn(2 * HOLD)).isEmpty();
      assertThat(words())
          .isEqualTo(
              seconds == 0
                  ? "for the window of 240 s, as holdSeconds is 0"
                  : "until its agent reports no connections, 600 s at most, as holdSeconds says");
    }
  }

  @Test
  void aRefusalIsLoggedOnceWhileOnlyItsFiguresChange() {
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    Logger logger = (Logger) LoggerFactory.getLogger(DefaultHold.class);
    log.start();
    logger.addAppender(log);
    try {
      for (int left = 20; left > 0; left -= 5) {
        hold.refused(image, Refusal.conflict("holdSeconds", HOLD, "this in %d s".formatted(left)));
      }
      assertThat(log.list).hasSize(1);
      assertThat(log.list.get(0).getFormattedMessage())
          .as("with its figures")
          .endsWith("allowed: this in 20 s");
      Refusal other = Refusal.unavailable("clock", "12.5 s ahead", "at most 10 s");
      hold.refused(image, other);
      assertThat(log.list).as("another reason").hasSize(2);
      hold.committed();
      hold.refused(image, other);
      assertThat(log.list).as("again, after a commit").hasSize(3);
    } finally {
      logger.detachAppender(log);
    }
  }

  @Test
  void othelloReleasesFormerOwnersItself() {
    ServiceConfig othello =
        ServiceConfig.builder(1, "web")
            .buckets(256)
            .steering(SteeringMethod.OTHELLO)
            .build()
            .withDefaultHold();
    assertThat(othello.holdByDefault()).isFalse();
    image = new ServiceImage(othello, Ring.empty(1, 256, now));
    assertThat(look()).isEmpty();
    assertThat(words()).startsWith("until no known connection needs them");
  }

  /**
   * Agents come and go, buckets move, leaders change: a hold begins only while all agents report,
   * and ends only after as long without any, and never cuts what is held.
   */
  @RepeatedTest(8)
  void itNeverFlaps() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    System.out.println("DefaultHoldTest: seed " + seed);
    backends(100, 100, 100);
    TreeSet<Integer> heard = new TreeSet<>();
    long lastHeard = now;
    int begun = 0;
    for (int step = 0; step < 4000; step++) {
      // A report counts for 30 s, so each is there at one look at least, which are 5 s apart.
      now += 5 + (random.nextInt(8) == 0 ? random.nextInt(HOLD) : random.nextInt(20));
      if (random.nextInt(5) == 0) {
        int backend = 1 + random.nextInt(3);
        if (heard.remove(backend)) {
          live.silence(backend);
        } else if (random.nextInt(3) == 0) {
          heard.add(backend);
          live.has(backend);
        }
      }
      if (random.nextInt(60) == 0) {
        move(random.nextInt(256), 1 + random.nextInt(3));
      }
      if (random.nextInt(50) == 0) {
        hold = new DefaultHold(live);
      }
      lastHeard = heard.isEmpty() ? lastHeard : now;
      ServiceImage before = image;
      Optional<Change> change = look();
      if (change.isPresent() && change.get().config().holdSeconds() > 0) {
        assertThat(heard).as("begins at %d", now).hasSize(3);
        assertThat(before.config().holdSeconds()).isZero();
        begun++;
      } else if (change.isPresent()) {
        assertThat(now - lastHeard).as("ends at %d", now).isGreaterThanOrEqualTo(HOLD);
        assertThat(
                Release.ofChange(before, image.config(), Instant.ofEpochSecond(now))
                    .shortenedBuckets())
            .isZero();
      }
    }
    assertThat(begun).isPositive();
  }
}
