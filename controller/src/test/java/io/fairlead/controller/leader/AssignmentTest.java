// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.assign.ConsistentPlacement;
import io.fairlead.controller.core.assign.MaglevPlacement;
import io.fairlead.controller.core.assign.ModuloPlacement;
import io.fairlead.controller.core.assign.Placement;
import io.fairlead.controller.core.assign.RendezvousPlacement;
import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.explain.RingView;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How a service selects the assignment of its buckets, and changes it while it is live. */
class AssignmentTest extends EmbeddedController {

  private static ServiceSpec spec(String assignment) {
    ServiceSpec plain = Requests.spec("web", "10.99.0.1");
    return plain.toBuilder().assignment(assignment).build();
  }

  private static ServiceSpec to(String assignment) {
    return ServiceSpec.builder().assignment(assignment).build();
  }

  private char[] owners() {
    RingView ring = Shown.ring(controller, "web");
    char[] owners = new char[ring.buckets()];
    ring.runs()
        .forEach(
            (id, runs) ->
                runs.forEach(
                    run ->
                        java.util.Arrays.fill(owners, run[0], run[0] + run[1], (char) (int) id)));
    return owners;
  }

  private static char[] maglev(int... weights) {
    return owners(new MaglevPlacement(), weights);
  }

  private static char[] owners(Placement placement, int... weights) {
    int[] byId = new int[65536];
    System.arraycopy(weights, 0, byId, 1, weights.length);
    return placement.owners(1024, byId);
  }

  private static Placement placement(String method) {
    return switch (method) {
      case "maglev" -> new MaglevPlacement();
      case "consistent" -> new ConsistentPlacement();
      case "rendezvous" -> new RendezvousPlacement();
      default -> new ModuloPlacement();
    };
  }

  @Test
  void aServiceKeepsItsAssignmentMethodRegardlessOfChanges() throws Exception {
    done(controller.services().createService(spec("maglev"), WriteOptions.COMMIT));
    List<Change> pool = List.of(add(1), add(2), add(3));
    done(controller.backends().change("web", pool, WriteOptions.COMMIT));
    assertThat(Shown.service(controller, "web").orElseThrow().config().assignment())
        .hasToString("maglev");
    assertThat(owners()).isEqualTo(maglev(100, 100, 100));
    close();
    open();
    done(controller.backends().change("web", List.of(weight(2, 0)), WriteOptions.COMMIT));
    assertThat(owners()).isEqualTo(maglev(100, 0, 100));
  }

  private static Optional<List<Change.Add>> pool(int... weights) {
    return Optional.of(
        IntStream.range(0, weights.length)
            .mapToObj(i -> new Change.Add(i + 1, "10.1.0." + (i + 1), weights[i]))
            .toList());
  }

  /** As `apply` does it: a service with its pool in one commit, new or not. */
  @ParameterizedTest
  @ValueSource(strings = {"maglev", "consistent", "rendezvous", "modulo"})
  void aServiceThatComesWithItsPoolIsSharedOutByItsMethod(String method) throws Exception {
    Placement placement = placement(method);
    Result created =
        done(
            controller
                .services()
                .putService(spec(method), pool(100, 50, 100), WriteOptions.COMMIT));
    assertThat(created.movedBuckets()).isEqualTo(1024);
    assertThat(owners()).isEqualTo(owners(placement, 100, 50, 100));
    clock.set(NOW + 1000);
    done(
        controller.services().putService(spec(method), pool(100, 50, 70, 30), WriteOptions.COMMIT));
    assertThat(owners()).isEqualTo(owners(placement, 100, 50, 70, 30));
  }

  /** Method and pool at once: the new method assigns, and upkeep of the old one ends. */
  @Test
  void anotherMethodTogetherWithAnotherPool() throws Exception {
    done(controller.services().putService(spec("beamer"), pool(100, 100), WriteOptions.COMMIT));
    clock.set(NOW + 1000);
    UpkeepOrder order = new UpkeepOrder(Kind.REBALANCE, 1, 5, Map.of(1, 900.0, 2, 100.0));
    done(controller.upkeeps().startUpkeep("web", order, WriteOptions.COMMIT));
    assertThat(Shown.upkeep(controller, "web").job().orElseThrow().progress().state())
        .isEqualTo("running");
    done(
        controller.services().putService(spec("maglev"), pool(100, 200, 100), WriteOptions.COMMIT));
    assertThat(owners()).isEqualTo(maglev(100, 200, 100));
    assertThat(Shown.upkeep(controller, "web").job().orElseThrow().progress().state())
        .isEqualTo("stopped");
  }

  @Test
  void anotherMethodOnALiveServiceIsOneGenerationAndPlannedTheSame() throws Exception {
    done(controller.services().createService(spec("beamer"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2), add(3)), WriteOptions.COMMIT));
    clock.set(NOW + 1000);
    Result planned =
        done(controller.services().changeService("web", to("maglev"), WriteOptions.PLAN));
    assertThat(Shown.service(controller, "web").orElseThrow().config().assignment())
        .hasToString("beamer");
    Result changed =
        done(controller.services().changeService("web", to("maglev"), WriteOptions.COMMIT));
    assertThat(planned).usingRecursiveComparison().ignoringFields("dryRun").isEqualTo(changed);
    assertThat(changed.generation()).isEqualTo(3);
    assertThat(changed.movedBuckets()).isBetween(512, 800);
    assertThat(owners()).isEqualTo(maglev(100, 100, 100));
    Result same =
        done(controller.services().changeService("web", to("maglev"), WriteOptions.COMMIT));
    assertThat(same.movedBuckets()).isZero();
    assertThat(same.generation()).isEqualTo(3);
    clock.set(NOW + 2000);
    Result back =
        done(
            controller
                .services()
                .putService(spec("beamer"), Optional.empty(), WriteOptions.COMMIT));
    assertThat(back.movedBuckets()).as("Beamer's moves nothing that is balanced").isZero();
    close();
    open();
    assertThat(Shown.service(controller, "web").orElseThrow().config().assignment())
        .hasToString("beamer");
    assertThat(owners()).isEqualTo(maglev(100, 100, 100));
  }

  @Test
  void whatIsNoMethodIsRefused() throws Exception {
    Refusal refused =
        refusal(controller.services().createService(spec("magic"), WriteOptions.COMMIT));
    assertThat(refused.field()).isEqualTo("assignment");
    assertThat(refused.allowed()).contains("rendezvous");
  }
}
