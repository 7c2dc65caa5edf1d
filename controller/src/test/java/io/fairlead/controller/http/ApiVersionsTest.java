// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static io.fairlead.controller.resources.muxes.Muxes.mux;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.resources.backends.Change;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Entity tags, preconditions and pages. */
class ApiVersionsTest extends ServedApi {
  private static final String WEB = "/v1/services/web";
  private static final String SPEC =
      "{\"name\":\"%s\",\"vips\":[\"10.99.0.%d\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}";
  private static final String STAGED = "{\"changes\":[{\"op\":\"weight\",\"id\":8,\"weight\":50}]}";
  private static final String STATE =
      "{\"vips\":[\"10.99.0.1\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}";
  private static final Pattern NEXT = Pattern.compile("<(/v1/[^>]*)>; rel=\"next\"");

  @BeforeEach
  void open() {
    client.send("POST", "/v1/services", SPEC.formatted("web", 1));
    client.send("PUT", WEB + "/backends/7", "{\"address\":\"10.1.0.27\"}");
  }

  /**
   * The paths whose method accepts this header by the contract, with the objects of {@code open}.
   */
  private static List<String> taking(String method, String header) {
    JsonObject wanted = new JsonObject().put("$ref", "#/components/parameters/" + header);
    return Contract.load().document().getJsonObject("paths").stream()
        .filter(
            path ->
                ((JsonObject) path.getValue())
                    .getJsonObject(method, new JsonObject())
                    .getJsonArray("parameters", new JsonArray())
                    .contains(wanted))
        .map(path -> path.getKey().replace("{name}", "web").replace("{id}", "7"))
        .toList();
  }

  @Test
  void aReadIsAnsweredBrieflyWhileNothingChanges() {
    List<String> paths = taking("get", "IfNoneMatch");
    assertThat(paths).hasSizeGreaterThan(7);
    String flows = SPEC.formatted("flows", 2).replaceFirst("\\{", "{\"steering\":\"othello\",");
    assertThat(client.send("POST", "/v1/services", flows).status()).as(flows).isEqualTo(201);
    for (String path : paths) {
      if (path.endsWith("/othello")) {
        path = path.replace("/web/", "/flows/");
      }
      if (path.endsWith("/explain")) {
        path +=
            "?protocol=tcp&source=10.2.1.2&sourcePort=4&destination=10.99.0.1&destinationPort=80";
      }
      Reply first = client.get(path);
      assertThat(first.status()).as(path).isEqualTo(200);
      String tag = first.header("ETag");
      for (String known : List.of(tag, "\"other\", " + tag, "W/" + tag, "*")) {
        Reply again = client.get(path, "If-None-Match", known);
        assertThat(again.status()).as("%s, %s", path, known).isEqualTo(304);
        assertThat(again.header("ETag")).isEqualTo(tag);
      }
      assertThat(client.get(path, "If-None-Match", "\"other\"").body()).isEqualTo(first.body());
    }
    String tag = client.get(WEB).header("ETag");
    String list = client.get("/v1/services").header("ETag");
    client.send("PATCH", WEB + "/backends/7", "{\"weight\":3}");
    assertThat(client.get(WEB + "/backends/7", "If-None-Match", tag).status()).isEqualTo(200);
    assertThat(client.get("/v1/services", "If-None-Match", list).status()).isEqualTo(200);
    String before = client.get(WEB).header("ETag");
    client.send("PATCH", WEB, "{\"windowSeconds\":300}");
    assertThat(client.get(WEB).header("ETag")).isNotIn(tag, before);
  }

