// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.common.util.concurrent.Uninterruptibles;
import io.fairlead.controller.FreePorts;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.agents.Report;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A service that is deleted by mistake and created again has another hash key and other owners:
 * servers reset the connections that are still open. Brought back, it has the old ones.
 */
class UndeleteTest extends EmbeddedController {
  private static final WriteOptions COMMIT = WriteOptions.COMMIT;
  private static final long DAY = 86_400;

  private final Reports reports = new Reports();

  @BeforeEach
  void fill() throws Exception {
    create("web", "10.99.0.1");
    done(controller.backends().change("web", List.of(add(1), add(2), add(3)), COMMIT));
    clock.set(clock.seconds() + 500);
    done(controller.backends().change("web", List.of(weight(2, 10)), COMMIT));
  }

  private Result create(String name, String vip) throws Exception {
    return done(controller.services().createService(spec(name, vip), COMMIT));
  }

  private Result delete(String name) throws Exception {
    return done(controller.services().deleteService(name, COMMIT));
  }

  private Result undelete(String name) throws Exception {
    return done(controller.services().undeleteService(name, COMMIT));
  }

  private Refusal refused(String name) throws Exception {
    return refusal(controller.services().undeleteService(name, COMMIT));
  }

  private ServiceImage web() {
    return controller.plane().read("web", stored -> stored.image());
  }

  private void leadAnew() throws Exception {
    controller.close();
    controller =
        Controllers.open(
            ControllerOptions.of(
                    "embedded:" + directory, FreePorts.nextAddress(), "/fairlead", "test", clock)
                .withMonotonic(clock::seconds)
                .withClockCheck(false));
    assertThat(controller.awaitLeader(Duration.ofSeconds(60))).isTrue();
  }

