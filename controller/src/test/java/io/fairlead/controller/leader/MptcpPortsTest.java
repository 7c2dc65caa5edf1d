// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceConfig.MptcpPorts;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.resources.explain.Explanation;
import io.fairlead.controller.resources.explain.Explanation.Owner;
import io.fairlead.controller.resources.explain.Flow;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.services.ServiceSpecBuilder;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Ports that name a backend: what they may be, and where a flow to one of them goes. */
class MptcpPortsTest extends EmbeddedController {
  private static final MptcpPorts RANGE = new MptcpPorts(20000, 20999);

  private static ServiceSpec spec(
      String name, String vip, List<Port> ports, Optional<MptcpPorts> range) {
    ServiceSpec plain = Requests.spec(name, vip);
    ServiceSpecBuilder spec = plain.toBuilder().ports(ports);
    return range.map(spec::mptcpPorts).orElse(spec).build();
  }

  private static ServiceSpec web(MptcpPorts range) {
    return spec("web", "10.99.0.1", List.of(new Port("tcp", 80)), Optional.of(range));
  }

  private static ServiceSpec to(MptcpPorts range) {
    return ServiceSpec.builder().mptcpPorts(range).build();
  }

  private Optional<MptcpPorts> ports() {
    return Shown.service(controller, "web").orElseThrow().config().mptcpPorts();
  }

  private Explanation explain(String protocol, int port) {
    return Shown.explain(
        controller, "web", new Flow(protocol, "198.51.100.7", 1, "10.99.0.1", port));
  }

  @Test
  void theyStandInTheServiceAndOutliveARestart() throws Exception {
    done(controller.services().createService(web(RANGE), WriteOptions.COMMIT));
    assertThat(ports()).contains(RANGE);
    controller.close();
    open();
    assertThat(ports()).contains(RANGE);
    done(
        controller
            .services()
            .changeService(
                "web", ServiceSpec.builder().windowSeconds(60).build(), WriteOptions.COMMIT));
    assertThat(ports()).contains(RANGE);
    done(
        controller
            .services()
            .changeService("web", to(new MptcpPorts(30000, 30009)), WriteOptions.COMMIT));
    assertThat(ports()).contains(new MptcpPorts(30000, 30009));
    done(controller.services().changeService("web", to(new MptcpPorts(0, 0)), WriteOptions.COMMIT));
    assertThat(ports()).isEmpty();
    controller.close();
    open();
    assertThat(ports()).isEmpty();
  }

  @Test
  void rangesThatAreNoneAreRefused() throws Exception {
    for (MptcpPorts range :
        List.of(
            new MptcpPorts(0, 0),
            new MptcpPorts(0, 100),
            new MptcpPorts(-1, 100),
            new MptcpPorts(20000, 20000),
            new MptcpPorts(20001, 20000),
            new MptcpPorts(20000, 65536),
            new MptcpPorts(70, 90),
            new MptcpPorts(80, 81),
            new MptcpPorts(79, 80))) {
      Refusal refusal =
          refusal(controller.services().createService(web(range), WriteOptions.COMMIT));
      assertThat(refusal.field()).as("%s", range).isEqualTo("mptcpPorts");
      assertThat(refusal.kind()).isEqualTo(Refusal.Kind.INVALID);
    }
    assertThat(Shown.services(controller)).isEmpty();
    done(controller.services().createService(web(RANGE), WriteOptions.COMMIT));
    Refusal own =
        refusal(
            controller
                .services()
                .changeService(
                    "web",
                    ServiceSpec.builder().ports(List.of(new Port("tcp", 20500))).build(),
                    WriteOptions.COMMIT));
    assertThat(own.field()).isEqualTo("mptcpPorts");
    assertThat(own.allowed()).contains("tcp:20500");
  }

