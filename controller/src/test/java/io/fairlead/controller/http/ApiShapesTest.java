// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static io.fairlead.controller.resources.muxes.Muxes.behind;
import static io.fairlead.controller.resources.muxes.Muxes.mux;
import static io.fairlead.controller.resources.muxes.Muxes.serving;
import static io.fairlead.controller.resources.muxes.Muxes.unsupported;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.resources.health.HealthDecision.State;
import io.fairlead.controller.resources.health.HealthRoutes;
import io.fairlead.controller.resources.health.HealthView;
import io.fairlead.controller.resources.inspect.FakeMux;
import io.fairlead.controller.resources.inspect.FakeMux.Says;
import io.fairlead.controller.resources.inspect.InspectRoutes;
import io.fairlead.controller.resources.inspect.MuxAccess;
import io.fairlead.controller.resources.muxes.MetricsUrl;
import io.fairlead.controller.resources.muxes.MuxServes;
import io.fairlead.controller.resources.muxes.MuxView;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** What succeeds: every operation's answer against the contract's schema for its status. */
class ApiShapesTest extends ServedApi {
  private final List<HealthView> health = new ArrayList<>();
  private final List<MuxView> asked = new ArrayList<>();

  @Override
  protected List<Resource> resources() {
    return List.of(
        new HealthRoutes(() -> List.copyOf(health), controller.get().probes().holds()),
        new InspectRoutes(() -> asked, MuxAccess.NONE));
  }

  private static final String WEB =
      """
      {"name":"web","vips":["10.99.0.1","fd00::1"],"ports":[{"protocol":"tcp","port":80}],
       "buckets":1024,"hash":"crc32","affinity":"client","windowSeconds":60}\
      """;

  private static final String STATE =
      """
      {"vips":["10.99.0.1"],"ports":[{"protocol":"tcp","port":80}],
       "pool":[{"id":1,"address":"10.1.0.21"},{"id":2,"address":"10.1.0.22","weight":50}]}\
      """;

  private final Contract contract = Contract.load();

  /** Sends; the client checks the answer against the contract. */
  private Reply expect(int status, String method, String path, String body) {
    Reply reply = client.send(method, path, body);
    assertThat(reply.status()).as(reply.body()).isEqualTo(status);
    return reply;
  }

  private void checkCluster() {
    String path = "/v1/cluster";
    JsonObject any = new JsonObject("{\"vipRanges\":[\"0.0.0.0/0\",\"::/0\"],\"neverVips\":[]}");
    assertThat(expect(200, "GET", path, "").json()).isEqualTo(any);
    String asked =
        "{\"vipRanges\":[\"10.99.0.0/16\",\"FD00::/16\"],\"neverVips\":[\"10.99.0.9/32\"]}";
    JsonObject set =
        new JsonObject(
            "{\"vipRanges\":[\"10.99.0.0/16\",\"fd00::/16\"],\"neverVips\":[\"10.99.0.9\"]}");
    assertThat(expect(200, "PUT", path + "?dryRun=true", asked).json()).isEqualTo(set);
    assertThat(client.get(path).json()).isEqualTo(any);
    assertThat(expect(200, "PUT", path, asked).json()).isEqualTo(set);
    assertThat(expect(200, "GET", path, "").json()).isEqualTo(set);
    for (String refused :
        List.of("[]", "[\"10.0.0.0/7\"]", "[\"10.99.0.1/16\"]", "[\"fd00::/8\"]", "[\"here\"]")) {
      expect(400, "PUT", path, "{\"vipRanges\":%s}".formatted(refused));
    }
    String never = "{\"vipRanges\":[\"10.99.0.0/16\"],\"neverVips\":[\"10.99.0.9/24\"]}";
    assertThat(expect(400, "PUT", path, never).json().getString("field")).isEqualTo("neverVips");
    assertThat(client.get(path).json()).isEqualTo(set);
  }