  /** A commit during a read shows in the whole answer or not at all. */
  @Test
  void aReadAndItsTagAreOfOneVersion() {
    for (String path : List.of(WEB, WEB + "/backends", WEB + "/backends/7", WEB + "/ring")) {
      Reply before = client.get(path);
      List<Change> changes = List.of(new Change.Weight(7, path.length()));
      controller.plane().meanwhile(() -> controller.change("web", changes));
      Reply during = client.get(path);
      assertThat(during.body()).as(path).isEqualTo(before.body());
      assertThat(during.header("ETag")).as(path).isEqualTo(before.header("ETag"));
      Reply after = client.get(path);
      assertThat(after.header("ETag")).as(path).isNotEqualTo(before.header("ETag"));
      assertThat(after.body()).as(path).isNotEqualTo(before.body());
    }
  }

  /** Each kind of write is rejected for an old version and accepted for the current one. */
  @Test
  void ofTwoWhoEditAtOnceTheSecondLearnsOfTheFirst() {
    record Write(String method, String path, String body) {}
    List<Write> writes =
        List.of(
            new Write("PATCH", WEB, "{\"windowSeconds\":300}"),
            new Write("PUT", WEB, STATE),
            new Write("PUT", WEB + "/backends/8", "{\"address\":\"10.1.0.28\"}"),
            new Write("PUT", WEB + "/backends/7", "{\"address\":\"10.1.0.27\",\"weight\":4}"),
            new Write("PATCH", WEB + "/backends/7", "{\"weight\":5}"),
            new Write("POST", WEB + "/changes?stage=50%25,100%25", STAGED),
            new Write("POST", WEB + "/stage/advance", ""),
            new Write("POST", WEB + "/stage/rollback", ""),
            new Write("POST", WEB + "/drains", "{\"ids\":[8]}"),
            new Write("POST", WEB + "/undrain", "{\"ids\":[8]}"),
            new Write("POST", WEB + "/hold-health", "{\"ids\":[8]}"),
            new Write("POST", WEB + "/release-health", "{\"ids\":[8]}"),
            new Write("POST", WEB + "/changes", "{\"changes\":[{\"op\":\"remove\",\"id\":8}]}"),
            new Write("POST", WEB + "/rebalance", "{}"),
            new Write("DELETE", WEB + "/upkeep", ""),
            new Write("POST", WEB + "/defragment", "{}"),
            new Write("DELETE", WEB + "/backends/7", ""),
            new Write("DELETE", WEB, ""));
    for (String method : List.of("PUT", "PATCH", "DELETE", "POST")) {
      assertThat(writes)
          .filteredOn(write -> write.method().equals(method))
          .extracting(Write::path)
          .containsAll(taking(method.toLowerCase(Locale.ROOT), "IfMatch"));
    }
    for (Write write : writes) {
      String seen = client.get(WEB).header("ETag");
      client.send(
          "POST", WEB + "/changes", "{\"changes\":[{\"op\":\"weight\",\"id\":7,\"weight\":9}]}");
      client.send("PATCH", WEB, "{\"windowSeconds\":310}");
      String now = client.get(WEB).header("ETag");
      var state = controller.state();
      for (String stale : List.of(seen, "W/" + now, seen + ", W/" + now)) {
        Reply late = send(write.method(), write.path(), write.body(), "If-Match", stale);
        assertThat(late.status()).as("%s for %s", write, stale).isEqualTo(412);
        assertThat(late.json().getString("field")).isEqualTo("If-Match");
        assertThat(late.json().getString("allowed")).startsWith(now.replace("\"", "") + ", the");
      }
      assertThat(controller.state()).as(write.toString()).isEqualTo(state);
      Reply taken = send(write.method(), write.path(), write.body(), "If-Match", seen + ", " + now);
      assertThat(taken.status()).as("%s: %s", write, taken.body()).isIn(200, 201);
    }
    Reply gone = send("PUT", WEB, STATE, "If-Match", "*");
    assertThat(gone.status()).isEqualTo(412);
    assertThat(client.get(WEB).status()).isEqualTo(404);
  }

