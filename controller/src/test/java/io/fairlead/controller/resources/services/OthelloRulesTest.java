// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Othello;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class OthelloRulesTest {
  private record Row(int window, Integer age, Integer spacing, String wanted) {
    Optional<ServiceSpec.Othello> asked() {
      return age == null && spacing == null
          ? Optional.empty()
          : Optional.of(
              new ServiceSpec.Othello(Optional.ofNullable(age), Optional.ofNullable(spacing)));
    }
  }

  private static final List<Row> ROWS =
      List.of(
          new Row(240, null, null, "60 120"),
          new Row(240, 30, null, "30 120"),
          new Row(240, null, 150, "60 150"),
          new Row(240, 90, 148, "90 148"),
          new Row(240, 90, 149, "othello"),
          new Row(240, 70, 69, "70 69"),
          new Row(240, 118, 1, "118 1"),
          new Row(240, 119, 1, "othello"),
          new Row(240, 70, 0, "othello.spacingSeconds"),
          new Row(240, 0, 10, "othello.reportAgeSeconds"),
          new Row(240, 86_400, 86_400, "othello"),
          new Row(8, null, null, "2 4"),
          new Row(6, null, null, "1 3"),
          new Row(5, null, null, "othello"),
          new Row(1, null, null, "othello"));

  private static ServiceSpecBuilder spec() {
    return ServiceSpec.builder()
        .name("web")
        .vips(List.of("10.99.0.1"))
        .ports(List.of(new Port("tcp", 80)))
        .buckets(1024);
  }

  private static ServiceConfig created(ServiceSpec spec) {
    return ServiceRules.created(spec, 1, new Random(1));
  }

  private static Refusal refusal(ServiceSpec spec) {
    return catchThrowableOfType(Refusal.class, () -> created(spec));
  }

  @Test
  void theTimesTogetherAreShorterThanTheWindow() {
    for (Row row : ROWS) {
      ServiceSpecBuilder spec = spec().steering("othello").windowSeconds(row.window());
      row.asked().ifPresent(spec::othello);
      String got;
      try {
        Othello times = created(spec.build()).othello().orElseThrow();
        got = "%d %d".formatted(times.reportAgeSeconds(), times.spacingSeconds());
      } catch (Refusal e) {
        got = e.field();
      }
      assertThat(got).as("%s", row).isEqualTo(row.wanted());
    }
  }

  @Test
  void whatTheMethodDoesNotAllowIsRefusedByName() {
    assertThat(refusal(spec().steering("othello").encap("ipip").build()).field())
        .isEqualTo("encap");
    assertThat(refusal(spec().steering("othello").holdSeconds(60).build()).field())
        .isEqualTo("holdSeconds");
    assertThat(refusal(spec().steering("othello").buckets(131_072).build()).field())
        .isEqualTo("buckets");
    assertThat(refusal(spec().steering("hash").build()).field()).isEqualTo("steering");
    ServiceSpec.Othello times = new ServiceSpec.Othello(Optional.of(9), Optional.of(9));
    assertThat(refusal(spec().othello(times).build()).field()).isEqualTo("othello");
  }

  @Test
  void theMethodIsFixedAndTimesFollowChanges() {
    ServiceConfig config = created(spec().steering("othello").build());
    Refusal fixed =
        catchThrowableOfType(
            Refusal.class, () -> ServiceRules.replaced(config, spec().steering("ring").build()));
    assertThat(fixed.field()).isEqualTo("steering");
    assertThat(ServiceRules.replaced(config, spec().build())).isEqualTo(config);
    ServiceSpec shorter = ServiceSpec.builder().windowSeconds(150).build();
    assertThat(
            catchThrowableOfType(Refusal.class, () -> ServiceRules.changed(config, shorter))
                .field())
        .isEqualTo("othello");
    ServiceSpec both =
        ServiceSpec.builder()
            .windowSeconds(150)
            .othello(new ServiceSpec.Othello(Optional.of(40), Optional.of(90)))
            .build();
    assertThat(ServiceRules.changed(config, both).othello()).contains(new Othello(40, 90));
  }
}
