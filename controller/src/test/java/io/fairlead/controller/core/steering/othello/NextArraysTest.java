// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.words.Hash;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Known connections get codes that fit; all others keep theirs, or get random ones. */
class NextArraysTest {
  private static final int SERVERS = 9;

  @Property(tries = 150)
  void knownConnectionsFitAfterAnyHistory(
      @ForAll long seed,
      @ForAll @IntRange(min = 1, max = 3000) int keys,
      @ForAll @IntRange(min = 8, max = 12) int bits) {
    Oracle oracle = new Oracle(seed);
    OthelloMap map = OthelloMap.sized(oracle.hash(), seed, keys / 2 + 1);
    oracle.churn(map, keys, keys, SERVERS);
    ServerBuckets buckets = ServerBuckets.of(oracle.owners(1 << bits, SERVERS));
    NextArrays next = NextArrays.fresh(map, 1, buckets);
    check(oracle, map, next, buckets);
    for (int generation = 2; generation < 8; generation++) {
      oracle.churn(map, oracle.random.nextInt(1000), keys, SERVERS);
      buckets = ServerBuckets.of(oracle.owners(1 << bits, SERVERS));
      if (map.needsRebuild() || oracle.random.nextInt(6) == 0) {
        map.rebuild(Prf.at(seed, generation));
        next = NextArrays.fresh(map, generation, buckets);
      } else {
        if (oracle.random.nextInt(4) == 0) {
          map = again(oracle, next.arrays()); // another controller continues
        }
        int miscoded = misfits(map, next.arrays(), buckets);
        assertThat(miscoded).isEqualTo(oracle.miscoded(next.arrays(), buckets));
        OthelloArrays before = next.arrays();
        next = NextArrays.change(map, before, generation, buckets);
        assertThat(next.changed()).isEqualTo(differing(before, next.arrays()));
        assertThat(next.recoded()).isLessThanOrEqualTo(miscoded);
      }
      assertThat(next.arrays().generation()).isEqualTo(generation);
      check(oracle, map, next, buckets);
    }
  }

  private static void check(Oracle oracle, OthelloMap map, NextArrays next, ServerBuckets buckets) {
    int miscoded = oracle.miscoded(next.arrays(), buckets);
    assertThat(next.homeless()).isEmpty();
    assertThat(miscoded).isEqualTo(next.unplaced()).isLessThanOrEqualTo(map.beside());
    assertThat(misfits(map, next.arrays(), buckets)).isEqualTo(miscoded);
  }

  private static OthelloMap again(Oracle oracle, OthelloArrays arrays) {
    OthelloMap map = OthelloMap.over(arrays);
    oracle.servers.forEach(map::put);
    return map;
  }

  private static int differing(OthelloArrays before, OthelloArrays after) {
    int differing = 0;
    for (int cell = 0; cell < before.hash().cells(); cell++) {
      differing += before.cells()[cell] == after.cells()[cell] ? 0 : 1;
    }
    return differing;
  }

  @Test
  void aChangeOfFewConnectionsKeepsAlmostAllCodes() {
    int keys = 50_000;
    Oracle oracle = new Oracle(1);
    OthelloMap map = OthelloMap.sized(Hash.SIPHASH, 99, keys);
    char[] owners = oracle.owners(4096, 100);
    OthelloArrays base = NextArrays.fresh(map, 1, ServerBuckets.of(owners)).arrays();
    for (int i = 0; i < keys; i++) {
      map.put(Prf.at(1, i), owners[base.code(Prf.at(1, i))]); // each is where its packets go
    }
    assertThat(NextArrays.change(map, base, 2, ServerBuckets.of(owners)).changed()).isZero();
    char[] moved = owners.clone();
    for (int bucket = 0; bucket < moved.length; bucket++) {
      moved[bucket] = moved[bucket] == 7 && bucket % 2 == 0 ? 8 : moved[bucket];
    }
    NextArrays next = NextArrays.change(map, base, 2, ServerBuckets.of(moved));
    assertThat(next.recoded()).isBetween(150, 350); // half of a hundredth
    assertThat(next.changed()).isLessThan(6 * next.recoded());
    int kept = 0;
    int unknown = 100_000;
    for (int i = 0; i < unknown; i++) {
      kept += base.code(Prf.at(5, i)) == next.arrays().code(Prf.at(5, i)) ? 1 : 0;
    }
    assertThat(kept).isGreaterThan(unknown * 97 / 100);
  }

  @Test
  void freshArraysAreTheSameForWhateverOrderConnectionsCameIn() {
    Oracle oracle = new Oracle(3);
    OthelloMap map = OthelloMap.sized(Hash.SIPHASH, 77, 30_000);
    oracle.churn(map, 5000, 3000, SERVERS);
    ServerBuckets buckets = ServerBuckets.of(oracle.owners(1024, SERVERS));
    OthelloArrays arrays = NextArrays.fresh(map, 4, buckets).arrays();
    OthelloMap other = again(oracle, arrays);
    map.relink();
    other.relink();
    assertThat(map.beside()).isZero(); // with cycles, the order says who is beside the graph
    assertThat(other.beside()).isZero();
    assertThat(NextArrays.fresh(other, 4, buckets).arrays()).isEqualTo(arrays);
    assertThat(NextArrays.change(other, arrays, 5, buckets).changed()).isZero();
  }

