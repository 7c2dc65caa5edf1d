// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.services.ServiceView;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * No address is both a VIP and a backend's, regardless of which comes first, on a real ZooKeeper.
 */
class AddressesTest extends EmbeddedController {
  private static final WriteOptions COMMIT = WriteOptions.COMMIT;
  private static final WriteOptions PLAN = WriteOptions.PLAN;

  /** {@code web} at 10.99.0.1 and fd00::1 with backend 1 at 10.1.0.1, {@code dns} at 10.99.0.2. */
  @BeforeEach
  void fill() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(
        controller
            .services()
            .changeService("web", vips("10.99.0.1", "fd00::1"), WriteOptions.COMMIT));
    done(controller.services().createService(spec("dns", "10.99.0.2"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(at(1, "10.1.0.1")), WriteOptions.COMMIT));
  }

  private static Change.Add at(int id, String address) {
    return new Change.Add(id, address, 100);
  }

  private static ServiceSpec vips(String... vips) {
    return ServiceSpec.builder().vips(List.of(vips)).build();
  }

  private static void assertRefused(
      CompletionStage<Result> stage, String field, String value, String allowed) throws Exception {
    Refusal refusal = refusal(stage);
    assertThat(refusal.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(refusal.field()).isEqualTo(field);
    assertThat(refusal.value()).isEqualTo(value);
    assertThat(refusal.allowed()).contains(allowed);
  }

  @Test
  void aBackendIsNoVip() throws Exception {
    List<ServiceView> before = Shown.services(controller);
    String[][] rows = {
      {"web", "10.99.0.1", "web"}, {"web", "10.99.0.2", "dns"}, {"dns", "fd00:0::1", "web"},
    };
    for (String[] row : rows) {
      String vip = row[1].replace(":0:", ":");
      String allowed = "an address that is not a VIP; it is one of '" + row[2] + "'";
      ServiceSpec same = spec(row[0], row[0].equals("web") ? "10.99.0.1" : "10.99.0.2");
      ServiceSpec another = spec("new", "10.99.0.3");
      List<Change> list = List.of(at(8, "10.1.0.8"), at(9, row[1]));
      Optional<List<Change.Add>> pool = Optional.of(List.of(at(8, "10.1.0.8"), at(9, row[1])));
      for (WriteOptions options : List.of(PLAN, COMMIT)) {
        assertRefused(controller.backends().change(row[0], list, options), "address", vip, allowed);
        assertRefused(
            controller.services().putService(same, pool, options), "address", vip, allowed);
        assertRefused(
            controller.services().putService(another, pool, options), "address", vip, allowed);
      }
    }
    ServiceSpec own = spec("new", "10.99.0.3");
    for (WriteOptions options : List.of(PLAN, COMMIT)) {
      assertRefused(
          controller.services().putService(own, Optional.of(List.of(at(1, "10.99.0.3"))), options),
          "vips",
          "10.99.0.3",
          "backend 1 of 'new' has it");
    }
    assertThat(Shown.services(controller)).isEqualTo(before);
    assertThat(Shown.backends(controller, "web")).hasSize(1);
  }

  @Test
  void aVipIsNoBackend() throws Exception {
    List<ServiceView> before = Shown.services(controller);
    String allowed = "an address that no backend has; backend 1 of 'web' has it";
    for (WriteOptions options : List.of(PLAN, COMMIT)) {
      List<CompletionStage<Result>> all =
          List.of(
              controller.services().createService(spec("new", "10.1.0.1"), options),
              controller.services().putService(spec("new", "10.1.0.1"), Optional.empty(), options),
              controller.services().putService(spec("dns", "10.1.0.1"), Optional.empty(), options),
              controller.services().changeService("dns", vips("10.99.0.2", "10.1.0.1"), options),
              controller.services().changeService("web", vips("10.99.0.1", "10.1.0.1"), options));
      for (CompletionStage<Result> each : all) {
        assertRefused(each, "vips", "10.1.0.1", allowed);
      }
    }
    assertThat(Shown.services(controller)).isEqualTo(before);
  }

  @Test
  void whatIsGivenUpMayBeTaken() throws Exception {
    done(controller.services().changeService("web", vips("10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("dns", List.of(at(1, "fd00::1")), WriteOptions.COMMIT));
    done(controller.services().deleteService("web", WriteOptions.COMMIT));
    done(controller.backends().change("dns", List.of(at(2, "10.99.0.1")), WriteOptions.COMMIT));
    done(controller.services().createService(spec("new", "10.1.0.1"), WriteOptions.COMMIT));
  }

  @Test
  void aRemovedBackendsAddressIsAVipOnlyOnceNothingIsChainedToIt() throws Exception {
    done(controller.backends().change("web", List.of(at(2, "10.1.0.2")), WriteOptions.COMMIT));
    clock.set(1_700_001_000);
    done(controller.backends().change("web", List.of(remove(1)), WriteOptions.COMMIT));
    clock.set(1_700_001_040);
    assertRefused(
        controller.services().createService(spec("new", "10.1.0.1"), WriteOptions.COMMIT),
        "vips",
        "10.1.0.1",
        "this one in 200 s: packets are still chained to the removed backend 1 of 'web'");
    clock.set(1_700_001_240);
    done(controller.services().createService(spec("new", "10.1.0.1"), WriteOptions.COMMIT));
  }

  @Test
  void ofTwoThatComeAtOnceOneIsRefused() throws Exception {
    long seed = System.nanoTime();
    System.out.println("AddressesTest seed " + seed);
    Random random = new Random(seed);
    for (int i = 1; i <= 60; i++) {
      String address = "10.7.0." + i;
      List<CompletionStage<Result>> both = new ArrayList<>();
      boolean isBackendFirst = random.nextBoolean();
      for (boolean isBackend : List.of(isBackendFirst, !isBackendFirst)) {
        both.add(
            isBackend
                ? controller.backends().change("web", List.of(at(1 + i, address)), Requests.FORCE)
                : controller
                    .services()
                    .changeService("dns", vips("10.99.0.2", address), WriteOptions.COMMIT));
      }
      int accepted = 0;
      for (CompletionStage<Result> each : both) {
        try {
          done(each);
          accepted++;
        } catch (ExecutionException e) {
          assertThat(((Refusal) e.getCause()).value()).isEqualTo(address);
        }
      }
      assertThat(accepted).as(address).isEqualTo(1);
    }
  }
}
