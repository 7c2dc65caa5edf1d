// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.resources.backends.BackendView;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.Share;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.upkeep.UpkeepJob;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Rebalance and defragmentation of a live service, iteration by iteration, on a real ZooKeeper. */
class UpkeepServiceTest extends EmbeddedController {
  private static final int WINDOW = 240;

  /** Long enough for the controller to check several times whether an iteration is due. */
  private static final Duration SOME_POLLS = Duration.ofMillis(1500);

  private Result start(Kind kind, double target, int moves) throws Exception {
    UpkeepOrder order = new UpkeepOrder(kind, target, moves, Map.of());
    return done(controller.upkeeps().startUpkeep("web", order, WriteOptions.COMMIT));
  }

  private UpkeepJob job() {
    return Shown.upkeep(controller, "web").job().orElseThrow();
  }

  private List<Integer> owned() {
    return Shown.backends(controller, "web").stream().map(BackendView::buckets).toList();
  }

  private void advance(long seconds) {
    clock.set(clock.seconds() + seconds);
  }

  private UpkeepJob nextIteration() {
    int before = job().progress().iterations();
    advance(WINDOW);
    await()
        .atMost(Duration.ofSeconds(20))
        .until(
            () ->
                job().progress().iterations() > before
                    || !job().progress().state().equals("running"));
    return job();
  }