  /** A backend that a mux can't send to is in the pool's list and in the answers of writes. */
  private void checkUnreachable(String web) {
    String warning =
        "packets to 10.1.0.77 are dropped by mux mux2 (no_neighbour: no route, or no answer to ARP"
            + " or neighbour discovery)";
    String backend = web + "/backends/77";
    for (String query : List.of("?dryRun=true", "")) {
      int status = query.isEmpty() ? 201 : 200;
      assertThat(
              expect(status, "PUT", backend + query, "{\"address\":\"10.1.0.77\"}")
                  .json()
                  .getJsonArray("warnings"))
          .containsExactly(warning);
    }
    assertThat(expect(200, "GET", backend, "").json().getJsonArray("unreachableBy"))
        .containsExactly("mux2");
    for (int write = 0; write < 2; write++) { // the second one changes nothing
      assertThat(expect(200, "PATCH", backend, "{\"weight\":50}").json().getJsonArray("warnings"))
          .containsExactly(warning);
    }
    assertThat(expect(200, "DELETE", backend, "").json().containsKey("warnings")).isFalse();
  }

  private void checkHealth(String web) {
    assertThat(expect(200, "GET", "/v1/health", "").array()).isEmpty();
    HealthView.Event event =
        new HealthView.Event(1_700_000_000, 8, State.HEALTHY, State.OUT, "refused");
    HealthView.Backend out =
        new HealthView.Backend(
            8,
            State.OUT,
            0,
            2,
            0,
            Map.of("mux1", "refused at 10.99.0.1 tcp:80"),
            Optional.of(1_700_000_000L),
            Optional.of(2),
            Optional.of(1_700_000_030L));
    HealthView.Backend up =
        new HealthView.Backend(
            9,
            State.HEALTHY,
            2,
            0,
            0,
            Map.of(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty());
    health.add(
        new HealthView(
            "web", List.of(out, up), 1, false, true, 2, 2, List.of("mux3: no"), List.of(event)));
    JsonObject health = expect(200, "GET", "/v1/health", "").array().getJsonObject(0);
    assertThat(health.getJsonArray("backends").getJsonObject(0).getString("state"))
        .isEqualTo("out");
    assertThat(health.getJsonArray("backends").getJsonObject(1).getMap())
        .doesNotContainKeys("since", "times", "returns");
    expect(200, "POST", web + "/hold-health", "{\"ids\":[8]}");
    assertThat(expect(200, "POST", web + "/hold-health", "{\"ids\":[8]}").json().getMap())
        .containsEntry("movedBuckets", 0);
    expect(404, "POST", web + "/hold-health", "{\"ids\":[77]}");
    expect(400, "POST", web + "/release-health", "{\"ids\":[]}");
    expect(200, "POST", web + "/release-health", "{\"ids\":[8]}");
  }

  private void checkMuxes() {
    expect(201, "PUT", "/v1/muxes/mux7", "{}");
    expect(409, "PUT", "/v1/muxes/mux7", "{\"rotate\":false}");
    expect(400, "PUT", "/v1/muxes/mux7", "{\"rotate\":\"yes\"}");
    expect(404, "PUT", "/v1/muxes/mux8", "{\"rotate\":true}");
    controller.protect("readers:password");
    JsonObject renewed = expect(200, "PUT", "/v1/muxes/mux7", "{\"rotate\":true}").json();
    assertThat(renewed.getJsonArray("login").getString(0)).isEqualTo("readers:password");
    assertThat(renewed.getJsonArray("login").getString(1)).startsWith("mux-mux7:");
    assertThat(renewed.getJsonArray("probeLogin").getString(1)).startsWith("probe-mux7:");
    assertThat(expect(200, "GET", "/v1/muxes", "").array()).hasSize(3);
    expect(409, "DELETE", "/v1/muxes/mux1", "");
    expect(200, "DELETE", "/v1/muxes/mux7", "");
    expect(404, "DELETE", "/v1/muxes/mux7", "");
  }

  /** What a mux itself says; it is asked by the controller. */
  private void checkMux(String web, String flow) throws IOException {
    String explained =
        "{\"service\":\"web\",\"hash\":1,\"steering\":\"ring\",\"former\":[],"
            + "\"generation\":4}";
    Map<String, Says> answers =
        Map.of(
            "/metrics", new Says(200, "text/plain; version=0.0.4", "up 1\n"),
            "/explain", new Says(200, "application/json", explained),
            "/sample", new Says(200, "application/x-pcapng", "packets"));
    try (FakeMux mux = new FakeMux(answers)) {
      asked.add(mux.node("mux9"));
      assertThat(expect(200, "GET", "/v1/muxes/mux9/metrics", "").body()).isEqualTo("up 1\n");
      expect(200, "GET", web + "/muxes/mux9/explain" + flow + "&destinationPort=80", "");
      expect(200, "GET", web + "/muxes/mux9/sample?seconds=1&rate=5&verdict=drops", "");
      expect(400, "GET", web + "/muxes/mux9/sample?seconds=0", "");
    }
  }

  @Test
  void everyOperationAnswersAsTheContractSays() throws IOException {
    String services = "/v1/services";
    String web = "/v1/services/web";

    checkCluster();
    assertThat(expect(200, "GET", services, "").array()).isEmpty();
    assertThat(expect(200, "POST", services + "?dryRun=true", WEB).json().getMap())
        .containsEntry("dryRun", true);
    assertThat(client.get(web).status()).isEqualTo(404);
    Reply created = expect(201, "POST", services, WEB);
    assertThat(created.header("Location")).isEqualTo(web);
    JsonObject view = expect(200, "GET", web, "").json();
    assertThat(view.getString("hash")).isEqualTo("crc32");
    assertThat(view.getString("affinity")).isEqualTo("client");
    assertThat(view.getInteger("buckets")).isEqualTo(1024);
    assertThat(view.getInteger("windowSeconds")).isEqualTo(60);
    assertThat(view.getJsonArray("vips")).containsExactly("10.99.0.1", "fd00::1");
    assertThat(view.containsKey("hashKey")).isFalse();
    expect(200, "PATCH", web, "{\"windowSeconds\":30}");
    assertThat(client.get(web).json().getInteger("windowSeconds")).isEqualTo(30);
    assertThat(client.get(web).json().containsKey("mptcpPorts")).isFalse();
    JsonObject range = new JsonObject().put("first", 20000).put("last", 20999);
    expect(200, "PATCH", web, new JsonObject().put("mptcpPorts", range).encode());
    assertThat(expect(200, "GET", web, "").json().getJsonObject("mptcpPorts")).isEqualTo(range);
    expect(200, "PATCH", web, "{\"mptcpPorts\":{\"first\":0,\"last\":0}}");
    assertThat(client.get(web).json().containsKey("mptcpPorts")).isFalse();

    Reply first = expect(201, "PUT", web + "/backends/7", "{\"address\":\"10.1.0.27\"}");
    assertThat(first.header("Location")).isEqualTo(web + "/backends/7");
    assertThat(first.json().getInteger("movedBuckets")).isEqualTo(1024);
    assertThat(first.json().getJsonArray("moves"))
        .containsExactly(
            new JsonObject().put("start", 0).put("count", 1024).put("from", 0).put("to", 7));
    String flow = "?protocol=tcp&source=10.2.1.2&sourcePort=4&destination=10.99.0.1";
    JsonObject unmoved =
        expect(200, "GET", web + "/explain" + flow + "&destinationPort=80", "").json();
    assertThat(unmoved.getJsonArray("former")).isEmpty();
    expect(201, "PUT", web + "/backends/8", "{\"address\":\"fd00::8\",\"weight\":300}");
    expect(200, "PUT", web + "/backends/8", "{\"address\":\"FD00:0::8\"}");
    expect(200, "PATCH", web + "/backends/8", "{\"weight\":0}");
    assertThat(expect(200, "GET", web + "/backends/8", "").json().getString("state"))
        .isEqualTo("draining");
    assertThat(expect(200, "GET", web + "/backends", "").array()).hasSize(2);
    expect(
        200,
        "POST",
        web + "/changes",
        "{\"changes\":[{\"op\":\"add\",\"id\":9,\"address\":\"10.1.0.29\"},"
            + "{\"op\":\"weight\",\"id\":8,\"weight\":50},{\"op\":\"remove\",\"id\":7}]}");
    expect(
        200,
        "POST",
        web + "/rebalance",
        "{\"target\":1,\"maxMoves\":3,\"loads\":[{\"id\":9,\"load\":0.5}]}");
    expect(200, "POST", web + "/defragment?dryRun=true", "{\"maxMoves\":5}");
    expect(400, "POST", web + "/rebalance", "{\"target\":0.5}");
    expect(400, "POST", web + "/defragment", "{\"loads\":[]}");
    String twice = "{\"loads\":[{\"id\":9,\"load\":1},{\"id\":9,\"load\":1}]}";
    assertThat(expect(400, "POST", web + "/rebalance", twice).json().getString("field"))
        .isEqualTo("loads.id");
    expect(200, "GET", web + "/upkeep", "");
    expect(200, "DELETE", web + "/upkeep", "");
    JsonObject ring = expect(200, "GET", web + "/ring", "").json();
    assertThat(ring.getJsonObject("runs").fieldNames()).containsExactlyInAnyOrder("8", "9");
    checkGenerations(web);
    checkHolds(web);
    checkOthello(web);
    checkLoad();
    JsonObject explained =
        expect(200, "GET", web + "/explain" + flow + "&destinationPort=80", "").json();
    assertThat(explained.getJsonObject("current").getInteger("id")).isIn(8, 9);
    expect(200, "DELETE", web + "/backends/9", "");
    expect(200, "PATCH", web, "{\"slowStartSeconds\":60}");
    assertThat(client.get(web).json().getInteger("slowStartSeconds")).isEqualTo(60);
    String slow = "{\"address\":\"10.1.0.31\",\"slowStartSeconds\":300}";
    expect(201, "PUT", web + "/backends/11", slow);
    JsonObject starting = expect(200, "GET", web + "/backends/11", "").json();
    assertThat(starting.getInteger("weight")).isEqualTo(100);
    assertThat(starting.getJsonObject("slowStart").getDouble("share")).isEqualTo(0.05);
    expect(200, "PUT", web + "/backends/11", slow);
    assertThat(client.get(web + "/backends/11").json().getMap()).containsKey("slowStart");
    expect(200, "PATCH", web + "/backends/11", "{\"weight\":100}");
    assertThat(client.get(web + "/backends/11").json().getMap()).doesNotContainKey("slowStart");
    expect(400, "PUT", web + "/backends/12", slow.replace("31", "32").replace("300", "9"));
    expect(409, "PATCH", web, "{\"assignment\":\"modulo\"}");
    expect(200, "PATCH", web, "{\"slowStartSeconds\":0}");

    String staged = "{\"changes\":[{\"op\":\"add\",\"id\":63,\"address\":\"10.1.0.63\"}]}";
    expect(200, "POST", web + "/changes?stage=1%25,100%25&bake=600", staged);
    expect(200, "GET", web + "/stage", "");
    expect(200, "POST", web + "/stage/advance?force=true", "");
    expect(200, "POST", web + "/stage/rollback?force=true", "");
    expect(200, "DELETE", web + "/backends/63?dead=true&force=true", "");

    String order = "{\"ids\":[8],\"deadlineSeconds\":60,\"then\":\"remove\"}";
    JsonObject drain = expect(200, "POST", web + "/drains?force=true", order).json();
    assertThat(drain.getJsonArray("drains").getJsonObject(0).getString("left"))
        .isEqualTo("break at the deadline");
    JsonObject draining = expect(200, "GET", web + "/backends/8", "").json();
    assertThat(draining.getString("state")).isEqualTo("draining");
    assertThat(draining.getJsonObject("drain").getString("then")).isEqualTo("remove");
    JsonObject listed = expect(200, "GET", "/v1/drains", "").array().getJsonObject(0);
    assertThat(listed.getInteger("backend")).isEqualTo(8);
    assertThat(listed.getString("note")).startsWith("connections unknown");
    expect(400, "POST", web + "/drains", "{\"ids\":[8],\"then\":\"wait\"}");
    expect(400, "POST", web + "/drains", "{\"ids\":[]}");
    expect(404, "POST", web + "/drains", "{\"ids\":[77]}");
    expect(200, "PATCH", web, "{\"maintenance\":{\"maxDraining\":\"1\"}}");
    expect(409, "POST", web + "/drains", "{\"ids\":[11]}");
    expect(400, "PATCH", web, "{\"maintenance\":{\"maxDraining\":\"0%\"}}");
    expect(200, "POST", web + "/undrain?force=true", "{\"ids\":[8]}");
    expect(409, "POST", web + "/undrain", "{\"ids\":[8]}");
    assertThat(expect(200, "GET", "/v1/drains", "").array()).isEmpty();

    controller.mux(mux("mux1", "10.1.0.11", List.of("eth0"), Map.of("web", serving(5))));
    checkHealth(web);

    controller.mux(
        new MuxView(
            "mux2",
            "p4",
            "0.1.0",
            Optional.empty(),
            Optional.of("2001:db8::12"),
            List.of("eth0"),
            Optional.of(
                new MuxServes(
                    Optional.of(List.of("gue")), Optional.of(List.of("ring")), Optional.of(128))),
            Map.of(),
            Map.of("10.1.0.77", "no_neighbour"),
            4,
            Map.of("web", behind(4), "dns", unsupported("hash: siphash")),
            Optional.of(new MetricsUrl("https", "[2001:db8::12]:9108"))));
    checkMuxes();
    JsonArray ofWeb = expect(200, "GET", "/v1/muxes?service=web", "").array();
    assertThat(ofWeb).hasSize(2);
    assertThat(ofWeb.getJsonObject(1).getJsonObject("services").fieldNames())
        .containsExactly("web");
    assertThat(expect(200, "GET", "/v1/overview", "").json().getJsonArray("muxes")).hasSize(2);
    assertThat(expect(200, "GET", web + "/ring/cells?cells=16", "").json().getJsonArray("owners"))
        .hasSize(16);
    checkTargets();
    checkAgents();
    assertThat(expect(200, "GET", "/v1/audit?limit=2", "").array()).hasSize(2);
    assertThat(expect(200, "GET", "/v1/whoami", "").json().encode())
        .isEqualTo("{\"name\":\"nobody\",\"roles\":[{\"role\":\"admin\",\"services\":[]}]}");
    expect(200, "GET", "/healthz", "");
    expect(200, "GET", "/v1/backup", "");
    expect(200, "GET", "/v1/events", "");
    assertThat(expect(200, "GET", "/openapi.json", "").json()).isEqualTo(contract.document());
    assertThat(expect(200, "DELETE", web, "").json().containsKey("ended")).isTrue();
    assertThat(client.get(web).status()).isEqualTo(404);
    expect(200, "POST", web + "/undelete", "{}");
    assertThat(client.get(web).status()).isEqualTo(200);
    expect(200, "DELETE", web, "");

    String warning = "mux mux2 of kind p4 does not announce service web: buckets is ";
    assertThat(expect(201, "PUT", web, STATE).json().getJsonArray("warnings").getString(0))
        .startsWith(warning);
    assertThat(expect(200, "PUT", web, STATE).json().getJsonArray("warnings").getString(0))
        .startsWith(warning);

    Reply metrics = expect(200, "GET", "/metrics", "");
    assertThat(metrics.body())
        .containsPattern(
            "fairlead_controller_http_requests_seconds_count\\{"
                + "operation=\"putBackend\",status=\"201\"} 3");

    checkUnreachable(web);
    checkMux(web, flow);

    Set<String> all = new TreeSet<>();
    for (Map.Entry<String, Object> path : contract.document().getJsonObject("paths")) {
      for (Map.Entry<String, Object> operation : (JsonObject) path.getValue()) {
        if (operation.getValue() instanceof JsonObject model) {
          all.add(model.getString("operationId"));
        }
      }
    }
    assertThat(client.answered()).isEqualTo(all);
  }

  private void checkOthello(String web) {
    expect(404, "GET", web + "/othello", "");
    String flows =
        "{\"name\":\"flows\",\"vips\":[\"10.99.0.7\"],\"buckets\":1024,\"steering\":\"othello\","
            + "\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}";
    expect(201, "POST", "/v1/services", flows);
    JsonObject times = client.get("/v1/services/flows").json().getJsonObject("othello");
    assertThat(times.getInteger("reportAgeSeconds")).isEqualTo(60);
    assertThat(times.getInteger("spacingSeconds")).isEqualTo(120);
    JsonObject status = expect(200, "GET", "/v1/services/flows/othello", "").json();
    assertThat(status.getInteger("lagSeconds")).isZero();
    expect(200, "PATCH", "/v1/services/flows", "{\"othello\":{\"reportAgeSeconds\":30}}");
    expect(400, "PATCH", "/v1/services/flows", "{\"othello\":{\"spacingSeconds\":239}}");
    expect(200, "DELETE", "/v1/services/flows", "");
  }

  private void checkLoad() {
    String service =
        "{\"name\":\"work\",\"vips\":[\"10.99.0.7\"],\"buckets\":1024,\"steering\":\"%s\",%s"
            + "\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}";
    expect(400, "POST", "/v1/services", service.formatted("hunt", "\"maat\":{},"));
    expect(201, "POST", "/v1/services", service.formatted("hunt", ""));
    expect(200, "PATCH", "/v1/services/work", "{\"hunt\":{\"policy\":\"static\"}}");
    JsonObject hunt = client.get("/v1/services/work").json().getJsonObject("hunt");
    assertThat(hunt.encode())
        .isEqualTo(
            "{\"policy\":\"static\",\"threshold\":4,\"window\":50,\"epsilonThousandths\":100}");
    expect(400, "PATCH", "/v1/services/work", "{\"hunt\":{\"threshold\":0}}");
    expect(200, "DELETE", "/v1/services/work", "");
    expect(
        201, "POST", "/v1/services", service.formatted("maat", "\"maat\":{\"preset\":\"paper\"},"));
    expect(200, "PATCH", "/v1/services/work", "{\"maat\":{\"load\":\"agents\"}}");
    JsonObject maat = client.get("/v1/services/work").json().getJsonObject("maat");
    assertThat(maat.encode())
        .isEqualTo(
            "{\"load\":\"agents\",\"deltaThousandths\":100,\"halfLifeMillis\":60000,"
                + "\"filterBytes\":32768,\"filterHashes\":3}");
    expect(400, "PATCH", "/v1/services/work", "{\"maat\":{\"preset\":\"paper\"}}");
    expect(400, "PATCH", "/v1/services/work", "{\"maat\":{\"filterBytes\":4095}}");
    expect(200, "DELETE", "/v1/services/work", "");
  }

  private void checkGenerations(String web) {
    JsonObject known = expect(200, "GET", web + "/generations", "").json();
    long generation = client.get(web).json().getLong("generation");
    assertThat(known.getLong("generation")).isEqualTo(generation);
    JsonArray changes = known.getJsonArray("changes");
    assertThat(changes.getJsonObject(0).getLong("generation")).isEqualTo(generation);
    JsonObject first = changes.getJsonObject(changes.size() - 1);
    assertThat(first.getInteger("movedBuckets")).isEqualTo(1024);
    assertThat(first.getJsonArray("largest").encode())
        .isEqualTo("[{\"backend\":0,\"buckets\":-1024},{\"backend\":7,\"buckets\":1024}]");
    assertThat(first.getInteger("others")).isZero();
  }

  private void checkHolds(String web) {
    assertThat(expect(200, "GET", web + "/holds", "").json().getInteger("holdSeconds")).isZero();
    assertThat(expect(200, "PATCH", web + "?dryRun=true", "{\"holdSeconds\":3600}").status())
        .isEqualTo(200);
    expect(200, "PATCH", web, "{\"holdSeconds\":3600}");
    assertThat(client.get(web).json().getInteger("holdSeconds")).isEqualTo(3600);
    JsonObject chained = expect(200, "GET", web + "/ring", "").json().getJsonObject("chained");
    assertThat(chained.fieldNames()).contains("7");
    JsonObject holds = expect(200, "GET", web + "/holds", "").json();
    assertThat(holds.getInteger("chainedBuckets")).isPositive();
    expect(200, "PATCH", web, "{\"windowSeconds\":1}");
    await()
        .atMost(Duration.ofSeconds(10))
        .until(
            () ->
                expect(200, "GET", web + "/holds", "")
                    .json()
                    .getInteger("heldBuckets")
                    .equals(holds.getInteger("chainedBuckets")));
    JsonArray owners = expect(200, "GET", web + "/holds", "").json().getJsonArray("owners");
    assertThat(owners.getJsonObject(0).getString("unknown")).isEqualTo("backend 7 has no agent");
    expect(400, "PATCH", web, "{\"holdSeconds\":604801}");
    expect(400, "PATCH", web, "{\"holdByDefault\":false}");
    expect(200, "PATCH", web, "{\"holdByDefault\":true}");
    assertThat(client.get(web).json().getBoolean("holdByDefault")).isTrue();
    assertThat(client.get(web).json().getInteger("holdSeconds")).isEqualTo(3600);
  }

  private void checkTargets() {
    JsonArray targets = expect(200, "GET", "/v1/metrics/targets", "").array();
    assertThat(targets).hasSize(2);
    assertThat(targets.getJsonObject(0).encode())
        .isEqualTo(
            "{\"targets\":[\"10.1.0.5:8080\"],\"labels\":{\"__metrics_path__\":\"/metrics\","
                + "\"__scheme__\":\"http\",\"instance\":\"10.1.0.5:8080\",\"part\":\"controller\"}}");
    JsonArray muxes = expect(200, "GET", "/v1/metrics/targets?part=mux", "").array();
    assertThat(muxes).hasSize(1);
    assertThat(muxes.getJsonObject(0).getJsonObject("labels").getString("instance"))
        .isEqualTo("mux2");
    assertThat(expect(200, "GET", "/v1/metrics/targets?part=probe", "").array()).isEmpty();
    expect(400, "GET", "/v1/metrics/targets?part=server", "");
  }

  /** Of the backend 8, which is the only one. */
  private void checkAgents() {
    JsonObject served = expect(200, "GET", "/v1/agent/services", "").json();
    JsonObject unheard = expect(200, "GET", "/v1/agents", "").array().getJsonObject(0);
    assertThat(unheard.getString("state")).isEqualTo("never_heard");
    String buckets = "\"buckets\":\"AAE=\"";
    String report =
        """
        {"format":1,"boot":"000102030405060708090a0b0c0d0e0f","sequence":1,"version":"0.1.0",
         "mode":"events","addresses":["fd00::8"],"servicesVersion":"%s","lostEvents":0,
         "form":{"kind":"bpf","interface":"eth0","attached":true},
         "services":[{"name":"web","established":812,"halfOpen":3,
          "acceptQueue":{"length":0,"limit":511},"opened":40,"closed":38,
          "answer":{"question":"%s","connections":1,"buckets":"AAE="},
          "signals":{"opened":1200,"refused":0,"resetsSent":3,"resetsReceived":2,
           "retransmitted":7,"segments":45678,"rttSamples":1200,"rttMicroseconds":345678}}]}\
        """;
    controller.disconnect();
    controller.reconnect(); // in a new term nothing is asked for a drain any more
    BitSet first = new BitSet();
    first.set(0);
    String question = controller.get().softState().reports().ask("web", 8, first).orElseThrow();
    String version = served.getString("version");
    JsonObject asked =
        expect(200, "POST", "/v1/agent/reports", report.formatted(version, "another")).json();
    assertThat(asked.getJsonArray("questions").encode()).contains(question, buckets);
    report = report.replace("\"sequence\":1", "\"sequence\":2");
    JsonObject answered =
        expect(200, "POST", "/v1/agent/reports", report.formatted(version, question)).json();
    assertThat(answered.getJsonArray("questions").encode())
        .contains(question)
        .doesNotContain(buckets);
    assertThat(answered.getInteger("nextSeconds")).isEqualTo(1);
    assertThat(controller.get().softState().reports().occupied("web", 8).orElseThrow().buckets())
        .isEqualTo(first);
    JsonObject heard = expect(200, "GET", "/v1/agents", "").array().getJsonObject(0);
    assertThat(heard.getString("state")).isEqualTo("reporting");
    assertThat(heard.getInteger("established")).isEqualTo(812);
    assertThat(heard.getJsonObject("form").getString("interface")).isEqualTo("eth0");
    assertThat(heard.getJsonObject("signals").getLong("segments")).isEqualTo(45678);
  }

  @Test
  void aDryRunPlansWhatTheWriteThenDoesAndChangesNothing() {
    client.send("POST", "/v1/services", WEB);
    client.send("PUT", "/v1/services/web/backends/7", "{\"address\":\"10.1.0.27\"}");
    client.send("PUT", "/v1/services/web/backends/8", "{\"address\":\"10.1.0.28\"}");
    record Write(String method, String path, String body) {}
    for (Write write :
        List.of(
            new Write(
                "POST",
                "/v1/services",
                WEB.replace("\"web\"", "\"dns\"")
                    .replace("\"10.99.0.1\",\"fd00::1\"", "\"10.99.0.4\"")),
            new Write("PATCH", "/v1/services/web", "{\"vips\":[\"10.99.0.2\"]}"),
            new Write("PUT", "/v1/services/web/backends/9", "{\"address\":\"10.1.0.29\"}"),
            new Write(
                "PUT", "/v1/services/web/backends/7", "{\"address\":\"10.1.0.27\",\"weight\":1}"),
            new Write("PATCH", "/v1/services/web/backends/7", "{\"weight\":0}"),
            new Write(
                "POST",
                "/v1/services/web/changes",
                "{\"changes\":[{\"op\":\"add\",\"id\":4,\"address\":\"10.1.0.24\"}]}"),
            new Write("DELETE", "/v1/services/web/backends/8", ""),
            new Write("DELETE", "/v1/services/web", ""))) {
      var before = controller.state();
      Reply planned = client.send(write.method(), write.path() + "?dryRun=true", write.body());
      assertThat(planned.status()).as(write.toString()).isEqualTo(200);
      assertThat(planned.json().getBoolean("dryRun")).isTrue();
      assertThat(controller.state()).as(write.toString()).isEqualTo(before);
      Reply done = client.send(write.method(), write.path() + "?dryRun=false", write.body());
      assertThat(untimed(done)).isEqualTo(untimed(planned).put("dryRun", false));
      assertThat(controller.state()).as(write.toString()).isNotEqualTo(before);
    }
  }

  /** Without when windows end, which is later by as much as the write came after the plan. */
  private static JsonObject untimed(Reply reply) {
    JsonObject result = reply.json();
    result
        .getJsonArray("leaving", new JsonArray())
        .forEach(each -> assertThat(((JsonObject) each).remove("until")).isNotNull());
    return result;
  }

  @Test
  void defaultsAreThoseOfTheContract() {
    client.send(
        "POST",
        "/v1/services",
        "{\"name\":\"d\",\"vips\":[\"10.99.0.3\"],\"ports\":[{\"protocol\":\"udp\",\"port\":53}]}");
    JsonObject view = client.get("/v1/services/d").json();
    JsonObject spec = schema("ServiceSpec").getJsonObject("properties");
    for (String name : List.of("hash", "affinity", "windowSeconds")) {
      assertThat(view.getValue(name)).isEqualTo(spec.getJsonObject(name).getValue("default"));
    }
    assertThat(view.getInteger("buckets")).isEqualTo(16384);
    client.send("PUT", "/v1/services/d/backends/1", "{\"address\":\"10.1.0.1\"}");
    client.send(
        "POST",
        "/v1/services/d/changes",
        "{\"changes\":[{\"op\":\"add\",\"id\":2,\"address\":\"10.1.0.2\"}]}");
    JsonArray backends = client.get("/v1/services/d/backends").array();
    assertThat(backends.getJsonObject(0).getValue("weight"))
        .isEqualTo(defaultWeight("BackendSpec"));
    assertThat(backends.getJsonObject(1).getValue("weight")).isEqualTo(defaultWeight("AddBackend"));
  }

  private JsonObject schema(String name) {
    return contract
        .document()
        .getJsonObject("components")
        .getJsonObject("schemas")
        .getJsonObject(name);
  }

  private Object defaultWeight(String name) {
    return schema(name).getJsonObject("properties").getJsonObject("weight").getValue("default");
  }
}
