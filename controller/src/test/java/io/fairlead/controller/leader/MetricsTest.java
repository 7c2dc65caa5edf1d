// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.Drain.Then;
import io.fairlead.controller.resources.agents.AgentRequests;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a scrape of a controller shows, over HTTP, with two muxes, one of which lags. */
class MetricsTest extends ServedController {
  private static final Path ALERTS =
      Path.of(System.getProperty("fairlead.vectors")).resolve("../../docs/alerts.yaml");

  @BeforeEach
  void open() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
  }

  private void applied(String mux, long generation) throws Exception {
    String node =
        """
        {"format":1,"id":"%s","version":"0.1.0","address":"10.1.0.11","ports":["eth0"],
         "services":{"web":{"generation":%d,"state":"serving"}}}\
        """
            .formatted(mux, generation);
    Muxes.write(client, "/fairlead/muxes/" + mux, node);
    await()
        .until(
            () ->
                controller.muxes().get().stream()
                    .anyMatch(
                        view ->
                            view.id().equals(mux)
                                && view.services().get("web").generation() == generation));
  }

  private double metric(String line) {
    String text = api.get("/metrics").body();
    Matcher found =
        Pattern.compile("^" + Pattern.quote(line) + " (\\S+)$", Pattern.MULTILINE).matcher(text);
    assertThat(found.find()).as("%s in%n%s", line, text).isTrue();
    return Double.parseDouble(found.group(1));
  }

  private double lag(String mux) {
    return metric("fairlead_controller_mux_lag_seconds{mux=\"%s\",service=\"web\"}".formatted(mux));
  }

  /** The lag is the age of the oldest generation that is missing, however many follow it. */
  @Test
  void aMuxThatFallsBehindHasALag() throws Exception {
    applied("mux1", 2);
    applied("mux2", 2);
    assertThat(lag("mux1")).isZero();
    for (int step = 1; step <= 3; step++) {
      clock.set(NOW + 100 * step);
      done(controller.backends().change("web", List.of(weight(1, step)), Requests.FORCE));
      applied("mux1", 2 + step);
      assertThat(lag("mux1")).isZero();
      assertThat(lag("mux2")).isEqualTo(100 * (step - 1));
    }
    clock.set(NOW + 350);
    assertThat(lag("mux2")).isEqualTo(250);
    applied("mux2", 4);
    assertThat(lag("mux2")).as("generation 5 was committed 50 s ago").isEqualTo(50);
    applied("mux2", 5);
    assertThat(lag("mux2")).isZero();
    assertThat(metric("fairlead_controller_mux_generation{mux=\"mux2\",service=\"web\"}"))
        .isEqualTo(5);
  }

  @Test
  void whatAgentsReport() throws Exception {
    String state = "fairlead_controller_agents{service=\"web\",state=\"%s\"}";
    assertThat(metric(state.formatted("never_heard"))).isEqualTo(2);
    assertThat(metric(state.formatted("reporting"))).isZero();
    assertThat(metric("fairlead_controller_agents_without_events{service=\"web\"}")).isZero();
    String version = api.get("/v1/agent/services").json().getString("version");
    String address = api.get("/v1/services/web/backends/1").json().getString("address");
    JsonObject report =
        AgentRequests.report(1, version, address, AgentRequests.service("web", 812));
    assertThat(api.send("POST", "/v1/agent/reports", report.put("mode", "dumps").encode()).status())
        .isEqualTo(200);
    assertThat(metric(state.formatted("never_heard"))).isEqualTo(1);
    assertThat(metric(state.formatted("reporting"))).isEqualTo(1);
    assertThat(metric("fairlead_controller_agents_without_events{service=\"web\"}")).isEqualTo(1);
    String of = "{backend=\"1\",service=\"web\"";
    assertThat(metric("fairlead_controller_agent_connections" + of + ",state=\"established\"}"))
        .isEqualTo(812);
    assertThat(metric("fairlead_controller_agent_accept_queue_limit" + of + "}")).isEqualTo(511);
    assertThat(metric("fairlead_controller_agent_age_seconds" + of + "}")).isLessThan(30);
    assertThat(metric("fairlead_controller_agent_reports_total{result=\"used\"}")).isEqualTo(1);
    report.put("sequence", 2).put("addresses", new JsonArray().add("nowhere"));
    api.send("POST", "/v1/agent/reports", report.encode());
    assertThat(metric("fairlead_controller_agent_reports_refused_total{reason=\"malformed\"}"))
        .isEqualTo(1);
  }

  @Test
  void theStateOfTheSessionAndTheRing() throws Exception {
    assertThat(metric("fairlead_controller_leader")).isEqualTo(1);
    assertThat(metric("fairlead_controller_epoch")).isEqualTo(1);
    assertThat(metric("fairlead_controller_zookeeper_state{state=\"connected\"}")).isEqualTo(1);
    assertThat(metric("fairlead_controller_zookeeper_state{state=\"lost\"}")).isZero();
    assertThat(metric("fairlead_controller_rules{service=\"web\"}")).isEqualTo(2);
    assertThat(metric("fairlead_controller_moved_buckets_total{service=\"web\"}")).isEqualTo(1024);
    assertThat(metric("fairlead_controller_commit_seconds_count")).isEqualTo(1);
    zookeeper.stop();
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> metric("fairlead_controller_zookeeper_state{state=\"connected\"}") == 0);
  }

  @Test
  void everyMetricOfTheAlertsIsThere() throws Exception {
    applied("mux1", 2);
    api.get("/v1/services");
    DrainOrder order = new DrainOrder(List.of(2), Optional.of(60), Then.KEEP);
    done(controller.drains().drain("web", order, WriteOptions.COMMIT));
    String version = api.get("/v1/agent/services").json().getString("version");
    JsonObject report =
        AgentRequests.report(1, version, "10.1.0.2", AgentRequests.service("web", 1));
    assertThat(api.send("POST", "/v1/agent/reports", report.encode()).status()).isEqualTo(200);
    ServiceSpec flows = spec("flows", "10.99.0.2").toBuilder().steering("othello").build();
    done(controller.services().createService(flows, WriteOptions.COMMIT));
    String probe = "{\"format\":1,\"id\":\"mux1\",\"services\":{}}";
    Muxes.write(client, "/fairlead/health/mux1", probe);
    String check = "{\"healthCheck\":{\"kind\":\"tcp\"}}";
    assertThat(api.send("PATCH", "/v1/services/flows", check).status()).isEqualTo(200);
    for (String metric :
        List.of(
            "fairlead_othello_connections",
            "fairlead_controller_health_panic",
            "fairlead_controller_probe_reaches")) {
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> api.get("/metrics").body().contains(metric + "{"));
    }
    String scrape = api.get("/metrics").body();
    JsonNode rules =
        new YAMLMapper().readTree(ALERTS.toFile()).path("groups").path(0).path("rules");
    assertThat(rules).hasSizeGreaterThan(10);
    Set<String> names = new TreeSet<>();
    Pattern use = Pattern.compile("(fairlead_(?:controller|othello)_[a-z0-9_]+)(?:[{]([a-z]+)=)?");
    for (JsonNode rule : rules) {
      assertThat(rule.path("annotations").path("summary").asText()).isNotBlank();
      Matcher uses = use.matcher(rule.path("expr").asText());
      while (uses.find()) {
        names.add(uses.group(1));
        String label = uses.group(2) == null ? "" : "[^}]*\\b" + uses.group(2) + "=\"";
        assertThat(scrape)
            .as(rule.path("alert").asText())
            .containsPattern("(?m)^" + uses.group(1) + (label.isEmpty() ? "[{ ]" : "[{]" + label));
      }
    }
    assertThat(names).hasSizeGreaterThan(8);
  }
}