  private static void assertSame(ServiceImage before, ServiceImage after) {
    assertSameOwners(before, after);
    Ring ring = before.ring();
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      assertThat(after.ring().previous(bucket)).isEqualTo(ring.previous(bucket));
      assertThat(after.ring().since(bucket)).isEqualTo(ring.since(bucket));
    }
  }

  /** All but former owners, whose windows may be over. */
  private static void assertSameOwners(ServiceImage before, ServiceImage after) {
    assertThat(after.config()).isEqualTo(before.config());
    assertThat(after.pool()).isEqualTo(before.pool());
    Ring ring = before.ring();
    assertThat(after.ring().generation()).isEqualTo(ring.generation() + 1);
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      assertThat(after.ring().current(bucket)).isEqualTo(ring.current(bucket));
    }
  }

  @Test
  void itIsAsItWas() throws Exception {
    ServiceImage before = web();
    String version = controller.plane().read("web", stored -> stored.version());
    Result deleted = delete("web");
    assertThat(deleted.ended()).contains(new Result.Ended(0, 3));
    assertThat(Shown.service(controller, "web")).isEmpty();
    assertThat(done(controller.services().undeleteService("web", WriteOptions.PLAN)).dryRun())
        .isTrue();
    assertThat(Shown.service(controller, "web")).isEmpty();
    assertThat(undelete("web").generation()).isEqualTo(before.ring().generation() + 1);
    assertSame(before, web());
    String after = controller.plane().read("web", stored -> stored.version());
    assertThat(after).isNotEqualTo(version);
    done(controller.backends().change("web", List.of(add(4)), COMMIT));
    assertThat(refused("web").allowed()).contains("this one exists");
    delete("web");
    undelete("web");
    assertThat(web().pool()).hasSize(4);
  }

  /** One that was removed keeps its connections; one that came back by another number has both. */
  @Test
  void connectionsEndOnRemovedServersToo() throws Exception {
    done(controller.backends().change("web", List.of(remove(3)), WriteOptions.COMMIT));
    report(1, 1, 10);
    report(3, 3, 30);
    assertThat(plannedEnd()).isEqualTo(new Result.Ended(40, 1));
    clock.set(clock.seconds() + DAY);
    Change back = new Change.Add(4, "10.1.0.3", 100);
    done(controller.backends().change("web", List.of(back), WriteOptions.COMMIT));
    report(3, 4, 30);
    assertThat(plannedEnd()).isEqualTo(new Result.Ended(40, 1));
  }

  /** Its agent counts the connections of both addresses. */
  @Test
  void aServerWithTwoAddressesCountsOnce() throws Exception {
    Change second = new Change.Add(4, "2001:db8::1", 100);
    done(controller.backends().change("web", List.of(second), COMMIT));
    report(Set.of("10.1.0.1", "2001:db8::1"), List.of(1, 4), 10);
    report(2, 2, 20);
    assertThat(plannedEnd()).isEqualTo(new Result.Ended(30, 1));
  }

  private Result.Ended plannedEnd() throws Exception {
    return done(controller.services().deleteService("web", WriteOptions.PLAN))
        .ended()
        .orElseThrow();
  }

  /** The agent at a server's address reports so many connections. */
  private void report(int server, int backend, long established) {
    report(Set.of("10.1.0." + server), List.of(backend), established);
  }

  private void report(Set<String> addresses, List<Integer> backends, long established) {
    Report.Service web = Reports.web(established, Optional.empty(), Optional.empty());
    reports.from(controller, addresses, backends, web);
  }

  @Test
  void theNextLeaderBringsItBackToo() throws Exception {
    ServiceImage before = web();
    delete("web");
    leadAnew();
    undelete("web");
    assertSame(before, web());
    leadAnew();
    assertThat(web().ring().generation()).isEqualTo(before.ring().generation() + 1);
  }

  @Test
  void anewAtItsVipIsWarnedAbout() throws Exception {
    delete("web");
    assertThat(create("other", "10.99.0.2").warnings()).isEmpty();
    Result planned =
        done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.PLAN));
    String was =
        "10.99.0.1 tcp:80 was of service 'web', deleted at 2023-11-14T22:21:40Z: connections that"
            + " are older are reset; ";
    assertThat(planned.warnings())
        .containsExactly(
            was + "with this new service it can't be brought back by 'service undelete'");
    String instead = was + "'fairleadctl service undelete web' in its place keeps them";
    ServiceSpec vips = ServiceSpec.builder().vips(List.of("10.99.0.1")).build();
    assertThat(
            done(controller.services().changeService("other", vips, WriteOptions.PLAN)).warnings())
        .containsExactly(instead);
    assertThat(
            done(controller.services().createService(spec("web", "10.99.0.8"), WriteOptions.PLAN))
                .warnings())
        .containsExactly(
            "it has the name of service 'web', deleted at 2023-11-14T22:21:40Z: with this new"
                + " service it can't be brought back by 'service undelete'");
    assertThat(create("shop", "10.99.0.1").warnings()).containsExactly(instead);
    Refusal taken = refused("web");
    assertThat(taken.field()).isEqualTo("vips");
    assertThat(taken.allowed()).contains("'shop' has it");
    delete("shop");
    undelete("web");
    assertThat(refused("other").allowed()).contains("this one exists");
  }

  /** A service of the same name takes the place of what was kept. */
  @Test
  void aNewServiceOfTheNameEndsIt() throws Exception {
    delete("web");
    create("web", "10.99.0.7");
    delete("web");
    undelete("web");
    assertThat(web().config().vips()).containsExactly("10.99.0.7");
    assertThat(web().pool()).isEmpty();
  }

  @Test
  void itIsKeptForSevenDays() throws Exception {
    create("other", "10.99.0.2");
    delete("web");
    clock.set(clock.seconds() + 7 * DAY - 1);
    delete("other");
    assertThat(done(controller.services().undeleteService("web", WriteOptions.PLAN)).dryRun())
        .isTrue();
    clock.set(clock.seconds() + 1);
    Refusal gone = refused("web");
    assertThat(gone.kind()).isEqualTo(Refusal.Kind.NOT_FOUND);
    assertThat(gone.allowed()).isEqualTo("a service that was deleted within 7 days: other");
    try (CuratorFramework client = ZooKeeperClient.create(controller.zookeeper())) {
      client.start();
      await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> client.getChildren().forPath("/fairlead/services").equals(List.of("other")));
    }
  }

  /** Its last second of seven days ends meanwhile. */
  @Test
  void itDoesNotExpireWhileItIsBroughtBack() throws Exception {
    ServiceImage before = web();
    delete("web");
    clock.set(clock.seconds() + 7 * DAY - 1);
    CountDownLatch hasRead = new CountDownLatch(1);
    CountDownLatch mayGoOn = new CountDownLatch(1);
    Semaphore turns = new Semaphore(0);
    clock.whenRead(
        () -> {
          if (Thread.currentThread().getName().startsWith("catalogue")) {
            hasRead.countDown();
            Uninterruptibles.awaitUninterruptibly(mayGoOn);
          }
        });
    clock.whenSecondsRead(
        () -> {
          if (Thread.currentThread().getName().startsWith("term")) {
            turns.release();
          }
        });
    CompletableFuture<Result> undeleted =
        controller.services().undeleteService("web", COMMIT).toCompletableFuture();
    assertThat(hasRead.await(60, TimeUnit.SECONDS)).isTrue();
    clock.set(clock.seconds() + DAY);
    turns.drainPermits();
    boolean hasHadItsTurn = turns.tryAcquire(3, 60, TimeUnit.SECONDS);
    mayGoOn.countDown();
    assertThat(hasHadItsTurn).isTrue();
    assertThat(undeleted.get(60, TimeUnit.SECONDS).generation())
        .isEqualTo(before.ring().generation() + 1);
    assertSameOwners(before, web());
    clock.whenRead(() -> {});
    leadAnew();
    assertSameOwners(before, web());
  }

  /** What has lost a part is not brought back, however far its removal has come. */
  @Test
  void itIsRemovedWholeOrNotAtAll() throws Exception {
    delete("web");
    String ring = "/fairlead/services/web/ring";
    try (CuratorFramework client = ZooKeeperClient.create(controller.zookeeper())) {
      client.start();
      List<CuratorOp> many = new ArrayList<>();
      for (int i = 0; i < 600; i++) { // more than one step deletes
        many.add(client.transactionOp().create().forPath(ring + "/gen/" + (1000 + i)));
      }
      client.transaction().forOperations(many);
      int mayDeleteNone = ZooDefs.Perms.ALL & ~ZooDefs.Perms.DELETE;
      client
          .setACL()
          .withACL(List.of(new ACL(mayDeleteNone, ZooDefs.Ids.ANYONE_ID_UNSAFE)))
          .forPath(ring);
      clock.set(clock.seconds() + 8 * DAY);
      await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> client.getChildren().forPath(ring + "/gen").size() < 600);
      assertThat(client.checkExists().forPath(ring)).isNotNull();
      assertThat(client.checkExists().forPath("/fairlead/services/web/deleted")).isNull();
      assertThat(refused("web").kind()).isEqualTo(Refusal.Kind.NOT_FOUND);
      client.setACL().withACL(ZooDefs.Ids.OPEN_ACL_UNSAFE).forPath(ring);
    }
    leadAnew();
    assertThat(refused("web").kind()).isEqualTo(Refusal.Kind.NOT_FOUND);
    create("web", "10.99.0.1");
  }

  /** As if a new one of its name had been begun, and not created. */
  @Test
  void whatIsGoneIsNotListed() throws Exception {
    delete("web");
    try (CuratorFramework client = ZooKeeperClient.create(controller.zookeeper())) {
      client.start();
      client.delete().deletingChildrenIfNeeded().forPath("/fairlead/services/web");
    }
    Refusal gone = refused("web");
    assertThat(gone.kind()).isEqualTo(Refusal.Kind.NOT_FOUND);
    assertThat(gone.allowed()).isEqualTo("a service that was deleted within 7 days: none");
    assertThat(create("web", "10.99.0.1").warnings()).isEmpty();
  }

  /** As if the answer to the commit had been lost. */
  @Test
  void anAttemptThatWasWrittenIsAdopted() throws Exception {
    ServiceImage before = web();
    delete("web");
    try (CuratorFramework client = ZooKeeperClient.create(controller.zookeeper())) {
      client.start();
      byte[] json = client.getData().forPath("/fairlead/services/web/deleted");
      client.create().forPath("/fairlead/services/web/config", json);
      client.delete().forPath("/fairlead/services/web/deleted");
    }
    undelete("web");
    assertThat(web()).isEqualTo(before);
    done(controller.backends().change("web", List.of(add(4)), COMMIT));
  }
}