  @Test
  void portsAndRangesOfOthersOnTheSameVipAreTaken() throws Exception {
    record Row(int port, Optional<MptcpPorts> range, boolean isTaken) {}
    Optional<MptcpPorts> none = Optional.empty();
    List<Row> rows =
        List.of(
            new Row(19999, none, false),
            new Row(20000, none, true),
            new Row(20999, none, true),
            new Row(21000, none, false),
            new Row(81, Optional.of(new MptcpPorts(79, 80)), true),
            new Row(81, Optional.of(new MptcpPorts(19000, 20000)), true),
            new Row(81, Optional.of(new MptcpPorts(20100, 20200)), true),
            new Row(81, Optional.of(new MptcpPorts(10000, 30000)), true),
            new Row(81, Optional.of(new MptcpPorts(20999, 30000)), true),
            new Row(81, Optional.of(new MptcpPorts(21000, 30000)), false));
    for (Row row : rows) {
      ServiceSpec other =
          spec("other", "10.99.0.1", List.of(new Port("tcp", row.port())), row.range());
      for (List<ServiceSpec> order :
          List.of(List.of(web(RANGE), other), List.of(other, web(RANGE)))) {
        done(controller.services().createService(order.get(0), WriteOptions.COMMIT));
        if (row.isTaken()) {
          Refusal refusal =
              refusal(controller.services().createService(order.get(1), WriteOptions.COMMIT));
          assertThat(refusal.kind()).as("%s", row).isEqualTo(Refusal.Kind.CONFLICT);
          assertThat(refusal.allowed()).contains("'" + order.get(0).name().orElseThrow() + "'");
        } else {
          done(controller.services().createService(order.get(1), WriteOptions.COMMIT));
          done(
              controller
                  .services()
                  .deleteService(order.get(1).name().orElseThrow(), WriteOptions.COMMIT));
        }
        done(
            controller
                .services()
                .deleteService(order.get(0).name().orElseThrow(), WriteOptions.COMMIT));
      }
    }
    done(controller.services().createService(web(RANGE), WriteOptions.COMMIT));
    List<Port> udp = List.of(new Port("udp", 20500));
    done(
        controller
            .services()
            .createService(spec("dns", "10.99.0.1", udp, none), WriteOptions.COMMIT));
    List<Port> tcp = List.of(new Port("tcp", 20500));
    done(
        controller
            .services()
            .createService(
                spec("far", "10.99.0.2", tcp, Optional.of(new MptcpPorts(1, 9))),
                WriteOptions.COMMIT));
    Refusal move =
        refusal(
            controller
                .services()
                .changeService(
                    "far",
                    ServiceSpec.builder().vips(List.of("10.99.0.1")).build(),
                    WriteOptions.COMMIT));
    assertThat(move.kind()).isEqualTo(Refusal.Kind.CONFLICT);
  }

  @Test
  void theyMustNameEveryBackend() throws Exception {
    done(
        controller
            .services()
            .createService(web(new MptcpPorts(20000, 20004)), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(4)), WriteOptions.COMMIT));
    Refusal outside =
        refusal(controller.backends().change("web", List.of(add(1), add(5)), WriteOptions.COMMIT));
    assertThat(outside.field()).isEqualTo("id");
    assertThat(outside.value()).isEqualTo("5");
    assertThat(outside.allowed()).startsWith("1..4, as the service's mptcpPorts are 20000-20004");
    assertThat(Shown.backends(controller, "web")).hasSize(1);
    Refusal narrow =
        refusal(
            controller
                .services()
                .changeService("web", to(new MptcpPorts(20000, 20003)), WriteOptions.COMMIT));
    assertThat(narrow.field()).isEqualTo("mptcpPorts");
    assertThat(narrow.allowed()).contains("20000-20004", "4");
    done(controller.services().changeService("web", to(new MptcpPorts(0, 0)), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(5)), WriteOptions.COMMIT));
    assertThat(
            refusal(
                    controller
                        .services()
                        .changeService("web", to(new MptcpPorts(1, 5)), WriteOptions.COMMIT))
                .field())
        .isEqualTo("mptcpPorts");
  }

  @Test
  void explainFollowsTheNamedBackend() throws Exception {
    done(controller.services().createService(web(RANGE), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2), add(3)), WriteOptions.COMMIT));
    Explanation two = explain("tcp", 20002);
    assertThat(two.current()).contains(new Owner(2, "10.1.0.2"));
    assertThat(two.bucket()).isEmpty();
    assertThat(two.former()).isEmpty();
    assertThat(two.generation()).isEqualTo(2);
    done(
        controller.backends().change("web", List.of(weight(2, 0), remove(3)), WriteOptions.COMMIT));
    assertThat(explain("tcp", 20002).current()).contains(new Owner(2, "10.1.0.2"));
    assertThat(explain("tcp", 20003).current()).isEmpty();
    assertThat(explain("tcp", 20000).current()).isEmpty();
    for (Flow flow :
        List.of(
            new Flow("udp", "198.51.100.7", 1, "10.99.0.1", 20002),
            new Flow("tcp", "198.51.100.7", 1, "10.99.0.1", 21000))) {
      assertThat(
              catchThrowableOfType(Refusal.class, () -> Shown.explain(controller, "web", flow))
                  .field())
          .isEqualTo("destinationPort");
    }
  }
}
