// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.resources.muxes.Muxes;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Over HTTP and a real ZooKeeper: a write says which muxes can't serve the service. */
class UnservedServiceTest extends ServedController {
  private static final String SERVES = "\"serves\":{\"encap\":[\"gue\"],\"steering\":[\"ring\"]},";
  private static final String SPEC =
      "{\"vips\":[\"%s\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}],\"encap\":\"%s\"}";
  private static final String WIDE =
      "mux mux2 of kind p4 does not announce service wide: encap is ipip; it serves gue";
  private static final String NONE =
      "no mux announces service wide: the only one that is there can't serve it";

  @BeforeEach
  void open() throws Exception {
    node("mux1", "c", "", "{}");
    node("mux2", "p4", SERVES, "{}");
  }

  private void node(String mux, String kind, String serves, String services) throws Exception {
    String node =
        "{\"format\":1,\"id\":\"%s\",\"kind\":\"%s\",\"version\":\"1\",\"address\":\"10.1.0.1\",\"ports\":[],%s\"services\":%s}"
            .formatted(mux, kind, serves, services);
    String path = "/fairlead/muxes/" + mux;
    Muxes.write(client, path, node);
    await()
        .until(
            () ->
                controller.muxes().get().stream()
                    .anyMatch(
                        view ->
                            view.id().equals(mux)
                                && view.serves().isEmpty() == serves.isEmpty()
                                && view.services().isEmpty() == services.equals("{}")));
  }

  /** Always under the same key. */
  private Reply create(String spec) {
    String[] key = {"Idempotency-Key", "0123456789abcdef"};
    return api.send("POST", "/v1/services", "application/json", spec, key);
  }

  private static List<String> warnings(Reply reply) {
    return reply.json().containsKey("warnings")
        ? reply.json().getJsonArray("warnings").stream().map(String::valueOf).toList()
        : List.of();
  }

  @Test
  void aServiceThatSomeMuxesCannotServeIsCreatedWithAWarning() {
    String spec = SPEC.formatted("10.99.0.2", "ipip");
    String wide = spec.replaceFirst(".", "{\"name\":\"wide\",");
    Reply plan = api.send("POST", "/v1/services?dryRun=true", wide);
    assertThat(plan.status()).isEqualTo(200);
    assertThat(warnings(plan)).containsExactly(WIDE);
    assertThat(api.get("/v1/services/wide").status()).isEqualTo(404);

    Reply created = create(wide);
    assertThat(created.status()).isEqualTo(201);
    assertThat(warnings(created)).containsExactly(WIDE);
    assertThat(create(wide).json()).isEqualTo(created.json());

    assertThat(warnings(api.send("PATCH", "/v1/services/wide", "{\"windowSeconds\":300}")))
        .containsExactly(WIDE);
    assertThat(warnings(api.send("PUT", "/v1/services/wide", spec))).containsExactly(WIDE);
    Reply other = api.send("PUT", "/v1/services/web", SPEC.formatted("10.99.0.3", "gue"));
    assertThat(other.status()).isEqualTo(201);
    assertThat(warnings(other)).isEmpty();
  }

  @Test
  void thatNoMuxCanServeItIsSaidFirst() throws Exception {
    Muxes.end(client, "/fairlead/muxes/mux1");
    await().until(() -> controller.muxes().get().size() == 1);
    Reply created = api.send("PUT", "/v1/services/wide", SPEC.formatted("10.99.0.2", "ipip"));
    assertThat(created.status()).isEqualTo(201);
    assertThat(warnings(created)).containsExactly(NONE, WIDE);
    Muxes.end(client, "/fairlead/muxes/mux2");
    await().until(() -> controller.muxes().get().isEmpty());
    assertThat(warnings(api.send("PATCH", "/v1/services/wide", "{\"windowSeconds\":300}")))
        .isEmpty();
  }

  /** Of what could not be foreseen; the metric has what the mux's node says. */
  @Test
  void whatAMuxRefusesOfAServiceIsSaidWhenItIsChanged() throws Exception {
    String web = SPEC.formatted("10.99.0.3", "gue");
    assertThat(warnings(api.send("PUT", "/v1/services/web", web))).isEmpty();
    node(
        "mux2",
        "p4",
        SERVES,
        "{\"web\":{\"generation\":0,\"state\":\"loading\",\"refused\":\"unsupported\",\"why\":\"no"
            + " room\"}}");
    assertThat(warnings(api.send("PATCH", "/v1/services/web", "{\"windowSeconds\":300}")))
        .containsExactly("mux mux2 of kind p4 does not announce service web: no room");
    assertThat(api.get("/metrics").body())
        .contains("fairlead_controller_mux_unsupported{mux=\"mux2\",service=\"web\"} 1");
    node("mux1", "c", "", "{\"web\":{\"generation\":1,\"state\":\"serving\"}}");
    assertThat(api.get("/metrics").body())
        .contains("fairlead_controller_mux_unsupported{mux=\"mux1\",service=\"web\"} 0");
  }
}