  /** Eight backends whose buckets are scattered by a history of other weights. */
  private void fragment() throws Exception {
    done(
        controller
            .services()
            .createService(Requests.spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    List<Change> pool = new ArrayList<>();
    for (int id = 1; id <= 8; id++) {
      pool.add(add(id));
    }
    done(controller.backends().change("web", pool, WriteOptions.COMMIT));
    for (int round = 0; round < 12; round++) {
      List<Change> weights = new ArrayList<>();
      for (int id = 1; id <= 8; id++) {
        weights.add(weight(id, round == 11 ? 100 : 20 + (id * 37 + round * 53) % 200));
      }
      advance(WINDOW);
      done(controller.backends().change("web", weights, Requests.FORCE));
    }
    advance(WINDOW);
  }

  @Test
  void defragmentationRunsOncePerWindowAcrossARestartUntilItsTarget() throws Exception {
    fragment();
    List<Integer> owned = owned();
    assertThat(Shown.upkeep(controller, "web").fragmentation()).isGreaterThan(4);
    assertThat(Shown.upkeep(controller, "web").job()).isEmpty();
    UpkeepOrder order = new UpkeepOrder(Kind.DEFRAGMENT, 1, 20, Map.of());
    Result planned = done(controller.upkeeps().startUpkeep("web", order, WriteOptions.PLAN));
    assertThat(Shown.upkeep(controller, "web").job()).isEmpty();
    Result first = start(Kind.DEFRAGMENT, 1, 20);
    assertThat(planned).usingRecursiveComparison().ignoringFields("dryRun").isEqualTo(first);
    assertThat(first.movedBuckets()).isBetween(20, 8 * 20);
    assertThat(first.moved().stillChained()).isZero();
    assertThat(job().progress().state()).isEqualTo("running");
    assertThat(job().progress().next()).contains(clock.seconds() + WINDOW);
    Refusal second =
        refusal(
            controller
                .upkeeps()
                .startUpkeep(
                    "web", new UpkeepOrder(Kind.REBALANCE, 1, 1, Map.of()), WriteOptions.COMMIT));
    assertThat(second.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    advance(WINDOW - 1);
    await()
        .during(SOME_POLLS)
        .atMost(Duration.ofSeconds(20))
        .until(() -> job().progress().iterations() == 1);
    advance(1 - WINDOW);
    assertThat(nextIteration().progress().iterations()).isEqualTo(2);
    close();
    open();
    assertThat(job().progress().state()).isEqualTo("running");
    UpkeepJob job = job();
    for (int i = 0; job.progress().state().equals("running"); i++) {
      assertThat(i).isLessThan(100);
      job = nextIteration();
      assertThat(owned()).isEqualTo(owned);
    }
    assertThat(job.progress().state()).isEqualTo("reached");
    assertThat(job.progress().next()).isEmpty();
    assertThat(Shown.upkeep(controller, "web").rules()).isEqualTo(8);
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_rules{service=\"web\"} 8.0")
        .contains("fairlead_controller_fragmentation{service=\"web\"} 1.0")
        .contains("fairlead_controller_upkeep_running{service=\"web\"} 0.0")
        .contains("fairlead_controller_upkeep_moved_buckets_total{kind=\"defragment\"");
  }

  @Test
  void whatIsStoppedStaysWhereItIs() throws Exception {
    fragment();
    start(Kind.DEFRAGMENT, 1, 1);
    Result stopped = done(controller.upkeeps().stopUpkeep("web", WriteOptions.COMMIT));
    assertThat(stopped.changed()).isTrue();
    assertThat(stopped.movedBuckets()).isZero();
    assertThat(job().progress().state()).isEqualTo("stopped");
    assertThat(done(controller.upkeeps().stopUpkeep("web", WriteOptions.COMMIT)).changed())
        .isFalse();
    close();
    open();
    assertThat(job().progress().state()).isEqualTo("stopped");
    assertThat(job().progress().iterations()).isEqualTo(1);
    assertThat(start(Kind.DEFRAGMENT, 1, 500).movedBuckets()).isPositive();
  }

  @Test
  void fullBucketsWaitForRoom() throws Exception {
    ServiceSpec web = Requests.spec("web", "10.99.0.1").toBuilder().encap("ipip").build();
    done(controller.services().createService(web, WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
    advance(WINDOW);
    List<Change> others = List.of(add(2), add(3), remove(1));
    done(controller.backends().change("web", others, WriteOptions.COMMIT));
    UpkeepOrder heavy = new UpkeepOrder(Kind.REBALANCE, 1, 100, Map.of(2, 30.0, 3, 10.0));
    Result none = done(controller.upkeeps().startUpkeep("web", heavy, WriteOptions.COMMIT));
    assertThat(none.movedBuckets()).isZero();
    assertThat(job().progress().leftBuckets()).isEqualTo(256);
    assertThat(nextIteration().progress().movedBuckets()).isEqualTo(100);
  }

  @Test
  void measuredLoadsCountUntilTheNextRebalance() throws Exception {
    done(
        controller
            .services()
            .createService(Requests.spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(
        controller
            .backends()
            .change("web", List.of(add(1), add(2), add(3), add(4)), WriteOptions.COMMIT));
    advance(WINDOW);
    Map<Integer, Double> loads = Map.of(1, 300.0, 2, 100.0, 3, 100.0, 4, 100.0);
    UpkeepOrder order = new UpkeepOrder(Kind.REBALANCE, 1.0, 64, loads);
    Result first = done(controller.upkeeps().startUpkeep("web", order, WriteOptions.COMMIT));
    assertThat(first.shares()).contains(new Share(1, 100, 256, 192));
    assertThat(Shown.upkeep(controller, "web").costs())
        .containsExactlyInAnyOrderEntriesOf(Map.of(1, 2.0, 2, 0.667, 3, 0.667, 4, 0.667));
    while (job().progress().state().equals("running")) {
      nextIteration();
    }
    // A bucket of 1 costs three times as much: 1/10 of the ring is as much load as 3/10.
    assertThat(owned().get(0)).isBetween(101, 104);
    advance(WINDOW);
    close();
    open();
    done(controller.backends().change("web", List.of(add(5)), Requests.FORCE));
    assertThat(owned().get(0)).as("a change of the pool keeps to the costs").isBetween(80, 90);
    advance(WINDOW);
    done(controller.backends().change("web", List.of(remove(1)), Requests.FORCE));
    assertThat(Shown.upkeep(controller, "web").costs()).doesNotContainKey(1);
    advance(WINDOW);
    done(controller.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
    assertThat(Shown.upkeep(controller, "web").costs()).doesNotContainKey(1);
    advance(WINDOW);
    start(Kind.REBALANCE, 1, 1000);
    assertThat(job().progress().state()).isEqualTo("reached");
    assertThat(Shown.upkeep(controller, "web").costs()).isEmpty();
    assertThat(owned()).allSatisfy(buckets -> assertThat(buckets).isBetween(204, 205));
  }

  @Test
  void ordersThatMakeNoSenseAreRefused() throws Exception {
    record Row(UpkeepOrder order, String field) {}
    done(
        controller
            .services()
            .createService(Requests.spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
    List<Row> rows =
        List.of(
            new Row(new UpkeepOrder(Kind.REBALANCE, 0.9, 1, Map.of()), "target"),
            new Row(new UpkeepOrder(Kind.REBALANCE, Double.NaN, 1, Map.of()), "target"),
            new Row(new UpkeepOrder(Kind.DEFRAGMENT, 1, 0, Map.of()), "maxMoves"),
            new Row(new UpkeepOrder(Kind.DEFRAGMENT, 1, 1, Map.of(1, 1.0)), "loads"),
            new Row(new UpkeepOrder(Kind.REBALANCE, 1, 1, Map.of(2, 1.0)), "loads.id"),
            new Row(new UpkeepOrder(Kind.REBALANCE, 1, 1, Map.of(1, -1.0)), "loads.load"));
    for (Row row : rows) {
      Refusal refused =
          refusal(controller.upkeeps().startUpkeep("web", row.order(), WriteOptions.COMMIT));
      assertThat(refused.field()).as("%s", row).isEqualTo(row.field());
    }
    ServiceSpec maglev = ServiceSpec.builder().assignment("maglev").build();
    done(controller.services().changeService("web", maglev, WriteOptions.COMMIT));
    Refusal refused =
        refusal(controller.upkeeps().startUpkeep("web", rows.get(0).order(), WriteOptions.COMMIT));
    assertThat(refused.field()).isEqualTo("target");
    UpkeepOrder good = new UpkeepOrder(Kind.DEFRAGMENT, 1, 1, Map.of());
    assertThat(refusal(controller.upkeeps().startUpkeep("web", good, WriteOptions.COMMIT)).field())
        .isEqualTo("assignment");
  }
}
