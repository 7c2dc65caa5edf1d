// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.core.ring.Vectors;
import io.fairlead.controller.core.steering.othello.OthelloMap;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.resources.agents.ConnectionReports.Changes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What is known after each report, against the vectors. Where a report does not follow the one
 * before, the leader here is stricter than theirs: it takes no more changes, and asks for a whole
 * set under another name. Those rows end there.
 */
class ExchangesTest {
  private static final List<Integer> SERVER = List.of(7);

  /** In which step of a row the leader asks again. */
  private static final Map<String, Integer> ASKS_ANEW =
      Map.of(
          "a last part again", 2,
          "another memory", 1,
          "changes before any whole set", 0,
          "a set without its first part", 0);

  private final Memories memories = new Memories(() -> 1, 1, 10_000, 10_000);
  private final KnownConnections known =
      new KnownConnections(OthelloMap.sized(Hash.SIPHASH, 1, 64));

  static Stream<JsonNode> exchanges() {
    return Vectors.rows(Vectors.read("reports.json"), "exchanges");
  }

  private Memories.Answer hear(Optional<Changes> changes) {
    return memories.accept(
        SERVER,
        changes,
        known.map().size(),
        accepted -> {
          known.take(SERVER, accepted.changes(), Claimants.ANYONE);
          memories.taken(accepted);
        });
  }

  private static long[] hashes(JsonNode text) {
    ByteBuffer bytes =
        ByteBuffer.wrap(Base64.getDecoder().decode(text.asText())).order(ByteOrder.LITTLE_ENDIAN);
    long[] hashes = new long[bytes.limit() / Long.BYTES];
    bytes.asLongBuffer().get(hashes);
    return hashes;
  }

  @ParameterizedTest
  @MethodSource("exchanges")
  void knowsWhatTheVectorsSay(JsonNode row) {
    String name = hear(Optional.empty()).memory();
    Optional<Integer> asksAnew = Optional.ofNullable(ASKS_ANEW.get(row.get("name").asText()));
    int number = 0;
    for (JsonNode step : row.get("steps")) {
      JsonNode told = step.get("connections");
      boolean isCurrent = told.get("memory").equals(row.get("memory"));
      int before = known.map().size();
      Memories.Answer answer =
          hear(
              Optional.of(
                  new Changes(
                      isCurrent ? name : told.get("memory").asText(),
                      told.get("mark").asText(),
                      told.get("whole").asBoolean(),
                      told.get("first").asBoolean(),
                      told.get("last").asBoolean(),
                      hashes(told.get("opened")),
                      hashes(told.get("closed")))));
      if (!answer.memory().equals(name)) {
        assertThat(asksAnew).as("%s", row.get("name")).contains(number);
        assertThat(known.map().size()).as("%s", row.get("name")).isEqualTo(before);
        return;
      }
      number++;
      assertThat(known.map().size()).as("%s, %s", row, step).isEqualTo(step.get("known").size());
      for (JsonNode one : step.get("known")) {
        long hash = Long.parseUnsignedLong(one.asText(), 16);
        assertThat(known.map().server(hash)).as("%s, %s, %s", row, step, one).isEqualTo(7);
      }
    }
    assertThat(asksAnew).as("%s", row.get("name")).isEmpty();
  }
}
