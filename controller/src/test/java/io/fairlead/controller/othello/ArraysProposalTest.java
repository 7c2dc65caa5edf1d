// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceConfig.Othello;
import io.fairlead.controller.image.ServiceConfig.Port;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.repository.StoredService;
import io.fairlead.controller.ring.Address;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Delta;
import io.fairlead.controller.ring.RefusedException;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.ring.Runs;
import io.fairlead.controller.services.ServiceRules;
import io.fairlead.controller.services.ServiceSpec;
import io.fairlead.controller.steering.SteeringMethod;
import io.fairlead.controller.steering.othello.NextArrays;
import io.fairlead.controller.steering.othello.OthelloMap;
import io.fairlead.controller.steering.othello.ServerBuckets;
import io.fairlead.controller.store.Generations;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.ServiceState;
import io.fairlead.controller.word.Hash;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Backend 1 owns buckets 0 to 127 and backend 2 the rest; 3 drains, and has bucket 0 kept for it.
 */
class ArraysProposalTest {
  private static final int BUCKETS = 256;
  private static final long LONG_AGO = 1_700_000_000;
  private static final long NOW = LONG_AGO + 10_000;
  private static final int DRAINING = 3;
  private static final KeptBuckets KEPT = new KeptBuckets(Map.of(DRAINING, 0));

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
    Runs runs = new Runs.Builder().add(0, 128, 1, 0).add(128, 128, 2, 0).build();
    return after(
        ServiceImage.create(CONFIG, LONG_AGO),
        LONG_AGO,
        List.of(backend(1, 100, false), backend(2, 100, false), backend(DRAINING, 0, false)),
        runs);
  }

  private static Backend backend(int id, int weight, boolean removed) {
    return new Backend(id, Address.parse("10.1.0." + id).orElseThrow(), weight, removed);
  }

  private static ServiceImage after(
      ServiceImage image, long seconds, List<Backend> backends, Runs runs) {
    Ring ring = image.ring();
    try {
      return image.withRing(
          ring.apply(
              new Delta(1, ring.generation() + 1, BUCKETS, seconds, backends, runs),
              CONFIG.windowSeconds()));
    } catch (RefusedException e) {
      throw new AssertionError(e);
    }
  }

  private static ServiceImage moved(ServiceImage image, int bucket, int to, int from) {
    return after(image, NOW - 5, List.of(), new Runs.Builder().add(bucket, 1, to, from).build());
  }

  private static StoredService stored(ServiceImage image, Optional<LatestArrays> arrays) {
    Generations generations = new Generations(image.ring().generation(), 0, 1, 0, 0);
    return new StoredService(
        image, new ServiceState(CONFIG, 0, image.progress(), generations, arrays));
  }

  private static Optional<CommittedArrays.Next> built(ServiceImage image) {
    OthelloMap map = OthelloMap.sized(Hash.SIPHASH, 7, 100);
    ServerBuckets buckets = KEPT.servers(image.ring(), Map.of());
    long generation = image.ring().generation() + 1;
    return Optional.of(
        CommittedArrays.next(
            1, Optional.empty(), NextArrays.fresh(map, generation, buckets).arrays()));
  }

  private static ArraysProposal proposal(ServiceImage looked) {
    BitSet known = new BitSet();
    known.set(DRAINING);
    return new ArraysProposal(Optional.empty(), built(looked), looked, KEPT, new BitSet(), known);
  }

  private static ArraysWriter.Commit commit(ServiceImage looked, ServiceImage now) {
    return proposal(looked).on(stored(now, Optional.empty()), NOW).orElseThrow();
  }

  private static void checkArrays(ArraysWriter.Commit commit, ServiceImage now, Runs kept) {
    long generation = now.ring().generation() + 1;
    CommittedArrays.Next next = commit.arrays().orElseThrow();
    assertThat(next.committed().orElseThrow().newest().generation()).isEqualTo(generation);
    assertThat(next.committed().orElseThrow().latest()).isEqualTo(LatestArrays.first(generation));
    assertThat(next.write().latest()).isEqualTo(LatestArrays.first(generation));
    assertThat(commit.kept()).isEqualTo(kept);
  }

  private static Runs naming(int bucket, int owner) {
    return new Runs.Builder().add(bucket, 1, owner, DRAINING).build();
  }

  @Test
  void withNothingInBetweenAllIsAsLookedAt() {
    checkArrays(commit(looked, looked), looked, naming(0, 1));
  }

  @Test
  void aMoveOfAnotherBucketChangesTheNumberAlone() {
    ServiceImage now = moved(moved(looked, 5, 2, 1), 6, 2, 1);
    checkArrays(commit(looked, now), now, naming(0, 1));
  }

  @Test
  void aKeptBucketThatWasNamedBeforeMayMove() {
    ServiceImage named = moved(looked, 0, 1, DRAINING);
    ServiceImage now = moved(named, 0, 2, 1);
    checkArrays(commit(named, now), now, Runs.EMPTY);
  }

  @Test
  void ifItWasNotNamedAnotherIsAndTheNextAttemptSucceeds() {
    ServiceImage now = moved(looked, 0, 2, 1);
    ArraysWriter.Commit first = commit(looked, now);
    assertThat(first.arrays()).isEmpty();
    assertThat(first.kept()).isEqualTo(naming(1, 1));
    ServiceImage named = after(now, NOW, List.of(), first.kept());
    ServiceImage again = moved(named, 1, 2, 1);
    KeptBuckets kept = KeptBuckets.of(named, id -> id == DRAINING ? 1 : 0, NOW);
    assertThat(kept.buckets()).isEqualTo(Map.of(DRAINING, 1));
    ArraysProposal second =
        new ArraysProposal(Optional.empty(), built(named), named, kept, new BitSet(), new BitSet());
    checkArrays(second.on(stored(again, Optional.empty()), NOW).orElseThrow(), again, Runs.EMPTY);
  }

  @Test
  void aBackendThatWasRemovedNeedsNoBucket() {
    ServiceImage removed =
        after(moved(looked, 0, 2, 1), NOW - 1, List.of(backend(DRAINING, 0, true)), Runs.EMPTY);
    checkArrays(commit(looked, removed), removed, Runs.EMPTY);
  }

  @Test
  void arraysThatFollowOthersAreNotCommitted() {
    Optional<LatestArrays> others = Optional.of(LatestArrays.first(looked.ring().generation()));
    assertThat(proposal(looked).on(stored(looked, others), NOW)).isEmpty();
  }
}
