// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static io.fairlead.controller.resources.agents.AgentRequests.gzip;
import static io.fairlead.controller.resources.agents.AgentRequests.report;
import static io.fairlead.controller.resources.agents.AgentRequests.service;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.resources.agents.AgentRoutes;
import io.fairlead.controller.resources.agents.Agents;
import io.fairlead.controller.resources.agents.FakeConnectionReports;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reports that an agent must not send, and those that only look wrong. */
class MalformedReportsTest extends ServedApi {
  private final FakeConnectionReports connectionReports = new FakeConnectionReports();

  @Override
  protected List<Resource> resources() {
    Agents agents =
        new Agents(controller.plane(), controller.get().softState().reports(), connectionReports);
    return List.of(new AgentRoutes(() -> agents, controller.get().refusals()));
  }

  private static final JsonObject ANSWER =
      new JsonObject().put("question", "q").put("connections", 1).put("buckets", "AAE=");

  private static final JsonObject CONNECTIONS =
      new JsonObject()
          .put("memory", "m")
          .put("mark", "")
          .put("whole", true)
          .put("first", true)
          .put("last", false)
          .put("opened", "AQAAAAAAAAD/////////fw==")
          .put("closed", "");

  private static final JsonObject LOAD =
      new JsonObject().put("busy", 3).put("offered", 9).put("taken", 6).put("passed", 3);

  private static final JsonObject SIGNALS =
      new JsonObject()
          .put("opened", 1200)
          .put("refused", 0)
          .put("resetsSent", 3)
          .put("resetsReceived", 2)
          .put("retransmitted", 7)
          .put("segments", 9007199254740991L)
          .put("rttSamples", 1200)
          .put("rttMicroseconds", 345678);

  private String version;

  @BeforeEach
  void makeService() {
    client.send(
        "POST",
        "/v1/services",
        "{\"name\":\"web\",\"vips\":[\"10.99.0.1\"],\"buckets\":256,\"steering\":\"hunt\","
            + "\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}");
    client.send("PUT", "/v1/services/web/backends/7", "{\"address\":\"10.2.0.7\"}");
    connectionReports.asking.add("web");
    version = client.get("/v1/agent/services").json().getString("version");
  }

  private JsonObject good() {
    return report(
        1,
        version,
        "10.2.0.7",
        service("web", 12)
            .put("answer", ANSWER.copy())
            .put("connections", CONNECTIONS.copy())
            .put("load", LOAD.copy())
            .put("signals", SIGNALS.copy()));
  }

  private Reply post(JsonObject report) {
    return client.send("POST", "/v1/agent/reports", report.encode());
  }