  @Test
  void ifNoneMatchOnlyCreates() {
    Reply service = send("PUT", WEB, STATE, "If-None-Match", "*");
    assertThat(service.status()).isEqualTo(412);
    String address = "{\"address\":\"10.1.0.27\",\"weight\":1}";
    Reply backend = send("PUT", WEB + "/backends/7", address, "If-None-Match", "*");
    assertThat(backend.status()).isEqualTo(412);
    assertThat(backend.json().getString("field")).isEqualTo("If-None-Match");
    assertThat(client.get(WEB + "/backends/7").json().getInteger("weight")).isEqualTo(100);
    String free = "{\"address\":\"10.1.0.28\"}";
    Reply other = send("PUT", WEB + "/backends/8", free, "If-None-Match", "*");
    assertThat(other.status()).isEqualTo(201);
  }

  @Test
  void aTagThatIsNoneIsRefused() {
    for (String bad : List.of("1-0-12", "\"a", "\"a\" \"b\"", "\"a\",")) {
      Reply reply = send("PATCH", WEB, "{\"windowSeconds\":300}", "If-Match", bad);
      assertThat(reply.status()).as(bad).isEqualTo(400);
      assertThat(reply.json().getString("field")).isEqualTo("If-Match");
      assertThat(reply.json().getString("value")).isEqualTo(bad);
      assertThat(reply.json().getString("allowed")).contains("double quotes");
    }
    Reply create = send("PUT", WEB, STATE, "If-None-Match", "\"a\"");
    assertThat(create.status()).isEqualTo(400);
  }

  @Test
  void pagesAreStableWhileTheListChanges() {
    IntStream.rangeClosed(1, 9)
        .forEach(i -> client.send("POST", "/v1/services", SPEC.formatted("s" + i, 100 + i)));
    List<String> seen = new ArrayList<>();
    String path = "/v1/services?limit=3";
    while (!path.isEmpty()) {
      Reply page = client.get(path);
      page.array().forEach(service -> seen.add(((JsonObject) service).getString("name")));
      assertThat(page.array().size()).isBetween(1, 3);
      Matcher next = NEXT.matcher(page.header("Link"));
      path = next.find() ? next.group(1) : "";
      client.send("DELETE", "/v1/services/" + seen.get(seen.size() - 1), "");
      client.send("POST", "/v1/services", SPEC.formatted("a" + seen.size(), 200 + seen.size()));
    }
    assertThat(seen).containsExactly("s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "web");
    assertThat(client.get("/v1/services?limit=65535").header("Link")).isEmpty();
    assertThat(client.get("/v1/services").header("Link")).isEmpty();
  }

  @Test
  void backendsAndMuxesHavePagesToo() {
    for (int id : List.of(1, 2, 10, 1000)) {
      client.send(
          "PUT",
          WEB + "/backends/" + id + "?force=true",
          "{\"address\":\"10.1.%d.1\"}".formatted(id % 251));
    }
    assertThat(ids(client.get(WEB + "/backends?limit=2"))).containsExactly(1, 2);
    Reply second = client.get(WEB + "/backends?limit=2&cursor=2");
    assertThat(ids(second)).as("in numerical order").containsExactly(7, 10);
    assertThat(second.header("Link")).contains("cursor=10");
    Reply last = client.get(WEB + "/backends?limit=2&cursor=10");
    assertThat(ids(last)).containsExactly(1000);
    assertThat(last.header("Link")).isEmpty();
    for (String id : List.of("mux1", "mux2")) {
      controller.mux(mux(id, "10.1.0.11", List.of(), Map.of()));
    }
    assertThat(client.get("/v1/muxes?limit=1").header("Link"))
        .isEqualTo("</v1/muxes?limit=1&cursor=mux1>; rel=\"next\"");
    assertThat(client.get("/v1/muxes?limit=1&cursor=mux1").array()).hasSize(1);
  }

  private static List<Integer> ids(Reply reply) {
    return reply.array().stream().map(b -> ((JsonObject) b).getInteger("id")).toList();
  }

  private Reply send(String method, String path, String body, String... headers) {
    return client.send(method, path, body.isEmpty() ? "" : "application/json", body, headers);
  }
}
