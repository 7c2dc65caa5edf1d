// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.steering.othello.Pins.Pin;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The code by which packets of a connection go on reaching all servers that claim it. */
class SharedBucketsTest {
  private static final long NOW = 1_700_000_000;
  private static final Set<Integer> OWNERS = Set.of(1, 2, 5);

  /** Bucket 10 is 1's and was 2's; bucket 20 is 5's; bucket 30 is 5's and was 1's, and 2's. */
  private static ServiceImage image() throws Exception {
    ServiceConfig config =
        ServiceConfig.builder(1, "web").buckets(256).steering(SteeringMethod.OTHELLO).build();
    ServiceImage image = ServiceImage.create(config, NOW);
    List<Runs> generations =
        List.of(
            new Runs.Builder().add(10, 1, 2).add(20, 1, 5).add(30, 1, 2).build(),
            new Runs.Builder().add(10, 1, 1).add(30, 1, 1).build(),
            new Runs.Builder().add(30, 1, 5).build());
    for (Runs moves : generations) {
      List<Backend> backends = Stream.of(1, 2, 5).map(SharedBucketsTest::backend).toList();
      Delta delta = Delta.after(image.ring(), image.ring().committed() + 1, backends, moves);
      image = image.withRing(image.ring().apply(delta));
    }
    return image;
  }

  private static Backend backend(int id) {
    return new Backend(id, Address.parse("10.1.0." + id).orElseThrow(), 100, false);
  }

  @ParameterizedTest
  @CsvSource({
    // codes, holder, whether it was the owner, claimants: the code that is kept, whether both are
    "10, 20, 1, false, 2,    10,  false",
    "10, 20, 1, false, 5,    20,  true",
    "10, 20, 1, false, 2 5,  20,  true",
    "10, 20, 1, false, 5 2,  20,  true",
    "10, 30, 1, false, 2 5,  30,  false",
    "10, 20, 1, false, 2 9,  10,  false", // 9 may have no connections
    "10, 10, 1, false, 5,    ,    ",
    "10, 20, 2, true,  1,    ,    ", // 2 would have said that it had ended
    "10, 20, 2, true,  1 5,  20,  true",
    "10, 30, 2, false, 1,    10,  false",
    "10, 30, 2, true,  1,    ,    ", // by either code it got the bucket after 2
    "10, 30, 2, true,  1 5,  30,  true", // 5 did by one of them; 2 may have been the other's owner
    "20, 20, 1, false, 5,    20,  false", // 1 has lost it anyway
  })
  void packetsGoOnReachingAll(
      int newest,
      int before,
      int holder,
      boolean isFirm,
      String claimants,
      Integer code,
      Boolean isSplit)
      throws Exception {
    Set<Integer> ids = new LinkedHashSet<>();
    Stream.of(claimants.split(" ")).map(Integer::valueOf).forEach(ids::add);
    SharedBuckets shared =
        new SharedBuckets(image(), OWNERS, key -> newest, Optional.of(key -> before));
    assertThat(shared.pin(1, holder, isFirm, ids))
        .isEqualTo(Optional.ofNullable(code).map(kept -> new Pin(kept, isSplit)));
  }
}
