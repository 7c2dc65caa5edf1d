// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/**
 * For any history of a ring: codec, {@code apply} and snapshots agree, and damage never yields a
 * ring.
 */
class RingPropertyTest {
  private static final int SERVICE = 7;

  @Property(tries = 100)
  void aSnapshotAndItsDeltasMakeTheLaterSnapshot(
      @ForAll long seed, @ForAll @IntRange(min = 1, max = 24) int changes) throws Exception {
    Random random = new Random(seed);
    int buckets = 256 << random.nextInt(2);
    Ring ring = Ring.empty(SERVICE, buckets, 1_700_000_000);
    List<Ring> history = new ArrayList<>(List.of(ring));
    List<byte[]> deltas = new ArrayList<>();
    for (int i = 0; i < changes; i++) {
      Delta delta = RandomDeltas.next(ring, random);
      Ring before = ring;
      Ring naive = applyNaively(ring, delta);
      ring = ring.apply(delta);
      assertThat(ring).isEqualTo(naive);
      assertThat(ring.sum()).isEqualTo(naive.sum());
      deltas.add(encode(delta, before, random.nextBoolean()));
      history.add(ring);
    }
    int from = random.nextInt(changes + 1);
    Ring replayed = snapshotAndBack(history.get(from));
    assertThat(replayed).isEqualTo(history.get(from));
    for (int i = from; i < changes; i++) {
      replayed = replayed.apply(DeltaCodec.decodeDelta(deltas.get(i), replayed));
      assertThat(replayed).isEqualTo(history.get(i + 1));
    }
  }

  @Property(tries = 300)
  void damageIsRefused(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    Ring ring = Ring.empty(SERVICE, 256, 1_700_000_000);
    ring = ring.apply(RandomDeltas.next(ring, random));
    Delta delta = RandomDeltas.next(ring, random);
    byte[] whole =
        random.nextBoolean() ? encode(delta, ring, random.nextBoolean()) : DeltaCodec.encode(ring);
    boolean isDelta = whole[2] == 'D';
    byte[] damaged = damage(whole, random);
    try {
      if (isDelta) {
        assertThat(DeltaCodec.decodeDelta(damaged, ring)).isEqualTo(delta);
      } else {
        assertThat(DeltaCodec.decodeSnapshot(damaged, SERVICE, 2, 256)).isEqualTo(ring);
      }
    } catch (RefusedException refused) {
      assertThat(refused.reason()).isNotNull();
    }
  }

  /**
   * Damage may be invisible (a bit of the zstd frame that means nothing); then the decoded ring
   * must be right.
   */
  private static byte[] damage(byte[] whole, Random random) {
    byte[] damaged = whole.clone();
    switch (random.nextInt(3)) {
      case 0 -> damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
      case 1 -> damaged = Arrays.copyOf(damaged, random.nextInt(damaged.length));
      default -> {
        for (int i = 0; i < 4; i++) {
          damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
        }
      }
    }
    return damaged;
  }

  private static Ring snapshotAndBack(Ring ring) throws RefusedException {
    byte[] bytes = DeltaCodec.encode(ring);
    return DeltaCodec.decodeSnapshot(bytes, SERVICE, ring.generation(), ring.buckets());
  }

  /** By either order of runs, whichever would be chosen. */
  private static byte[] encode(Delta delta, Ring base, boolean isByOwner) {
    return DeltaCodec.encode(
        delta, base, Optional.of(OwnerRuns.of(base, delta.moves())).filter(runs -> isByOwner));
  }

  /** Another ring, or history, of which the sum is the base of the delta: never followed. */
  @Property(tries = 100)
  void aDeltaOfAnotherRingIsRefused(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    Ring ring = Ring.empty(SERVICE, 256, 1_700_000_000);
    for (int i = 0; i < 4; i++) {
      ring = ring.apply(RandomDeltas.next(ring, random));
    }
    Ring one = ring.apply(RandomDeltas.next(ring, random));
    Ring other = ring.apply(RandomDeltas.next(ring, random));
    byte[] bytes = DeltaCodec.encode(RandomDeltas.next(one, random), one);
    if (one.equals(other) || one.sum() == other.sum()) {
      return;
    }
    assertThatThrownBy(() -> DeltaCodec.decodeDelta(bytes, other))
        .isInstanceOf(RefusedException.class)
        .hasMessageStartingWith("base: ");
  }

  private record Former(int owner, long since) {}

  /** Bucket by bucket, as protocol/README.md §5 says it. */
  private static Ring applyNaively(Ring ring, Delta delta) {
    SortedMap<Integer, Backend> backends = new TreeMap<>(ring.backends());
    delta.backends().forEach(backend -> backends.put(backend.id(), backend));
    char[] current = new char[ring.buckets()];
    History[] histories = new History[ring.buckets()];
    for (int bucket = 0; bucket < current.length; bucket++) {
      List<Former> formers = new ArrayList<>();
      History before = ring.history(bucket);
      for (int i = 0; i < before.size(); i++) {
        formers.add(new Former(before.owner(i), before.since(i)));
      }
      formers.removeIf(former -> former.since() <= delta.closedUntil());
      int released = find(delta.releases(), bucket);
      formers.removeIf(former -> released == 0 || released == former.owner());
      int owner = ring.current(bucket);
      int next = find(delta.moves(), bucket);
      if (next >= 0 && next != owner) {
        if (owner != Backend.NONE && !backends.get(owner).dead()) {
          formers.add(0, new Former(owner, delta.committed()));
        }
        formers.removeIf(former -> former.owner() == next);
        owner = next;
      }
      formers.removeIf(former -> backends.get(former.owner()).dead());
      current[bucket] = (char) owner;
      History after = History.NONE;
      for (int i = formers.size() - 1; i >= 0; i--) {
        after = after.with(formers.get(i).owner(), formers.get(i).since());
      }
      histories[bucket] = after;
    }
    return new Ring(
        SERVICE,
        delta.generation(),
        delta.committed(),
        delta.closedUntil(),
        backends,
        current,
        histories,
        List.of());
  }

  /** -1 if no run has the bucket. */
  private static int find(Runs runs, int bucket) {
    for (int run = 0; run < runs.size(); run++) {
      if (bucket >= runs.start(run) && bucket < runs.end(run)) {
        return runs.owner(run);
      }
    }
    return -1;
  }
}
