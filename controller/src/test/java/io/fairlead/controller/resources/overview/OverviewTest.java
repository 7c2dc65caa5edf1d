// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.overview;

import static io.fairlead.controller.resources.muxes.Muxes.behind;
import static io.fairlead.controller.resources.muxes.Muxes.mux;
import static io.fairlead.controller.resources.muxes.Muxes.serving;
import static io.fairlead.controller.resources.muxes.Muxes.unsupported;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.http.ServedApi;
import io.fairlead.controller.resources.agents.AgentRequests;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What the overview says of services, muxes and servers, and what it calls wrong. */
class OverviewTest extends ServedApi {
  private void create(String name, int vip, String pool) {
    String body =
        "{\"vips\":[\"10.99.0.%d\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}],\"pool\":[%s]}";
    assertThat(client.send("PUT", "/v1/services/" + name, body.formatted(vip, pool)).status())
        .isEqualTo(201);
  }

  private static String backend(int id, int weight) {
    return "{\"id\":%d,\"address\":\"10.2.0.%d\",\"weight\":%d}".formatted(id, id, weight);
  }

  private JsonObject overview() {
    return client.get("/v1/overview").json();
  }

  private static List<String> alerts(JsonObject overview) {
    return overview.getJsonArray("alerts").stream()
        .map(JsonObject.class::cast)
        .map(alert -> alert.getString("severity") + " " + alert.getString("name"))
        .toList();
  }

  @Test
  void servicesAreCountedAndServersListedOnce() {
    create("web", 1, backend(1, 100) + "," + backend(2, 100) + "," + backend(3, 0));
    create("api", 2, backend(1, 100));
    controller.mux(
        mux("mux1", "10.1.0.11", List.of(), Map.of("web", serving(2), "api", serving(2))));
    JsonObject overview = overview();
    JsonArray services = overview.getJsonArray("services");
    assertThat(services.getJsonObject(0).getString("name")).isEqualTo("api");
    JsonObject web = services.getJsonObject(1);
    assertThat(web.getInteger("active")).isEqualTo(2);
    assertThat(web.getInteger("draining")).isEqualTo(1);
    assertThat(web.getInteger("unhealthy")).isZero();
    assertThat(web.getInteger("reporting")).isZero();
    assertThat(web.containsKey("connections")).isFalse();
    assertThat(web.getInteger("muxesServing")).isEqualTo(1);
    assertThat(overview.getInteger("serverCount")).isEqualTo(3);
    JsonArray servers = overview.getJsonArray("servers");
    assertThat(servers.getJsonObject(0).getJsonArray("services")).containsExactly("api", "web");
    assertThat(servers.getJsonObject(2).getString("state")).isEqualTo("draining");
    assertThat(alerts(overview)).isEmpty();
  }

  @Test
  void whatIsWrongIsNamedTheWorstFirst() {
    create("web", 1, backend(1, 100));
    create("idle", 2, backend(1, 0));
    assertThat(alerts(overview())).containsExactly("critical NoBackend", "critical NoMux");
    controller.mux(mux("mux1", "10.1.0.11", List.of(), Map.of("web", behind(1))));
    controller.mux(
        mux("mux2", "10.1.0.12", List.of(), Map.of("web", unsupported("hash: siphash"))));
    JsonObject overview = overview();
    assertThat(alerts(overview))
        .startsWith("critical NoBackend", "critical NotServed", "critical NotServed")
        .contains("warning FairleadServiceUnsupported")
        .doesNotContain("critical NoMux");
    assertThat(overview.getJsonArray("muxes").getJsonObject(1).getInteger("refused")).isEqualTo(1);
  }

  @Test
  void aMuxThatIsBehindIsCounted() {
    create("web", 1, backend(1, 100));
    controller.mux(mux("mux1", "10.1.0.11", List.of(), Map.of("web", serving(1))));
    JsonObject overview = overview();
    assertThat(overview.getJsonArray("services").getJsonObject(0).getInteger("muxesBehind"))
        .isEqualTo(1);
    assertThat(overview.getJsonArray("muxes").getJsonObject(0).getInteger("behind")).isEqualTo(1);
    assertThat(alerts(overview)).containsExactly("warning FairleadMuxBehind");
  }

  @Test
  void aServerThatIsDetachedIsNamed() {
    create("web", 1, backend(1, 100) + "," + backend(2, 100));
    controller.mux(mux("mux1", "10.1.0.11", List.of(), Map.of("web", serving(2))));
    String version = client.get("/v1/agent/services").json().getString("version");
    JsonObject form =
        new JsonObject().put("kind", "bpf").put("interface", "eth0").put("attached", false);
    JsonObject report =
        AgentRequests.report(1, version, "10.2.0.1", AgentRequests.service("web", 1))
            .put("form", form);
    assertThat(client.send("POST", "/v1/agent/reports", report.encode()).status()).isEqualTo(200);
    JsonObject overview = overview();
    JsonObject web = overview.getJsonArray("services").getJsonObject(0);
    assertThat(web.getInteger("detached")).isEqualTo(1);
    assertThat(web.getInteger("silent")).isZero();
    assertThat(overview.getJsonArray("servers").getJsonObject(0).getString("state"))
        .isEqualTo("detached");
    assertThat(alerts(overview)).containsExactly("critical FairleadServerDetached");
    assertThat(overview.getJsonArray("alerts").getJsonObject(0).getString("text"))
        .isEqualTo("Backend 1 of web (10.2.0.1) takes no packet: nothing is attached (eth0).");
  }

  @Test
  void onlySoManyServersAndAlertsAreListed() {
    String pool =
        String.join(",", IntStream.rangeClosed(1, 60).mapToObj(id -> backend(id, 100)).toList());
    create("web", 1, pool);
    IntStream.range(0, 25)
        .forEach(
            i ->
                controller.mux(
                    mux("mux" + i, "10.1.0." + i, List.of(), Map.of("web", serving(1)))));
    JsonObject overview = overview();
    assertThat(overview.getInteger("serverCount")).isEqualTo(60);
    assertThat(overview.getJsonArray("servers")).hasSize(Overview.SERVERS);
    assertThat(alerts(overview)).hasSize(20).containsOnly("warning FairleadMuxBehind");
  }
}
