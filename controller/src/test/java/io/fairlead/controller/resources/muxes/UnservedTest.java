// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.services.ServiceSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What is said of muxes that can't serve a service. */
class UnservedTest {
  private static final MuxView C_MUX =
      Muxes.mux("mux1", "10.1.0.11", List.of("eth0"), Map.of("web", Muxes.serving(3)));
  private static final MuxView P4_MUX = Muxes.limited("mux2", 4096, Map.of());

  private static ServiceConfig service(String encap, String steering, int buckets) {
    return ServiceRules.created(
        ServiceSpec.builder()
            .name("web")
            .vips(List.of("10.99.0.1"))
            .ports(List.of(new ServiceConfig.Port("tcp", 80)))
            .encap(encap)
            .steering(steering)
            .buckets(buckets)
            .build(),
        1,
        new Random(1));
  }

  @Test
  void whatAMuxDoesNotServeIsNamed() {
    Map<ServiceConfig, String> rows =
        Map.of(
            service("ipip", "ring", 256), "encap is ipip; it serves gue",
            service("gue", "hunt", 256), "steering is hunt; it serves ring",
            service("gue", "ring", 8192), "buckets is 8192; it serves at most 4096");
    rows.forEach(
        (config, why) ->
            assertThat(Unserved.ofNew(config, List.of(C_MUX, P4_MUX)))
                .containsExactly("mux mux2 of kind p4 does not announce service web: " + why));
    assertThat(Unserved.ofNew(service("gue", "ring", 4096), List.of(C_MUX, P4_MUX))).isEmpty();
    assertThat(Unserved.ofNew(service("ipip", "ring", 256), List.of(C_MUX))).isEmpty();
    assertThat(Unserved.ofNew(service("ipip", "ring", 256), List.of())).isEmpty();
  }

  @Test
  void aMuxThatServesNothingOfAFieldSaysSo() {
    MuxView none =
        new MuxView(
            "mux2",
            "p4",
            "0.1.0",
            Optional.empty(),
            Optional.empty(),
            List.of(),
            Optional.of(new MuxServes(Optional.of(List.of()), Optional.empty(), Optional.empty())),
            Map.of(),
            Map.of());
    assertThat(Unserved.ofNew(service("gue", "maat", 256), List.of(C_MUX, none)))
        .containsExactly(
            "mux mux2 of kind p4 does not announce service web: encap is gue; it serves none");
  }

  @Test
  void thatNoMuxAnnouncesItComesFirst() {
    ServiceConfig config = service("ipip", "ring", 256);
    assertThat(Unserved.ofNew(config, List.of(P4_MUX)))
        .containsExactly(
            "no mux announces service web: the only one that is there can't serve it",
            "mux mux2 of kind p4 does not announce service web: encap is ipip; it serves gue");
    assertThat(Unserved.ofNew(config, List.of(P4_MUX, Muxes.limited("mux3", 4096, Map.of()))))
        .containsExactly(
            "no mux announces service web: none of the 2 that are there can serve it",
            "muxes mux2, mux3 of kind p4 do not announce service web: encap is ipip; it serves"
                + " gue");
  }

  /** Of a service that is there; of a new one that would be a former one of its name. */
  @Test
  void whatAMuxRefusesNowCountsOfAServiceThatIsThere() {
    MuxView full = Muxes.limited("mux2", 4096, Map.of("web", Muxes.unsupported("no room")));
    ServiceConfig config = service("gue", "ring", 4096);
    assertThat(Unserved.of(config, List.of(C_MUX, full)))
        .containsExactly("mux mux2 of kind p4 does not announce service web: no room");
    assertThat(Unserved.of(config, List.of(C_MUX, P4_MUX))).isEmpty();
    assertThat(Unserved.ofNew(config, List.of(C_MUX, full))).isEmpty();
    MuxView silent =
        Muxes.limited(
            "mux2",
            4096,
            Map.of(
                "web",
                new MuxService(
                    0,
                    "loading",
                    Optional.empty(),
                    Optional.of("unsupported"),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty())));
    assertThat(Unserved.of(config, List.of(C_MUX, silent)))
        .containsExactly(
            "mux mux2 of kind p4 does not announce service web: its node does not say why");
  }

  @Test
  void theyStayShortWithManyMuxes() {
    List<MuxView> muxes = new ArrayList<>();
    for (int i = 10; i < 110; i++) {
      muxes.add(Muxes.limited("mux" + i, 4096, Map.of()));
    }
    assertThat(Unserved.ofNew(service("ipip", "ring", 256), muxes))
        .containsExactly(
            "no mux announces service web: none of the 100 that are there can serve it",
            "muxes mux10, mux11, mux12, mux13, mux14, mux15, mux16, mux17 and 92 more of kind p4"
                + " do not announce service web: encap is ipip; it serves gue");
    muxes.clear();
    for (int i = 10; i < 110; i++) {
      muxes.add(Muxes.limited("mux" + i, i, Map.of()));
    }
    List<String> many = Unserved.ofNew(service("gue", "ring", 256), muxes);
    assertThat(many).hasSize(18);
    assertThat(many.get(17))
        .isEqualTo("84 more reasons of muxes not to announce service web are left out");
  }
}