  @Test
  void aServerWithoutBucketsHasChainedOnesOrIsCounted() {
    OthelloMap map = OthelloMap.sized(Hash.SIPHASH, 5, 1000);
    for (int i = 0; i < 300; i++) {
      map.put(Prf.at(1, i), 1 + i % 3);
    }
    char[] owners = new char[256];
    Arrays.fill(owners, (char) 1);
    NextArrays next = NextArrays.fresh(map, 1, ServerBuckets.of(owners));
    assertThat(next.homeless()).isEqualTo(Map.of(2, 100, 3, 100));
    next = NextArrays.change(map, next.arrays(), 2, ServerBuckets.of(owners));
    assertThat(next.homeless()).isEqualTo(Map.of(2, 100, 3, 100));

    Ring ring = Ring.empty(1, 256, 1); // no bucket has an owner
    ServerBuckets kept = ServerBuckets.of(ring, Map.of(2, set(17), 3, set(250, 255)));
    next = NextArrays.change(map, next.arrays(), 3, kept);
    assertThat(next.homeless()).isEqualTo(Map.of(1, 100));
    assertThat(next.arrays().code(Prf.at(1, 1))).isEqualTo(17);
    assertThat(next.arrays().code(Prf.at(1, 2))).isIn(250, 255);
  }

  private static BitSet set(int... buckets) {
    BitSet set = new BitSet();
    Arrays.stream(buckets).forEach(set::set);
    return set;
  }

  @Test
  void anotherSeedIsNotAskedForWhereThereIsNoBucket() {
    OthelloMap map = OthelloMap.sized(Hash.CRC32, 5, 1000);
    for (int i = 0; i < 10; i++) {
      map.put(17 + ((long) i << 32), 2); // crc32 reads the low half alone: nine close a cycle
    }
    char[] owners = new char[256];
    Arrays.fill(owners, (char) 1);
    NextArrays next = NextArrays.fresh(map, 1, ServerBuckets.of(owners));
    assertThat(next.homeless()).isEqualTo(Map.of(2, 10));
    assertThat(next.unplaced()).isZero();
    next = NextArrays.change(map, next.arrays(), 2, ServerBuckets.of(owners));
    assertThat(next.homeless()).isEqualTo(Map.of(2, 10));
    assertThat(next.unplaced()).isZero();
  }

  @Test
  void refusesAMapOfOtherSizesOrBuckets() {
    OthelloMap map = OthelloMap.sized(Hash.SIPHASH, 5, 1000);
    ServerBuckets buckets = ServerBuckets.of(new char[256]);
    OthelloArrays arrays = NextArrays.fresh(map, 1, buckets).arrays();
    ServerBuckets others = ServerBuckets.of(new char[512]);
    assertThatThrownBy(() -> NextArrays.change(map, arrays, 2, others))
        .isInstanceOf(IllegalArgumentException.class);
    map.rebuild(7);
    assertThatThrownBy(() -> NextArrays.change(map, arrays, 2, buckets))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> ServerBuckets.of(Ring.empty(1, 256, 1), Map.of(3, set(256))))
        .hasMessage("bucket 256 is chained to server 3; there are 256");
  }

  /** Whatever its server, a connection that several claim has the code of its pin. */
  @Property(tries = 50)
  void pinsGiveConnectionsTheirCode(
      @ForAll long seed, @ForAll @IntRange(min = 1, max = 500) int keys) {
    Oracle oracle = new Oracle(seed);
    OthelloMap map = OthelloMap.sized(oracle.hash(), seed, 2 * keys);
    oracle.churn(map, 3 * keys, keys, 4);
    ServerBuckets buckets = ServerBuckets.of(oracle.owners(256, 4));
    Map<Long, Integer> codes = new HashMap<>();
    oracle.servers.forEach(
        (key, server) -> {
          if (oracle.random.nextInt(4) == 0) {
            codes.put(key, oracle.random.nextInt(256));
          }
        });
    Pins pins = new Pins(codes, Set.of());
    NextArrays fresh = NextArrays.fresh(map, 1, buckets, pins);
    NextArrays base = NextArrays.fresh(map, 1, buckets);
    for (NextArrays next :
        List.of(fresh, NextArrays.change(map, base.arrays(), 2, buckets, pins))) {
      int wrong = 0;
      for (Map.Entry<Long, Integer> each : oracle.servers.entrySet()) {
        int code = next.arrays().code(each.getKey());
        Integer pin = codes.get(each.getKey());
        wrong += (pin == null ? buckets.fits(each.getValue(), code) : pin == code) ? 0 : 1;
      }
      assertThat(wrong).isEqualTo(next.unplaced());
      assertThat(
              NextArrays.misfits(map, next.arrays()::code, Optional.empty(), buckets, pins).count())
          .isEqualTo(wrong);
    }
    Pins split = new Pins(codes, codes.keySet());
    NextArrays.Misfits misfits =
        NextArrays.misfits(map, base.arrays()::code, Optional.empty(), buckets, split);
    long unplaced =
        oracle.servers.entrySet().stream()
            .filter(each -> !codes.containsKey(each.getKey()))
            .filter(each -> !buckets.fits(each.getValue(), base.arrays().code(each.getKey())))
            .count();
    assertThat(misfits.count()).as("those with pins are where they must be").isEqualTo(unplaced);
    assertThat(misfits.isSplit()).isEqualTo(!codes.isEmpty());
    codes.forEach(
        (key, code) -> {
          assertThat(misfits.needed().has(code, 1)).isTrue();
          assertThat(misfits.needed().has(base.arrays().code(key), 1)).isTrue();
        });
  }

  private static int misfits(OthelloMap map, OthelloArrays arrays, ServerBuckets buckets) {
    return NextArrays.misfits(map, arrays::code, Optional.empty(), buckets, Pins.NONE).count();
  }
}
