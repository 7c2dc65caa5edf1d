// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.resources.backends.BackendView;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Precondition;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.services.ServiceView;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A whole service in one commit: only differences are written, on a real ZooKeeper. */
class PutServiceTest extends EmbeddedController {
  private static final WriteOptions COMMIT = WriteOptions.COMMIT;
  private static final WriteOptions PLAN = WriteOptions.PLAN;
  private static final Optional<List<Change.Add>> NO_POOL = Optional.empty();

  private ServiceView web() {
    return Shown.service(controller, "web").orElseThrow();
  }

  private static Optional<List<Change.Add>> pool(int... weights) {
    return Optional.of(
        IntStream.range(0, weights.length)
            .filter(i -> weights[i] >= 0)
            .mapToObj(i -> new Change.Add(i + 1, "10.1.0." + (i + 1), weights[i]))
            .toList());
  }

  private static ServiceSpec window(int seconds) {
    return spec("web", "10.99.0.1").toBuilder().windowSeconds(seconds).build();
  }

  @Test
  void aWeightThatABackendHasAlreadyMakesNoGeneration() throws Exception {
    done(controller.services().putService(spec("web", "10.99.0.1"), pool(100, 50), COMMIT));
    ServiceView before = web();
    for (WriteOptions options : List.of(PLAN, COMMIT)) {
      Result same =
          done(controller.backends().change("web", List.of(new Change.Weight(2, 50)), options));
      assertThat(same.changed()).isFalse();
      assertThat(same.movedBuckets()).isZero();
      assertThat(same.generation()).isEqualTo(before.generation());
      assertThat(web()).isEqualTo(before);
    }
    List<Change> oneDiffers = List.of(new Change.Weight(1, 100), new Change.Weight(2, 60));
    assertThat(done(controller.backends().change("web", oneDiffers, COMMIT)).generation())
        .isEqualTo(before.generation() + 1);
  }

  @Test
  void createsServiceAndPoolAtOnceAndIsIdempotent() throws Exception {
    ServiceSpec spec = spec("web", "10.99.0.1");
    Result planned = done(controller.services().putService(spec, pool(100, 300), PLAN));
    assertThat(planned.movedBuckets()).isEqualTo(1024);
    assertThat(Shown.services(controller)).isEmpty();
    Result created = done(controller.services().putService(spec, pool(100, 300), COMMIT));
    assertThat(created).usingRecursiveComparison().ignoringFields("dryRun").isEqualTo(planned);
    assertThat(Shown.backends(controller, "web"))
        .containsExactly(
            new BackendView(1, "10.1.0.1", 100, "active", 256),
            new BackendView(2, "10.1.0.2", 300, "active", 768));
    String version = web().version();
    for (Optional<List<Change.Add>> same : List.of(pool(100, 300), NO_POOL)) {
      Result again = done(controller.services().putService(spec, same, COMMIT));
      assertThat(again.changed()).isFalse();
      assertThat(again.generation()).isEqualTo(created.generation());
      assertThat(web().version()).isEqualTo(version);
    }
    controller.close();
    open();
    assertThat(web().version()).as("read back from ZooKeeper").isEqualTo(version);
    assertThat(Shown.backends(controller, "web")).hasSize(2);
    done(controller.backends().change("web", List.of(add(9)), WriteOptions.COMMIT));
  }

  @Test
  void aServiceOfManyBackendsIsCreatedInStepsThatNoReaderSees() throws Exception {
    List<Change.Add> many =
        IntStream.rangeClosed(1, 2000)
            .mapToObj(id -> new Change.Add(id, "10.1.%d.%d".formatted(id / 256, id % 256), 1))
            .toList();
    done(controller.services().putService(spec("web", "10.99.0.1"), Optional.of(many), COMMIT));
    controller.close();
    open();
    assertThat(Shown.backends(controller, "web")).hasSize(2000);
    assertThat(web().config().id()).isEqualTo(1);
  }

  @Test
  void movesOnlyWhatAWeightMustMove() throws Exception {
    ServiceSpec spec = spec("web", "10.99.0.1");
    done(controller.services().putService(spec, pool(100, 100, 100, 100), COMMIT));
    Result changed = done(controller.services().putService(spec, pool(100, 100, 100, 50), COMMIT));
    assertThat(changed.movedBuckets()).as("256 become 1024 / 7").isBetween(109, 110);
    assertThat(changed.moved().moves()).allMatch(move -> move.from() == 4);
    Result removed = done(controller.services().putService(spec, pool(100, 100, 100, -1), COMMIT));
    assertThat(removed.movedBuckets()).isEqualTo(256 - changed.movedBuckets());
    assertThat(Shown.backends(controller, "web"))
        .extracting(BackendView::id)
        .containsExactly(1, 2, 3);
  }

