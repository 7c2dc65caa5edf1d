// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Othello;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.steering.othello.NeededOwners;
import io.fairlead.controller.core.steering.othello.NextArrays;
import io.fairlead.controller.core.steering.othello.OthelloMap;
import io.fairlead.controller.core.steering.othello.ServerBuckets;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.store.Generations;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.ServiceState;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.repository.StoredService;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;

/** Backend 1 owns buckets 0 to 127, of which 3, which drains, had the first two, and 2 the rest. */
class ArraysProposalTest {
  private static final int BUCKETS = 256;
  private static final long LONG_AGO = 1_700_000_000;
  private static final long NOW = LONG_AGO + 10_000;
  private static final int DRAINING = 3;

  private static final ServiceConfig CONFIG =
      ServiceRules.created(
              ServiceSpec.builder()
                  .name("web")
                  .vips(List.of("10.99.0.1"))
                  .ports(List.of(new Port("tcp", 80)))
                  .buckets(BUCKETS)
                  .build(),
              1,
              new Random(1))
          .toBuilder()
          .steering(SteeringMethod.OTHELLO)
          .othello(Optional.of(new Othello(40, 80)))
          .build();

  private final ServiceImage looked = begun();

  private static ServiceImage begun() {
    ServiceImage image =
        after(
            ServiceImage.create(CONFIG, LONG_AGO - 10),
            LONG_AGO - 10,
            List.of(backend(1, 100, false), backend(2, 100, false), backend(DRAINING, 0, false)),
            new Runs.Builder().add(0, 2, DRAINING).add(2, 126, 1).add(128, 128, 2).build());
    return after(image, LONG_AGO, List.of(), new Runs.Builder().add(0, 2, 1).build());
  }

  private static Backend backend(int id, int weight, boolean removed) {
    return new Backend(id, Address.parse("10.1.0." + id).orElseThrow(), weight, removed);
  }

  private static ServiceImage after(
      ServiceImage image, long seconds, List<Backend> backends, Runs runs) {
    Ring ring = image.ring();
    try {
      return image.withRing(ring.apply(Delta.after(ring, seconds, backends, runs)));
    } catch (RefusedException e) {
      throw new AssertionError(e);
    }
  }

  private static ServiceImage moved(ServiceImage image, int bucket, int to) {
    return after(image, NOW - 5, List.of(), new Runs.Builder().add(bucket, 1, to).build());
  }

  private static StoredService stored(ServiceImage image, Optional<LatestArrays> arrays) {
    Generations generations = new Generations(image.ring().generation(), Version.CREATED, 1, 0, 0);
    return new StoredService(
        image,
        new ServiceState(
            CONFIG, Optional.of(Version.CREATED), image.progress(), generations, arrays));
  }

  private static Optional<CommittedArrays.Next> built(ServiceImage image) {
    OthelloMap map = OthelloMap.sized(Hash.SIPHASH, 7, 100);
    ServerBuckets buckets = LeftBuckets.of(image, Set.of(), id -> 1).servers(image.ring());
    long generation = image.ring().generation() + 1;
    return Optional.of(
        CommittedArrays.next(
            1, Optional.empty(), NextArrays.fresh(map, generation, buckets).arrays()));
  }

  /** A connection of the backend that drains is in bucket 0. */
  private static ArraysProposal proposal(ServiceImage looked) {
    return new ArraysProposal(
        Optional.empty(),
        built(looked),
        (bucket, owner, since) -> bucket == 0 && owner == DRAINING);
  }

  private void checkArrays(ServiceImage now, Runs releases) {
    ArraysWriter.Commit commit =
        proposal(looked).on(stored(now, Optional.empty()), NOW).orElseThrow();
    long generation = now.ring().generation() + 1;
    CommittedArrays.Next next = commit.arrays().orElseThrow();
    assertThat(next.committed().orElseThrow().newest().generation()).isEqualTo(generation);
    assertThat(next.committed().orElseThrow().latest()).isEqualTo(LatestArrays.first(generation));
    assertThat(next.write().latest()).isEqualTo(LatestArrays.first(generation));
    assertThat(commit.releases()).isEqualTo(releases);
  }

  private static Runs released(int bucket, int owner) {
    return new Runs.Builder().add(bucket, 1, owner).build();
  }

  @Test
  void allBucketsThatNameABackendWithoutAnyAreItsCodes() {
    IntUnaryOperator one = id -> id == DRAINING ? 1 : 0;
    BitSet both = new BitSet();
    both.set(0, 2);
    assertThat(LeftBuckets.of(looked, Set.of(), one).buckets()).isEqualTo(Map.of(DRAINING, both));
    assertThat(LeftBuckets.of(looked, Set.of(), id -> 0).buckets()).isEmpty();
    assertThat(LeftBuckets.of(looked, Set.of(DRAINING), id -> 0).counts())
        .as("removed lately")
        .isEqualTo(Map.of(DRAINING, 2));
    ServiceImage back =
        after(looked, NOW - 9, List.of(), new Runs.Builder().add(7, 1, DRAINING).build());
    assertThat(LeftBuckets.of(back, Set.of(), one).buckets()).as("it owns one").isEmpty();
  }

  /** Each rule alone keeps an owner that has lost its bucket long enough ago. */
  @Test
  void whatConnectionsNeedIsNotReleased() {
    record Row(String why, boolean isLeft, boolean isKnown, boolean isAwaited, long at) {}
    Runs all = new Runs.Builder().add(0, 2, 0).build();
    for (Row row :
        List.of(
            new Row("nothing needs it", false, false, false, LONG_AGO + 130),
            new Row("a cookie may come back", false, false, false, LONG_AGO + 129),
            new Row("it owns none and has connections", true, false, false, NOW),
            new Row("a known connection has this code", false, true, false, NOW),
            new Row("it has not reported", false, false, true, NOW))) {
      ReleasedOwners.Needed needed =
          ReleasedOwners.needed(
              Set.of(1, 2, DRAINING),
              LeftBuckets.of(looked, Set.of(), id -> row.isLeft() ? 1 : 0),
              row.isKnown() ? NeededOwners.everywhere(BUCKETS) : new NeededOwners(),
              (backend, since) -> row.isAwaited());
      assertThat(ReleasedOwners.of(looked, needed, row.at()))
          .as(row.why())
          .isEqualTo(row.why().startsWith("nothing") ? all : Runs.EMPTY);
    }
    ReleasedOwners.Needed gone =
        ReleasedOwners.needed(
            Set.of(1, 2),
            new LeftBuckets(Map.of()),
            NeededOwners.everywhere(BUCKETS),
            (backend, since) -> true);
    assertThat(ReleasedOwners.of(looked, gone, NOW)).as("its connections ended").isEqualTo(all);
  }

  @Test
  void withNothingInBetweenAllIsAsLookedAt() {
    checkArrays(looked, released(1, 0));
  }

  @Test
  void aMoveInBetweenChangesTheNumberAlone() {
    checkArrays(moved(moved(looked, 0, 2), 6, 2), released(1, 0));
  }

  @Test
  void ofABucketThatMovedInBetweenThatOwnerStays() {
    checkArrays(moved(looked, 1, 2), released(1, DRAINING));
  }

  @Test
  void arraysThatFollowOthersAreNotCommitted() {
    Optional<LatestArrays> others = Optional.of(LatestArrays.first(looked.ring().generation()));
    assertThat(proposal(looked).on(stored(looked, others), NOW)).isEmpty();
  }
}
