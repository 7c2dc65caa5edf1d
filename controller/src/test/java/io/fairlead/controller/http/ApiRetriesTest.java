// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.http.ApiClient.Reply;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Requests that are sent again under their key, and the records that writes leave. */
class ApiRetriesTest extends ServedApi {
  private static final String WEB = "/v1/services/web";
  private static final String SPEC =
      """
      {"name":"web","vips":["10.99.0.1"],"ports":[{"protocol":"tcp","port":80}],"buckets":256,
       "hashKey":"000102030405060708090a0b0c0d0e0f"}\
      """;

  private Reply send(String method, String path, String body, String key) {
    return client.send(
        method, path, body.isEmpty() ? "" : "application/json", body, "Idempotency-Key", key);
  }

  /** A second PUT would be a 200, a second POST a 409, a second DELETE a 404. */
  @Test
  void everyWriteIsAnsweredAsTheFirstTime() {
    record Row(String method, String path, String body, int status) {}
    List<Row> rows =
        List.of(
            new Row("POST", "/v1/services", SPEC, 201),
            new Row("PUT", WEB + "/backends/1", "{\"address\":\"10.1.0.21\"}", 201),
            new Row("PUT", WEB + "/backends/2", "{\"address\":\"10.1.0.22\"}", 201),
            new Row("PATCH", WEB + "/backends/1", "{\"weight\":7}", 200),
            new Row("POST", WEB + "/changes", "{\"changes\":[{\"op\":\"remove\",\"id\":2}]}", 200),
            new Row("PATCH", WEB, "{\"windowSeconds\":300}", 200),
            new Row("DELETE", WEB + "/backends/1", "", 200),
            new Row("DELETE", WEB, "", 200));
    for (int i = 0; i < rows.size(); i++) {
      Row row = rows.get(i);
      Reply first = send(row.method(), row.path(), row.body(), "key-" + i);
      assertThat(first.status()).as(row.toString()).isEqualTo(row.status());
      assertThat(first.header("Idempotency-Replayed")).isEmpty();
      var state = controller.state();
      Reply again = send(row.method(), row.path(), row.body(), "key-" + i);
      assertThat(again.status()).as(row.toString()).isEqualTo(row.status());
      assertThat(again.body()).isEqualTo(first.body());
      assertThat(again.header("Location")).isEqualTo(first.header("Location"));
      assertThat(again.header("Idempotency-Replayed")).isEqualTo("true");
      assertThat(controller.state()).isEqualTo(state);
    }
    JsonArray records = client.get("/v1/audit").array();
    assertThat(records).hasSize(rows.size());
    for (int i = 0; i < rows.size(); i++) {
      JsonObject record = records.getJsonObject(rows.size() - 1 - i);
      assertThat(record.getString("what"))
          .isEqualTo(rows.get(i).method() + " " + rows.get(i).path());
      assertThat(record.getString("who")).isEqualTo("nobody");
    }
    assertThat(records.encode()).doesNotContain("0102030405").contains("\\\"hashKey\\\":\\\"***");
  }

  @Test
  void anotherRequestUnderTheKeyIsRefused() {
    send("POST", "/v1/services", SPEC, "one");
    Reply other = send("PUT", WEB + "/backends/1", "{\"address\":\"10.1.0.21\"}", "one");
    assertThat(other.status()).isEqualTo(422);
    assertThat(other.json().getString("field")).isEqualTo("Idempotency-Key");
    assertThat(other.json().getString("value")).isEqualTo("one");
    assertThat(send("POST", "/v1/services", SPEC + " ", "one").status()).isEqualTo(422);
    assertThat(client.get("/v1/audit").array()).hasSize(1);
  }

  @Test
  void whatWasRefusedIsLookedAtAfresh() {
    Reply early = send("PUT", WEB + "/backends/1", "{\"address\":\"10.1.0.21\"}", "one");
    assertThat(early.status()).isEqualTo(404);
    client.send("POST", "/v1/services", SPEC);
    Reply late = send("PUT", WEB + "/backends/1", "{\"address\":\"10.1.0.21\"}", "one");
    assertThat(late.status()).isEqualTo(201);
  }

  @Test
  void aDryRunTakesNoKey() {
    assertThat(send("POST", "/v1/services?dryRun=true", SPEC, "one").status()).isEqualTo(200);
    assertThat(send("POST", "/v1/services", SPEC, "one").status()).isEqualTo(201);
  }

  @Test
  void ofManyAtOnceOneIsDone() {
    client.send("POST", "/v1/services", SPEC);
    List<CompletableFuture<Reply>> all =
        IntStream.range(0, 8)
            .mapToObj(
                i ->
                    CompletableFuture.supplyAsync(
                        () ->
                            send("PUT", WEB + "/backends/1", "{\"address\":\"10.1.0.21\"}", "one")))
            .toList();
    assertThat(all.stream().map(reply -> reply.join().status())).containsOnly(201);
    assertThat(client.get("/v1/audit").array()).hasSize(2);
  }

  @Test
  void badKeysAndCursorsAreNamed() {
    Reply blank = send("POST", "/v1/services", SPEC, "a b");
    assertThat(blank.status()).isEqualTo(400);
    assertThat(blank.json().getString("field")).isEqualTo("Idempotency-Key");
    assertThat(client.get("/v1/audit?cursor=x").json().getString("field")).isEqualTo("cursor");
    assertThat(client.get("/v1/audit?limit=0").json().getString("field")).isEqualTo("limit");
  }

  @Test
  void theRecordsComeInPages() {
    client.send("POST", "/v1/services", SPEC);
    for (int i = 1; i <= 4; i++) {
      client.send("PUT", WEB + "/backends/" + i, "{\"address\":\"10.1.0.2%d\"}".formatted(i));
    }
    Reply first = client.get("/v1/audit?limit=3");
    assertThat(first.array()).hasSize(3);
    assertThat(first.header("Link")).isEqualTo("</v1/audit?limit=3&cursor=2>; rel=\"next\"");
    Reply second = client.get("/v1/audit?limit=3&cursor=2");
    assertThat(second.array()).hasSize(2);
    assertThat(second.header("Link")).isEmpty();
  }

  @Test
  void aHugeAnswerIsKeptWithoutItsLists() {
    JsonArray moves = new JsonArray();
    Random random = new Random(7);
    for (int i = 0; i < 40_000; i++) {
      moves.add(new JsonObject().put("start", random.nextInt()).put("count", random.nextInt()));
    }
    JsonObject body =
        new JsonObject().put("generation", 2).put("moves", moves).put("shares", new JsonArray());
    byte[] kept = Retries.keep(new Answer(200, "application/json", body.toBuffer(), Map.of()));
    assertThat(kept.length).isLessThan(1000);
    Answer replayed = Retries.replay(kept);
    assertThat(replayed.headers()).containsEntry("Idempotency-Replayed", "abridged");
    assertThat(replayed.body().toJsonObject().getInteger("generation")).isEqualTo(2);
    assertThat(replayed.body().toJsonObject().getJsonArray("moves")).isEmpty();
  }
}