  /** A field and what it is instead; nothing: it is absent. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "format | | format",
        "format | 2 | format",
        "format | \"1\" | format",
        "boot | | boot",
        "boot | \"0\" | boot",
        "boot | \"000102030405060708090A0B0C0D0E0F\" | boot",
        "sequence | 0 | sequence",
        "sequence | -1 | sequence",
        "sequence | 1.5 | sequence",
        "sequence | 99999999999999999999 | sequence",
        "version | \"\" | version",
        "mode | \"guesses\" | mode",
        "addresses | [] | addresses",
        "addresses | [\"10.2.0.7\",\"::7\",\"::8\"] | addresses",
        "addresses | [\"10.2.0.7\",\"10.2.0.7\"] | addresses[1]",
        "addresses | [\"10.2.0.007\"] | addresses[0]",
        "addresses | [\"server7\"] | addresses[0]",
        "addresses | [\"127.0.0.1\"] | addresses[0]",
        "addresses | [7] | addresses[0]",
        "servicesVersion | null | servicesVersion",
        "lostEvents | -1 | lostEvents",
        "form | {} | form.kind",
        "form | {\"kind\":\"none\",\"attached\":true} | form.kind",
        "form | {\"kind\":\"bpf\",\"interface\":\"\",\"attached\":true} | form.interface",
        "form | {\"kind\":\"bpf\",\"interface\":\"eth0\"} | form.attached",
        "form | {\"kind\":\"bpf\",\"attached\":true,\"other\":1} | form.other",
        "services | {} | services",
        "services | [7] | services[0]",
        "services | null | services",
        "extra | 1 | extra",
        "services.0.name | | services[0].name",
        "services.0.name | \"dns\" | services[0].name",
        "services.0.name | \"WEB\" | services[0].name",
        "services.0.established | -1 | services[0].established",
        "services.0.established | | services[0].established",
        "services.0.established | 4294967296 | services[0].established",
        "services.0.halfOpen | \"1\" | services[0].halfOpen",
        "services.0.opened | true | services[0].opened",
        "services.0.closed | null | services[0].closed",
        "services.0.acceptQueue | {\"length\":1} | services[0].acceptQueue.limit",
        "services.0.acceptQueue | null | services[0].acceptQueue",
        "services.0.other | 1 | services[0].other",
        "services.0.answer | {} | services[0].answer.question",
        "services.0.answer.question | \"\" | services[0].answer.question",
        "services.0.answer.connections | -1 | services[0].answer.connections",
        "services.0.answer.buckets | \"AA\" | services[0].answer.buckets",
        "services.0.answer.buckets | \"AAA=\" | services[0].answer.buckets",
        "services.0.answer.buckets | \"gAIB\" | services[0].answer.buckets",
        "services.0.connections | {} | services[0].connections.memory",
        "services.0.connections.memory | 7 | services[0].connections.memory",
        "services.0.connections.mark | | services[0].connections.mark",
        "services.0.connections.whole | \"true\" | services[0].connections.whole",
        "services.0.connections.first | | services[0].connections.first",
        "services.0.connections.last | null | services[0].connections.last",
        "services.0.connections.opened | \"AQAAAAAAAA==\" | services[0].connections.opened",
        "services.0.connections.opened | \"AQAAAAAAAAA\" | services[0].connections.opened",
        "services.0.connections.closed | \"?\" | services[0].connections.closed",
        "services.0.connections.other | 1 | services[0].connections.other",
        "services.0.load | 3 | services[0].load",
        "services.0.load | {} | services[0].load.offered",
        "services.0.load.busy | -1 | services[0].load.busy",
        "services.0.load.busy | 0.5 | services[0].load.busy",
        "services.0.load.busy | null | services[0].load.busy",
        "services.0.load.busy | 4294967296 | services[0].load.busy",
        "services.0.load.offered | | services[0].load.offered",
        "services.0.load.offered | -1 | services[0].load.offered",
        "services.0.load.taken | \"1\" | services[0].load.taken",
        "services.0.load.passed | 4294967296 | services[0].load.passed",
        "services.0.load.refused | 1 | services[0].load.refused",
        "services.0.signals | [] | services[0].signals",
        "services.0.signals | null | services[0].signals",
        "services.0.signals.opened | | services[0].signals.opened",
        "services.0.signals.refused | -1 | services[0].signals.refused",
        "services.0.signals.resetsSent | null | services[0].signals.resetsSent",
        "services.0.signals.resetsReceived | 0.5 | services[0].signals.resetsReceived",
        "services.0.signals.retransmitted | \"NaN\" | services[0].signals.retransmitted",
        "services.0.signals.segments | 9007199254740992 | services[0].signals.segments",
        "services.0.signals.rttSamples | 99999999999999999999 | services[0].signals.rttSamples",
        "services.0.signals.rttMicroseconds | 1e400 | services[0].signals.rttMicroseconds",
        "services.0.signals.latency | 1 | services[0].signals.latency",
      })
  void aWrongFieldIsNamed(String path, String value, String field) {
    JsonObject report = good();
    JsonObject at = report;
    String name = path;
    if (path.startsWith("services.0.")) {
      at = report.getJsonArray("services").getJsonObject(0);
      name = path.substring("services.0.".length());
      int dot = name.indexOf('.');
      if (dot > 0) {
        at = at.getJsonObject(name.substring(0, dot));
        name = name.substring(dot + 1);
      }
    }
    if (value == null) {
      at.remove(name);
    } else {
      at.put(name, Json.decodeValue(value));
    }
    Reply reply = post(report);
    assertThat(reply.status()).as(reply.body()).isIn(400, 403);
    assertThat(reply.json().getString("field")).as(reply.body()).isEqualTo(field);
    assertThat(reply.json().getString("allowed")).isNotBlank();
    assertThat(controller.get().softState().reports().connections("web", 7)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"{", "[]", "7", "null", "\"report\"", "{} {}", "{\"format\":1"})
  void aBodyThatIsNoReportIsRefused(String body) {
    Reply reply = client.send("POST", "/v1/agent/reports", body);
    assertThat(reply.status()).isEqualTo(400);
    assertThat(reply.json().getString("allowed")).isNotBlank();
  }

  /** Two readers could take different ones. */
  @Test
  void aFieldTwiceIsRefused() {
    String report = good().encode();
    String twice = report.substring(0, report.length() - 1) + ",\"sequence\":1}";
    Reply reply = client.send("POST", "/v1/agent/reports", twice);
    assertThat(reply.status()).as(reply.body()).isEqualTo(400);
    assertThat(reply.json().getString("detail")).contains("Duplicate field 'sequence'");
  }

  @Test
  void aNameThatIsTooLongForJacksonIsRefused() {
    Reply reply = client.send("POST", "/v1/agent/reports", "{\"" + "a".repeat(60_000) + "\":1}");
    assertThat(reply.status()).as(reply.body()).isEqualTo(400);
    assertThat(reply.json().getString("field")).isEqualTo("body");
    assertThat(reply.json().getString("allowed")).isEqualTo("one JSON document");
  }

