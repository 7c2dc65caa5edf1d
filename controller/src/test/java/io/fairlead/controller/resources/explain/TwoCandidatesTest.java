// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.explain;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.ring.Vectors;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.words.Affinity;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.core.words.Word;
import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.explain.Explanation.Former;
import io.fairlead.controller.resources.explain.Explanation.Owner;
import io.fairlead.controller.resources.muxes.SettledMoves;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Both candidates of every flow of protocol/vectors/hash.json, by each steering method. */
class TwoCandidatesTest {
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final long SEED = 16;
  private static final int BACKENDS = 5;
  private static final int WINDOW = 240;
  private static final long NOW = 1_700_000_000;
  private static final int BUCKETS_MAX_OF_CRC32 = 65_536;
  private static final JsonNode HASH = Vectors.read("hash.json");

  /** What a test knows of a bucket's last move. */
  private record Row(int current, int previous, long since) {}

  private final Random random = new Random(SEED);

  static Stream<Arguments> flows() {
    return Vectors.rows(HASH, "rows")
        .filter(row -> row.get("protocol").asInt() == TCP || row.get("protocol").asInt() == UDP)
        .filter(row -> isHost(row.get("source")) && isHost(row.get("destination")))
        .flatMap(
            row -> Stream.of(SteeringMethod.values()).map(method -> Arguments.of(row, method)));
  }

  private static boolean isHost(JsonNode address) {
    return Address.parse(address.asText()).filter(Address::isUnicast).isPresent();
  }

  @ParameterizedTest
  @MethodSource
  void flows(JsonNode row, SteeringMethod method) throws RefusedException {
    for (JsonNode of : row.get("buckets")) {
      int buckets = of.get("buckets").asInt();
      Hash hash = Word.parse(Hash.class, row.get("hash").asText()).orElseThrow();
      if (hash == Hash.SIPHASH || buckets <= BUCKETS_MAX_OF_CRC32) {
        check(row, method, hash, of);
      }
    }
  }

  private void check(JsonNode row, SteeringMethod method, Hash hash, JsonNode of)
      throws RefusedException {
    int buckets = of.get("buckets").asInt();
    int first = of.get("bucket").asInt();
    int second = of.get("second").asInt();
    boolean isTcp = row.get("protocol").asInt() == TCP;
    boolean hasTwo = method == SteeringMethod.HUNT || method == SteeringMethod.MAAT;
    Flow flow =
        new Flow(
            isTcp ? "tcp" : "udp",
            row.get("source").asText(),
            row.get("sourcePort").asInt(),
            row.get("destination").asText(),
            row.get("destinationPort").asInt());
    ServiceConfig config =
        ServiceConfig.builder(1, "web")
            .vips(List.of(flow.destination()))
            .ports(List.of(new Port(flow.protocol(), flow.destinationPort())))
            .buckets(buckets)
            .hash(hash)
            .hashKey(row.path("hashKey").asText())
            .affinity(Word.parse(Affinity.class, row.get("affinity").asText()).orElseThrow())
            .steering(method)
            .windowSeconds(WINDOW)
            .build();
    ServiceImage image = new ServiceImage(config, Ring.empty(1, buckets, NOW - 1000));
    List<Backend> backends = new ArrayList<>();
    for (int id = 1; id <= BACKENDS; id++) {
      backends.add(new Backend(id, Address.parse("10.1.0." + id).orElseThrow(), 100, false));
    }
    image = moved(image, backends, first, second, NOW - 900);
    image = moved(image, List.of(), first, second, NOW - 1 - random.nextInt(2 * WINDOW));
    SettledMoves settled = new SettledMoves(SettledMoves.Told.AT_ONCE);
    Explanation got =
        Explanation.of(
            image,
            Optional.empty(),
            flow,
            new FakeConnections(),
            settled,
            Instant.ofEpochSecond(NOW));
    assertThat(got.steering()).isEqualTo(method);
    assertThat(got.bucket()).contains(first);
    assertThat(got.current()).isEqualTo(owner(image.ring().current(first)));
    if (!isTcp || !hasTwo || first == second) {
      assertThat(got.second()).as("%s, seed %d", flow, SEED).isEmpty();
      return;
    }
    Row wanted = row(image, second);
    assertThat(got.second().orElseThrow())
        .as("%s, seed %d", flow, SEED)
        .isEqualTo(
            new Explanation.Second(
                second,
                owner(wanted.current()),
                wanted.since() + WINDOW > NOW
                    ? List.of(
                        new Former(
                            wanted.previous(), "10.1.0." + wanted.previous(), wanted.since()))
                    : List.of(),
                Optional.empty()));
  }

  /** Both buckets move to other owners, or each to the same. */
  private ServiceImage moved(
      ServiceImage image, List<Backend> backends, int first, int second, long now)
      throws RefusedException {
    Ring ring = image.ring();
    Runs.Builder runs = new Runs.Builder();
    Stream.of(Math.min(first, second), Math.max(first, second))
        .distinct()
        .forEach(
            bucket -> {
              int current = ring.current(bucket);
              runs.add(bucket, 1, (current + random.nextInt(BACKENDS - 1)) % BACKENDS + 1);
            });
    return image.withRing(ring.apply(Delta.after(ring, now, backends, runs.build())));
  }

  private static Row row(ServiceImage image, int bucket) {
    Ring ring = image.ring();
    return new Row(ring.current(bucket), ring.previous(bucket), ring.since(bucket));
  }

  private static Optional<Owner> owner(int id) {
    return id == Backend.NONE ? Optional.empty() : Optional.of(new Owner(id, "10.1.0." + id));
  }
}
