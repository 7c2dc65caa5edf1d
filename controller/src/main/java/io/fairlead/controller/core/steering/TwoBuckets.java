// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering;

import io.fairlead.controller.core.words.Affinity;
import io.fairlead.controller.core.words.Encap;
import io.fairlead.controller.core.words.Hash;
import java.util.ArrayList;
import java.util.List;

/**
 * Each connection has two buckets, by the halves of its hash. With {@code hunt} the first one's
 * owner may refuse it; with {@code maat} muxes put the less loaded owner first. The ring is the
 * same as with {@code ring}.
 */
record TwoBuckets(String word) implements Steering {
  /** The high half of {@code crc32} is the low half rotated by 16 bits (protocol/README.md §1). */
  private static final int BUCKETS_MAX_OF_CRC32 = 65_536;

  @Override
  public List<Violation> check(Spec spec) {
    List<Violation> found = new ArrayList<>();
    if (spec.hash() == Hash.CRC32 && spec.buckets() > BUCKETS_MAX_OF_CRC32) {
      found.add(
          violation(
              "buckets",
              spec.buckets(),
              "256..65536, or hash siphash, as crc32 has no more bits for two buckets"));
    }
    if (!spec.encap().carriesNamed()) {
      found.add(violation("encap", spec.encap(), Encap.wordsThatCarryNamed()));
    }
    if (spec.affinity() != Affinity.CONNECTION) {
      found.add(
          violation(
              "affinity",
              spec.affinity(),
              Affinity.CONNECTION + ", as two servers share what has one hash"));
    }
    return found;
  }

  @Override
  public boolean hasSecond() {
    return true;
  }

  private Violation violation(String field, Object value, String allowed) {
    return new Violation(field, value, allowed + ", with steering " + word);
  }
}
