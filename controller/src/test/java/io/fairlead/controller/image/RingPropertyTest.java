// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.image;

import static org.assertj.core.api.Assertions.assertThat;

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
 * Whatever history a ring has: its codec, apply and snapshots agree, and damage never yields a
 * ring.
 */
class RingPropertyTest {
  private static final int SERVICE = 7;

  @Property(tries = 100)
  void aSnapshotAndItsDeltasMakeTheLaterSnapshot(
      @ForAll long seed, @ForAll @IntRange(min = 1, max = 12) int changes) throws Exception {
    Random random = new Random(seed);
    int buckets = 256 << random.nextInt(4);
    Ring ring = Ring.empty(SERVICE, buckets, 1_700_000_000);
    List<Ring> history = new ArrayList<>(List.of(ring));
    List<byte[]> deltas = new ArrayList<>();
    for (int i = 0; i < changes; i++) {
      Delta delta = randomDelta(ring, random);
      Ring before = ring;
      Ring naive = applyNaively(ring, delta);
      ring = ring.apply(delta);
      assertThat(ring).isEqualTo(naive);
      deltas.add(encode(delta, before, random.nextBoolean()));
      history.add(ring);
    }
    int from = random.nextInt(changes + 1);
    Ring replayed = snapshotAndBack(history.get(from));
    assertThat(replayed).isEqualTo(history.get(from));
    for (int i = from; i < changes; i++) {
      replayed =
          replayed.apply(
              DeltaCodec.decodeDelta(DeltaCodec.join(DeltaCodec.chunks(deltas.get(i))), replayed));
      assertThat(replayed).isEqualTo(history.get(i + 1));
    }
  }

  @Property(tries = 300)
  void damageIsRefused(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    Ring ring = Ring.empty(SERVICE, 256, 1_700_000_000);
    ring = ring.apply(randomDelta(ring, random));
    Delta delta = randomDelta(ring, random);
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
   * Damage may be invisible (a bit of the zstd frame that means nothing); then what decodes must be
   * unharmed.
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
    byte[] bytes = DeltaCodec.join(DeltaCodec.chunks(DeltaCodec.encode(ring)));
    return DeltaCodec.decodeSnapshot(bytes, SERVICE, ring.generation(), ring.buckets());
  }

  /** By either order of runs, whichever would be chosen. */
  private static byte[] encode(Delta delta, Ring base, boolean isByOwner) {
    return DeltaCodec.encode(
        delta, Optional.of(OwnerRuns.of(base, delta.runs())).filter(runs -> isByOwner));
  }

  /** Adds and removes backends and moves random ranges, within the rules. */
  static Delta randomDelta(Ring ring, Random random) {
    SortedMap<Integer, Backend> changed = new TreeMap<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      int id = 1 + random.nextInt(20);
      Backend known = ring.backends().get(id);
      boolean isLive = known != null && !known.removed();
      Address address =
          isLive ? known.address() : new Address(0, 0xffff_0a01_0000L | random.nextInt(65536));
      changed.put(id, randomBackend(id, address, isLive, random));
    }
    List<Integer> live = new ArrayList<>(List.of(Backend.NONE));
    ring.backends().values().stream()
        .filter(backend -> !backend.removed() && !changed.containsKey(backend.id()))
        .forEach(backend -> live.add(backend.id()));
    changed.values().stream()
        .filter(backend -> !backend.removed())
        .forEach(backend -> live.add(backend.id()));
    char[] next = new char[ring.buckets()];
    int owner = 0;
    for (int bucket = 0; bucket < next.length; bucket++) {
      if (random.nextInt(16) == 0) {
        owner = live.get(random.nextInt(live.size()));
      }
      boolean isStale = !live.contains(ring.current(bucket));
      next[bucket] = (char) (isStale || random.nextInt(3) == 0 ? owner : ring.current(bucket));
    }
    long committed = ring.committed() + random.nextInt(300);
    return new Delta(
        SERVICE,
        ring.generation() + 1,
        ring.buckets(),
        committed,
        List.copyOf(changed.values()),
        Runs.between(ring, next, committed, 240));
  }

  private static Backend randomBackend(int id, Address address, boolean isLive, Random random) {
    boolean isRemoved = isLive && random.nextBoolean();
    return new Backend(id, address, isRemoved ? 0 : random.nextInt(65536), isRemoved);
  }

  private static Ring applyNaively(Ring ring, Delta delta) {
    SortedMap<Integer, Backend> backends = new TreeMap<>(ring.backends());
    delta.backends().forEach(backend -> backends.put(backend.id(), backend));
    char[] current = new char[ring.buckets()];
    char[] previous = new char[ring.buckets()];
    int[] since = new int[ring.buckets()];
    for (int bucket = 0; bucket < current.length; bucket++) {
      current[bucket] = (char) ring.current(bucket);
      previous[bucket] = (char) ring.previous(bucket);
      since[bucket] = (int) ring.since(bucket);
      for (int run = 0; run < delta.runs().size(); run++) {
        int start = delta.runs().start(run);
        if (bucket >= start && bucket < start + delta.runs().count(run)) {
          current[bucket] = (char) delta.runs().current(run);
          previous[bucket] = (char) delta.runs().previous(run);
          since[bucket] = (int) delta.committed();
        }
      }
    }
    return new Ring(
        SERVICE, delta.generation(), delta.committed(), backends, current, previous, since);
  }
}