  /** Each one was a call of the JDK's reader by itself. */
  @Test
  void manyEmptyMembersOfGzipAreRefused() throws Exception {
    byte[] one = gzip("");
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (int i = 0; i < 50_000; i++) {
      all.write(one);
    }
    HttpResponse<String> response =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create(url() + "/v1/agent/reports"))
                    .header("Content-Type", "application/json")
                    .header("Content-Encoding", "gzip")
                    .POST(HttpRequest.BodyPublishers.ofByteArray(all.toByteArray()))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
    assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
    assertThat(response.body()).contains("\"field\":\"body\"", "gzip");
  }

  @Test
  void aServiceTwiceIsRefused() {
    JsonObject report = good();
    report.getJsonArray("services").add(service("web", 1));
    assertThat(post(report).json().getString("field")).isEqualTo("services[1].name");
  }

  /** Lost events make opened and closed differ from the change of established. */
  @Test
  void whatOnlyLooksWrongIsTaken() {
    assertThat(post(good()).status()).isEqualTo(200);
    JsonObject fewer = report(2, version, "10.2.0.7", service("web", 1).put("opened", 900));
    assertThat(post(fewer.put("lostEvents", 70)).status()).isEqualTo(200);
    assertThat(
            controller
                .get()
                .softState()
                .reports()
                .connections("web", 7)
                .orElseThrow()
                .established())
        .isEqualTo(1);
  }

  @Test
  void connectionsAreTakenAndAnswered() {
    JsonObject reply = post(good()).json();
    assertThat(connectionReports.taken)
        .singleElement()
        .satisfies(taken -> assertThat(taken.opened()).containsExactly(1, 0x7fff_ffff_ffff_ffffL));
    assertThat(reply.getJsonArray("connections").encode())
        .isEqualTo("[{\"name\":\"web\",\"memory\":\"memory\",\"mark\":\"mark\"}]");
    assertThat(reply.getInteger("nextSeconds")).isEqualTo(5);
  }

  @Test
  void connectionsOfARepeatedReportAreNotUsedTwice() {
    post(good());
    assertThat(post(good()).json().getJsonArray("connections")).hasSize(1);
    assertThat(connectionReports.taken).hasSize(1);
  }

  @Test
  void connectionsThatNobodyAskedForAreRefused() {
    connectionReports.asking.clear();
    assertThat(post(good()).json().getString("field")).isEqualTo("services[0].connections");
  }

  /** One service's name is how another's begins. */
  @Test
  void agentsComeInPages() {
    client.send(
        "PUT",
        "/v1/services/web-2",
        "{\"vips\":[\"10.99.0.2\"],\"buckets\":256,\"ports\":[{\"protocol\":\"tcp\",\"port\":80}],"
            + "\"pool\":[{\"id\":1,\"address\":\"10.2.0.1\"},{\"id\":20000,\"address\":\"10.2.0.2\"}]}");
    StringBuilder seen = new StringBuilder();
    String next = "/v1/agents?limit=1";
    while (!next.isEmpty()) {
      Reply page = client.get(next);
      JsonObject one = page.array().getJsonObject(0);
      seen.append(one.getString("service")).append(' ').append(one.getInteger("backend"));
      seen.append(';');
      String link = page.header("Link");
      next = link.isEmpty() ? "" : link.substring(1, link.indexOf('>'));
    }
    assertThat(seen).hasToString("web 7;web-2 1;web-2 20000;");
    assertThat(client.get("/v1/agents?limit=1&cursor=web").json().getString("field"))
        .isEqualTo("cursor");
  }

  @Test
  void aReplayChangesNothing() {
    post(report(5, version, "10.2.0.7", service("web", 5)));
    assertThat(post(report(5, version, "10.2.0.7", service("web", 0))).status()).isEqualTo(200);
    assertThat(post(report(4, version, "10.2.0.7", service("web", 0))).status()).isEqualTo(200);
    assertThat(
            controller
                .get()
                .softState()
                .reports()
                .connections("web", 7)
                .orElseThrow()
                .established())
        .isEqualTo(5);
  }

  @Test
  void anAgentOfFormerServicesIsHeardAndReadsThemAgain() {
    JsonObject asked =
        post(report(1, "former", "10.2.0.7", service("web", 5), service("gone", 5))).json();
    assertThat(asked.getString("servicesVersion")).isEqualTo(version);
    assertThat(asked.getInteger("nextSeconds")).isEqualTo(1);
    assertThat(controller.get().softState().reports().connections("web", 7)).isEmpty();
    JsonObject heard = client.get("/v1/agents").array().getJsonObject(0);
    assertThat(heard.getString("state")).isEqualTo("counting");
    assertThat(heard.containsKey("established")).isFalse();
  }

  @Test
  void aRemovedBackendIsCountedWhileABucketNamesIt() {
    client.send("PUT", "/v1/services/web/backends/8", "{\"address\":\"10.2.0.8\"}");
    client.send("DELETE", "/v1/services/web/backends/7", "");
    assertThat(client.get("/v1/agents").array()).hasSize(1);
    JsonObject served = client.get("/v1/agent/services").json();
    assertThat(served.getJsonArray("services").getJsonObject(0).getJsonArray("backends").encode())
        .contains("10.2.0.7");
    post(report(1, served.getString("version"), "10.2.0.7", service("web", 5)));
    assertThat(
            controller
                .get()
                .softState()
                .reports()
                .connections("web", 7)
                .orElseThrow()
                .established())
        .isEqualTo(5);
  }
}