  @Test
  void settingsAndPoolChangeTogetherOrNotAtAll() throws Exception {
    done(controller.services().putService(window(240), pool(100), COMMIT));
    Refusal refused =
        refusal(
            controller
                .services()
                .putService(
                    window(100), Optional.of(List.of(new Change.Add(1, "10.9.9.9", 100))), COMMIT));
    assertThat(refused.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(refused.allowed()).isEqualTo("10.1.0.1, the address of the live backend 1");
    assertThat(web().config().windowSeconds()).isEqualTo(240);
    Result changed = done(controller.services().putService(window(100), pool(100, 100), COMMIT));
    assertThat(changed.generation()).isEqualTo(3);
    assertThat(web().config().windowSeconds()).isEqualTo(100);
    String version = web().version();
    controller.close();
    open();
    assertThat(web().config().windowSeconds()).isEqualTo(100);
    assertThat(web().version()).isEqualTo(version);
    Result settings = done(controller.services().putService(window(110), pool(100, 100), COMMIT));
    assertThat(settings.changed()).isTrue();
    assertThat(settings.generation()).as("no bucket moves, no generation").isEqualTo(3);
    Result emptied = done(controller.services().putService(window(110), pool(), COMMIT));
    assertThat(emptied.movedBuckets()).isEqualTo(1024);
    assertThat(Shown.backends(controller, "web")).isEmpty();
  }

  @Test
  void whatDecidesOnBucketsIsRefusedWithAWayOut() throws Exception {
    ServiceSpec spec = spec("web", "10.99.0.1");
    done(controller.services().putService(spec, pool(100), COMMIT));
    record Row(String field, String value, String present, ServiceSpec spec) {}
    for (Row row :
        List.of(
            new Row("buckets", "2048", "1024", fixed(2048, "siphash", "connection")),
            new Row("hash", "crc32", "siphash", fixed(1024, "crc32", "connection")),
            new Row("affinity", "client", "connection", fixed(1024, "siphash", "client")))) {
      Refusal refused = refusal(controller.services().putService(row.spec(), NO_POOL, COMMIT));
      assertThat(refused.kind()).isEqualTo(Refusal.Kind.CONFLICT);
      assertThat(refused.field()).isEqualTo(row.field());
      assertThat(refused.value()).isEqualTo(row.value());
      assertThat(refused.allowed()).startsWith(row.present()).contains("beside this one");
    }
    Refusal vip =
        refusal(controller.services().putService(spec("api", "10.99.0.1"), NO_POOL, COMMIT));
    assertThat(vip.field()).isEqualTo("vips");
    assertThat(vip.allowed()).contains("'web' has it");
  }

  @Test
  void preconditionsHoldAtTheMomentOfTheCommit() throws Exception {
    ServiceSpec spec = spec("web", "10.99.0.1");
    assertThat(refusal(controller.services().putService(spec, NO_POOL, ifVersion("*"))).kind())
        .isEqualTo(Refusal.Kind.PRECONDITION);
    WriteOptions absent = COMMIT.with(new Precondition(Set.of(), true));
    done(controller.services().putService(spec, pool(100), absent));
    assertThat(refusal(controller.services().putService(spec, NO_POOL, absent)).field())
        .isEqualTo("If-None-Match");
    String seen = web().version();
    var first = controller.backends().change("web", List.of(add(7)), ifVersion(seen));
    var second = controller.backends().change("web", List.of(add(8)), ifVersion(seen));
    done(first);
    Refusal late = refusal(second);
    assertThat(late.kind()).isEqualTo(Refusal.Kind.PRECONDITION);
    assertThat(late.value()).isEqualTo(seen);
    assertThat(late.allowed()).startsWith(web().version());
    assertThat(refusal(controller.services().deleteService("web", ifVersion(seen))).field())
        .isEqualTo("If-Match");
    done(controller.services().deleteService("web", ifVersion(web().version())));
    done(controller.services().putService(spec, NO_POOL, COMMIT));
    assertThat(web().version()).as("of another service under the same name").isNotEqualTo(seen);
  }

  private static WriteOptions ifVersion(String version) {
    return COMMIT.with(new Precondition(Set.of(version), false));
  }

  private static ServiceSpec fixed(int buckets, String hash, String affinity) {
    return ServiceSpec.builder()
        .name("web")
        .vips(List.of("10.99.0.1"))
        .ports(List.of(new Port("tcp", 80)))
        .buckets(buckets)
        .hash(hash)
        .affinity(affinity)
        .build();
  }
}
