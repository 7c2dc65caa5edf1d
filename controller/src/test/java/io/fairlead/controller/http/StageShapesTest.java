// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.http.ApiClient.Reply;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Answers about staged changes, against the contract's schemas. */
class StageShapesTest extends ServedApi {
  /** Sends; the client checks the answer against the contract. */
  private Reply expect(int status, String method, String path, String body) {
    Reply reply = client.send(method, path, body);
    assertThat(reply.status()).as(reply.body()).isEqualTo(status);
    return reply;
  }

  @Test
  void stagedChangesAnswerAsTheContractSays() {
    String web = "/v1/services/web";
    expect(
        201,
        "PUT",
        web,
        "{\"vips\":[\"10.99.0.1\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}],"
            + "\"pool\":[{\"id\":1,\"address\":\"10.1.0.21\"},{\"id\":2,\"address\":\"10.1.0.22\"}]}");
    assertThat(expect(200, "GET", web + "/stage", "").json().getMap()).doesNotContainKey("staging");
    expect(409, "POST", web + "/stage/advance", "");
    String third = "{\"address\":\"10.1.0.63\"}";
    String staged = web + "/backends/63?stage=1%25,100%25&bake=600";
    JsonObject plan = expect(200, "PUT", staged + "&dryRun=true", third).json();
    assertThat(plan.getJsonObject("staging").getJsonArray("shares")).containsExactly(0.01, 1.0);
    expect(400, "PUT", web + "/backends/63?stage=50,10,100", third);
    expect(400, "PUT", web + "/backends/63?stage=half", third);
    expect(400, "PUT", web + "/backends/63?bake=9", third);
    expect(400, "PUT", web + "/backends/63?stage=1,100&bake=0", third);
    expect(201, "PUT", staged, third);
    JsonObject shown = client.get(web).json().getJsonObject("staging");
    assertThat(shown.getString("state")).isEqualTo("running");
    assertThat(shown.getDouble("next")).isEqualTo(1.0);
    assertThat(shown.getJsonArray("backends")).containsExactly(63);
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> client.get(web + "/stage").json().containsKey("verdict"));
    JsonObject status = expect(200, "GET", web + "/stage", "").json();
    assertThat(status.getString("verdict")).isEqualTo("waits");
    assertThat(status.getString("words")).contains("only the time counts");
    expect(409, "PATCH", web + "/backends/63", "{\"weight\":50}");
    String change = "{\"changes\":[{\"op\":\"weight\",\"id\":63,\"weight\":50}]}";
    expect(409, "POST", web + "/changes?stage=1,100", change);
    expect(200, "POST", web + "/stage/advance", "");
    JsonObject back = expect(200, "POST", web + "/stage/rollback?force=true", "").json();
    assertThat(back.getJsonObject("staging").getString("state")).isEqualTo("rolled_back");
    expect(409, "POST", web + "/stage/rollback", "");
    expect(200, "DELETE", web + "/backends/63?dead=true&force=true", "");
    String settings = "{\"stageSettings\":{\"stages\":\"5%,100%\",\"minimumEvents\":7}}";
    expect(200, "PATCH", web, settings);
    assertThat(client.get(web).json().getJsonObject("stageSettings").getMap())
        .containsEntry("stages", "5%,100%")
        .containsEntry("bakeSeconds", 60)
        .containsEntry("factorPercent", 200)
        .containsEntry("minimumEvents", 7);
    expect(400, "PATCH", web, "{\"stageSettings\":{\"stages\":\"5%\"}}");
    expect(200, "PATCH", web, "{\"stageSettings\":{\"stages\":\"none\"}}");
  }
}
