// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.core.words.Hash;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Whatever is added, removed and rebuilt, the map answers as a plain one does. */
class OthelloMapTest {
  private static final int SERVERS = 9;

  @Property(tries = 200)
  void answersAsAPlainMap(@ForAll long seed, @ForAll @IntRange(min = 1, max = 4000) int keys) {
    Oracle oracle = new Oracle(seed);
    OthelloMap map = OthelloMap.sized(oracle.hash(), seed, 1);
    int rebuilds = 0;
    for (int round = 0; round < 8; round++) {
      oracle.churn(map, 1 + oracle.random.nextInt(1500), keys, SERVERS);
      oracle.check(map, keys, SERVERS);
      if (map.needsRebuild() || oracle.random.nextInt(8) == 0) {
        map.rebuild(Prf.at(seed, rebuilds++));
        assertThat(map.needsRebuild()).isFalse();
        oracle.check(map, keys, SERVERS);
      } else if (oracle.random.nextInt(4) == 0) {
        map.relink();
        oracle.check(map, keys, SERVERS);
      }
      assertThat(linked(map)).isEqualTo(map.size() - map.beside());
    }
  }

  @Test
  void withTooFewCellsManyKeysAreBesideTheGraphAndAllAreFound() {
    Oracle oracle = new Oracle(1);
    OthelloArrays tiny =
        new OthelloArrays(new OthelloHash(Hash.SIPHASH, 1, 64, 64), 1, 8, new char[128]);
    OthelloMap map = OthelloMap.over(tiny);
    for (int round = 0; round < 20; round++) {
      oracle.churn(map, 500, 2000, SERVERS);
      oracle.check(map, 2000, SERVERS);
      map.relink();
      oracle.check(map, 2000, SERVERS);
    }
    assertThat(map.beside()).isGreaterThan(map.size() - 128);
    assertThat(map.needsRebuild()).isTrue();
    map.rebuild(3);
    assertThat(map.needsRebuild()).isFalse();
    assertThat(map.beside()).isLessThan(10);
    oracle.check(map, 2000, SERVERS);
  }

  @Test
  void farTooManyKeysTakeNoLongerEach() {
    OthelloMap map = OthelloMap.sized(Hash.SIPHASH, 1, 20_000);
    int keys = 60_000;
    for (int i = 0; i < keys; i++) {
      map.put(Prf.at(2, i), 1);
    }
    assertThat(map.needsRebuild()).isTrue();
    map.rebuild(7);
    assertThat(map.beside()).isLessThan(10);
    assertThat(map.size()).isEqualTo(keys);
    for (int i = 0; i < keys; i++) {
      assertThat(map.remove(Prf.at(2, i))).isEqualTo(1);
    }
    assertThat(map.size()).isZero();
  }

  @Test
  void keysThatShareBothCellsAreFound() {
    OthelloMap map = OthelloMap.sized(Hash.CRC32, 1, 10);
    long key = 0x1234567890abcdefL;
    for (int i = 0; i < 100; i++) {
      assertThat(map.put(key + ((long) i << 32), i + 1)).isZero(); // crc32 reads the low half alone
    }
    assertThat(map.beside()).isEqualTo(99);
    assertThat(map.remove(key)).isEqualTo(1);
    map.relink();
    assertThat(map.beside()).isEqualTo(98);
    for (int i = 1; i < 100; i++) {
      assertThat(map.remove(key + ((long) i << 32))).isEqualTo(i + 1);
    }
    assertThat(map.size()).isZero();
    assertThat(map.beside()).isZero();
  }

  @Test
  void aKeyTakesThePlaceOfARemovedOne() {
    OthelloMap map = OthelloMap.sized(Hash.SIPHASH, 1, 1000);
    for (int i = 0; i < 100_000; i++) {
      map.put(Prf.at(1, i), 1);
      if (i >= 500) {
        map.remove(Prf.at(1, i - 500));
      }
    }
    assertThat(map.size()).isEqualTo(500);
    assertThat(map.end()).isEqualTo(501);
  }

  @Test
  void ofRandomKeysFewAreBesideTheGraph() {
    int keys = 200_000;
    for (Hash hash : Hash.values()) {
      OthelloMap map = OthelloMap.sized(hash, 12345, keys);
      for (int i = 0; i < keys; i++) {
        map.put(Prf.at(2, i), 1);
      }
      assertThat(map.beside()).as("%s", hash).isLessThan(hash == Hash.CRC32 ? 20 : 5);
      assertThat(map.needsRebuild()).isFalse();
    }
  }

  @Test
  void refusesWhatIsNoServer() {
    OthelloMap map = OthelloMap.sized(Hash.SIPHASH, 1, 1);
    assertThatThrownBy(() -> map.put(1, 0)).hasMessage("server 0; allowed: 1..65535");
    assertThatThrownBy(() -> map.put(1, 65536)).hasMessage("server 65536; allowed: 1..65535");
    assertThat(map.size()).isZero();
  }

  @Test
  void sizesAndSeedsAreChecked() {
    assertThatThrownBy(() -> new OthelloHash(Hash.SIPHASH, 2, 8, 8))
        .hasMessage("seed 0000000000000002 for siphash; allowed: odd numbers");
    assertThatThrownBy(() -> new OthelloHash(Hash.SIPHASH, 1, 0, 8))
        .hasMessage("0 and 8 cells for siphash; allowed: 1..268435456");
    assertThatThrownBy(() -> new OthelloHash(Hash.CRC32, 2, 8, 24))
        .hasMessage("8 and 24 cells for crc32; allowed: 1..268435456, powers of two");
    for (Hash hash : Hash.values()) {
      for (long keys : new long[] {0, 1, 361, 362, 363, 1000, 92_681, 1_000_000, 16_777_216}) {
        OthelloHash sized = OthelloHash.sized(hash, 2, keys);
        assertThat((double) sized.na() * sized.nb()).isGreaterThanOrEqualTo(2.0 * keys * keys);
        if (keys > 1000) {
          assertThat(sized.cells()).isLessThan((int) (keys * (hash == Hash.CRC32 ? 5.7 : 2.84)));
        }
      }
    }
    assertThatThrownBy(() -> OthelloHash.sized(Hash.SIPHASH, 1, 1L << 28))
        .hasMessage("268435456 keys; allowed: up to 189812531");
  }

  private static int linked(OthelloMap map) {
    int linked = 0;
    for (int at = 0; at < map.end(); at++) {
      linked += map.serverAt(at) != 0 && map.forest().isLinked(at) ? 1 : 0;
    }
    return linked;
  }
}
