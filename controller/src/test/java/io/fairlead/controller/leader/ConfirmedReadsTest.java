// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.common.util.concurrent.Uninterruptibles;
import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Proxied;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.services.ServiceView;
import io.fairlead.controller.store.Store;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A confirmed read is the latest or an error, at every controller. */
class ConfirmedReadsTest {
  private static final Duration SOON = Duration.ofSeconds(30);

  private final CountDownLatch isOver = new CountDownLatch(1);
  private final CountDownLatch isCommitted = new CountDownLatch(1);
  private volatile boolean isHolding;

  /** Of several kinds, at the controller that leads. */
  enum Write {
    CHANGE(leader -> leader.backends().change("web", List.of(weight(1, 7)), WriteOptions.COMMIT)),
    SETTINGS(leader -> leader.services().changeService("web", window(17), WriteOptions.COMMIT)),
    CREATE(
        leader -> leader.services().createService(spec("mail", "10.99.0.2"), WriteOptions.COMMIT)),
    DELETE(leader -> leader.services().deleteService("web", WriteOptions.COMMIT));

    private final Function<FairleadController, CompletionStage<Result>> begin;

    Write(Function<FairleadController, CompletionStage<Result>> begin) {
      this.begin = begin;
    }

    private static ServiceSpec window(int seconds) {
      return ServiceSpec.builder().windowSeconds(seconds).build();
    }
  }

  /**
   * The committing controller gets the answer last: others may have read the commit and reported it
   * by then.
   */
  @ParameterizedTest
  @EnumSource
  void theLeaderShowsWhatOthersHaveReadAlready(Write write) throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        FairleadController leader = open(server.getConnectString(), "leader", this::learningLate)) {
      assertThat(leader.awaitLeader(SOON)).isTrue();
      done(leader.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
      done(leader.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
      List<ServiceView> before = Shown.services(leader);
      try (FairleadController other = open(server.getConnectString(), "other", store -> store)) {
        await().atMost(SOON).until(() -> confirms(other));
        isHolding = true;
        CompletionStage<Result> underWay = write.begin.apply(leader);
        assertThat(isCommitted.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        await().atMost(SOON).until(() -> confirms(other));
        List<ServiceView> latest = Shown.services(other);
        assertThat(latest).isNotEqualTo(before);
        CompletableFuture<List<ServiceView>> read =
            CompletableFuture.supplyAsync(
                () -> {
                  leader.plane().confirm();
                  return Shown.services(leader);
                });
        assertThat(isDoneWithin(read, 1)).as("it waits for what it commits").isFalse();
        isOver.countDown();
        assertThat(read.get(SOON.toSeconds(), TimeUnit.SECONDS)).isEqualTo(latest);
        done(underWay);
      } finally {
        isOver.countDown();
      }
    }
  }

  private static boolean isDoneWithin(CompletableFuture<?> future, int seconds) throws Exception {
    try {
      future.get(seconds, TimeUnit.SECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    }
  }

  /** A commit of which only ZooKeeper knows is read again, without another request. */
  @Test
  void theLeaderReadsWhatItDoesNotKnowToBeCommitted() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        FairleadController leader = open(server.getConnectString(), "leader", this::notLearning)) {
      assertThat(leader.awaitLeader(SOON)).isTrue();
      done(leader.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
      done(leader.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
      isHolding = true;
      Refusal unknown =
          refusal(leader.backends().change("web", List.of(weight(1, 7)), WriteOptions.COMMIT));
      assertThat(unknown.kind()).isEqualTo(Refusal.Kind.UNAVAILABLE);
      await().atMost(SOON).until(() -> confirms(leader));
      assertThat(leader.plane().health().epoch()).isEqualTo(1);
      assertThat(Shown.backends(leader, "web").get(0).weight()).isEqualTo(7);
    }
  }

  private Store notLearning(Store real) {
    return Proxied.by(
        Store.class,
        (self, method, arguments) -> {
          Object result = Proxied.call(real, method, arguments);
          if (method.getName().equals("write")
              && isHolding
              && Thread.currentThread().getName().startsWith("writer")) {
            isHolding = false;
            throw new IllegalStateException("the answer is lost");
          }
          return result;
        });
  }

  /** Its commits are applied, and it gets their answers when the test is over. */
  private Store learningLate(Store real) {
    return Proxied.by(
        Store.class,
        (self, method, arguments) -> {
          Object result = Proxied.call(real, method, arguments);
          if (method.getName().equals("write") && isHolding) {
            isCommitted.countDown();
            Uninterruptibles.awaitUninterruptibly(isOver);
          }
          return result;
        });
  }

  /**
   * A new connection answers before the watch is set again, and no event reports what was committed
   * in between. Here that lasts until the test is over: Curator sets the watch again once it has
   * told its listeners of the break.
   */
  @Test
  void aFollowerThatWasCutOffShowsWhatItHasMissed() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        FlakyProxy proxy = new FlakyProxy(server.getPort());
        FairleadController leader = open(server.getConnectString(), "leader", client -> client)) {
      assertThat(leader.awaitLeader(SOON)).isTrue();
      done(leader.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
      done(leader.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
      try (FairleadController follower = open(proxy.address(), "follower", this::hearingLate)) {
        await().atMost(SOON).until(() -> confirms(follower));
        proxy.cut();
        await().atMost(SOON).until(() -> !confirms(follower));
        done(leader.backends().change("web", List.of(weight(1, 7)), WriteOptions.COMMIT));
        done(leader.services().createService(spec("mail", "10.99.0.2"), WriteOptions.COMMIT));
        proxy.heal();
        await().atMost(SOON).until(() -> confirms(follower));
        assertThat(Shown.services(follower)).isEqualTo(Shown.services(leader));
        done(leader.backends().change("web", List.of(weight(2, 7)), WriteOptions.COMMIT));
        await().atMost(SOON).until(() -> confirms(follower));
        assertThat(Shown.services(follower)).isEqualTo(Shown.services(leader));
      } finally {
        isOver.countDown();
      }
    }
  }

  private Store hearingLate(Store real) {
    real.onConnection(
        state -> {
          if (!state.isConnected()) {
            Uninterruptibles.awaitUninterruptibly(isOver, SOON);
          }
        });
    return real;
  }

  private static boolean confirms(FairleadController controller) {
    try {
      controller.plane().confirm();
      return true;
    } catch (Refusal e) {
      return false;
    }
  }

  private static FairleadController open(String zookeeper, String id, UnaryOperator<Store> writing)
      throws Exception {
    return Controllers.open(
        ControllerOptions.of(
                zookeeper, FreePorts.nextAddress(), "/fairlead", id, InstantSource.system())
            .with(writing));
  }
}
