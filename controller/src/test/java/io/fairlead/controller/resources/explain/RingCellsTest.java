// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.explain;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.http.ServedApi;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A ring of 256 buckets, half of which moved from backend 1 to backend 2 just now. */
class RingCellsTest extends ServedApi {
  private static final String WEB = "/v1/services/web";

  @BeforeEach
  void create() {
    assertThat(
            client
                .send(
                    "PUT",
                    WEB,
                    "{\"vips\":[\"10.99.0.1\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}],"
                        + "\"buckets\":256,\"pool\":[{\"id\":1,\"address\":\"10.2.0.1\"}]}")
                .status())
        .isEqualTo(201);
    assertThat(client.send("PUT", WEB + "/backends/2", "{\"address\":\"10.2.0.2\"}").status())
        .isEqualTo(201);
  }

  private JsonObject cells(String query) {
    Reply reply = client.get(WEB + "/ring/cells" + query);
    assertThat(reply.status()).as(reply.body()).isEqualTo(200);
    return reply.json();
  }

  private static int sum(JsonArray numbers) {
    return numbers.stream().mapToInt(number -> ((Number) number).intValue()).sum();
  }

  /** However it is cut, buckets and moves add up. */
  @ParameterizedTest
  @CsvSource({"'', 256, 1", "?cells=16, 16, 16", "?cells=3, 3, 86", "?cells=1, 1, 256"})
  void theWholeRing(String query, int count, int size) {
    JsonObject cells = cells(query);
    assertThat(cells.getInteger("size")).isEqualTo(size);
    assertThat(cells.getInteger("count")).isEqualTo(256);
    assertThat(cells.getLong("generation")).isEqualTo(3);
    assertThat(cells.getJsonArray("owners")).hasSize(count).containsAnyOf(1, 2);
    assertThat(sum(cells.getJsonArray("moved"))).isEqualTo(128);
    assertThat(sum(cells.getJsonArray("held"))).isZero();
    int most = sum(cells.getJsonArray("owned"));
    assertThat(most).isBetween(128, 256);
    assertThat(cells.containsKey("former")).isEqualTo(size == 1);
    if (size == 1) {
      assertThat(most).isEqualTo(256);
    }
  }

  @Test
  void singleBucketsHaveFormerOwnersAndTimes() {
    JsonObject cells = cells("?start=100&count=50");
    assertThat(cells.getInteger("start")).isEqualTo(100);
    assertThat(cells.getJsonArray("owners")).hasSize(50);
    IntStream.range(0, 50)
        .forEach(
            cell -> {
              boolean isMoved = cells.getJsonArray("moved").getInteger(cell) == 1;
              assertThat(cells.getJsonArray("owners").getInteger(cell)).isEqualTo(isMoved ? 2 : 1);
              assertThat(cells.getJsonArray("former").getJsonArray(cell))
                  .isEqualTo(isMoved ? new JsonArray().add(1) : new JsonArray());
              assertThat(cells.getJsonArray("since").getLong(cell) > 0).isEqualTo(isMoved);
            });
  }

  /** Of a bucket that has moved twice, the newest first. */
  @Test
  void aBucketHasAllItsFormerOwners() {
    for (String change : List.of("/2,0", "/3,100", "/1,0")) {
      String[] words = change.split(",");
      String body = "{\"address\":\"10.2.0%s\",\"weight\":%s}";
      String path = WEB + "/backends" + words[0];
      assertThat(
              client
                  .send("PUT", path, body.formatted(words[0].replace('/', '.'), words[1]))
                  .status())
          .isIn(200, 201);
    }
    JsonObject cells = cells("?cells=256");
    assertThat(cells.getJsonArray("owners").stream().distinct()).containsExactly(3);
    assertThat(cells.getJsonArray("former"))
        .contains(new JsonArray().add(1), new JsonArray().add(1).add(2));
  }

  @Test
  void aPartEndsWithTheRing() {
    assertThat(cells("?start=250&count=100").getInteger("count")).isEqualTo(6);
    assertThat(cells("?start=255&count=0").getJsonArray("owners")).hasSize(1);
    Reply beyond = client.get(WEB + "/ring/cells?start=256");
    assertThat(beyond.status()).isEqualTo(400);
    assertThat(beyond.json().getString("field")).isEqualTo("start");
    assertThat(beyond.json().getString("allowed")).isEqualTo("0..255");
  }
}
