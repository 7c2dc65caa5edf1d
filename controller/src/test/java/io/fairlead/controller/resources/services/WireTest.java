// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.MptcpPorts;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.core.image.ServiceConfig.QuicServerId;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.words.Encap;
import io.fairlead.controller.resources.backends.AddressRules;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings of a service for its packets. */
class WireTest {
  private static final long SEED = 20_261_120;
  private static final Wire GUE = new Wire("gue", Optional.empty(), Optional.empty());
  private static final Wire IPIP = new Wire("ipip", Optional.empty(), Optional.empty());

  private record Wire(
      String encap, Optional<QuicServerId> quicServerId, Optional<Integer> maxSegmentSize) {}

  private static ServiceSpec spec(String vip, Optional<MptcpPorts> mptcpPorts, Wire wire) {
    ServiceSpecBuilder spec =
        ServiceSpec.builder()
            .name("web")
            .vips(List.of(vip))
            .ports(List.of(new Port("udp", 443)))
            .buckets(256)
            .encap(wire.encap());
    mptcpPorts.ifPresent(spec::mptcpPorts);
    wire.quicServerId().ifPresent(spec::quicServerId);
    wire.maxSegmentSize().ifPresent(spec::maxSegmentSize);
    return spec.build();
  }

  private static ServiceConfig config(String vip, Wire wire) {
    return ServiceRules.created(spec(vip, Optional.empty(), wire), 1, new Random(SEED));
  }

  private static Wire quic(int offset, int length) {
    return new Wire("gue", Optional.of(new QuicServerId(offset, length)), Optional.empty());
  }

  @Test
  void isGueAndNothingElseByDefault() {
    ServiceConfig config = config("2001:db8:99::1", GUE);
    assertThat(config.encap()).isEqualTo(Encap.GUE);
    assertThat(config.quicServerId()).isEmpty();
    assertThat(config.maxSegmentSize()).isEmpty();
  }

  @Test
  void whatIsAskedIsKept() {
    ServiceConfig config =
        config(
            "10.99.0.1", new Wire("gue", Optional.of(new QuicServerId(1, 2)), Optional.of(1400)));
    assertThat(config.quicServerId()).contains(new ServiceConfig.QuicServerId(1, 2));
    assertThat(config.maxSegmentSize()).contains(1400);
    assertThat(config("10.99.0.1", IPIP).encap()).isEqualTo(Encap.IPIP);
  }

  @Test
  void aWholeSpecificationReplacesAllButTheEncapsulation() {
    ServiceConfig config = config("10.99.0.1", quic(1, 2));
    ServiceSpec plain = spec("10.99.0.1", Optional.empty(), GUE);
    assertThat(ServiceRules.replaced(config, plain).quicServerId()).isEmpty();
    assertThatThrownBy(
            () -> ServiceRules.replaced(config, spec("10.99.0.1", Optional.empty(), IPIP)))
        .isInstanceOf(Refusal.class)
        .hasMessageContaining("encap")
        .hasMessageContaining("ipip");
  }

  @ParameterizedTest
  @CsvSource({"-1,2", "20,1", "1,0", "1,3"})
  void aPlaceOutsideAConnectionIdIsRefused(int offset, int length) {
    assertThatThrownBy(() -> config("10.99.0.1", quic(offset, length)))
        .isInstanceOf(Refusal.class)
        .hasMessageContaining("quicServerId")
        .hasMessageContaining("offset 0..19 and length 1..2");
  }

  @ParameterizedTest
  @CsvSource({"0", "535", "65536"})
  void aSegmentSizeThatNoStackTakesIsRefused(int size) {
    assertThatThrownBy(
            () -> config("10.99.0.1", new Wire("gue", Optional.empty(), Optional.of(size))))
        .isInstanceOf(Refusal.class)
        .hasMessageContaining("maxSegmentSize")
        .hasMessageContaining("536..65535");
  }

  private static ServiceSpec change(Optional<QuicServerId> quic, Optional<Integer> size) {
    ServiceSpecBuilder change = ServiceSpec.builder();
    quic.ifPresent(change::quicServerId);
    size.ifPresent(change::maxSegmentSize);
    return change.build();
  }

  @Test
  void aChangeOfSinglePacketsLeavesTheRest() {
    ServiceConfig config =
        config(
            "10.99.0.1", new Wire("gue", Optional.of(new QuicServerId(1, 2)), Optional.of(1400)));
    ServiceConfig lower = ServiceRules.changed(config, change(Optional.empty(), Optional.of(1200)));
    assertThat(lower).isEqualTo(config.toBuilder().maxSegmentSize(Optional.of(1200)).build());
    ServiceConfig moved =
        ServiceRules.changed(config, change(Optional.of(new QuicServerId(3, 1)), Optional.empty()));
    assertThat(moved.quicServerId()).contains(new ServiceConfig.QuicServerId(3, 1));
    assertThat(moved.maxSegmentSize()).contains(1400);
    ServiceConfig none =
        ServiceRules.changed(config, change(Optional.of(new QuicServerId(0, 0)), Optional.of(0)));
    assertThat(none)
        .isEqualTo(
            config.toBuilder()
                .quicServerId(Optional.empty())
                .maxSegmentSize(Optional.empty())
                .build());
  }

  @Test
  void udpIsStatelessOnlyIfAskedFor() {
    ServiceConfig config = config("10.99.0.1", GUE);
    assertThat(config.statelessUdp()).isFalse();
    ServiceSpec on = ServiceSpec.builder().statelessUdp(true).build();
    ServiceConfig stateless = ServiceRules.changed(config, on);
    assertThat(stateless).isEqualTo(config.toBuilder().statelessUdp(true).build());
    assertThat(ServiceRules.changed(stateless, change(Optional.empty(), Optional.of(1200))))
        .isEqualTo(stateless.toBuilder().maxSegmentSize(Optional.of(1200)).build());
    assertThat(ServiceRules.changed(stateless, ServiceSpec.builder().statelessUdp(false).build()))
        .isEqualTo(config);
    ServiceSpec plain = spec("10.99.0.1", Optional.empty(), GUE);
    assertThat(ServiceRules.replaced(stateless, plain).statelessUdp()).isFalse();
  }

  @Test
  void aBudgetIsThereOnlyIfAskedFor() throws Exception {
    ServiceConfig config = config("10.99.0.1", GUE);
    assertThat(config.packetsPerSecond()).isZero();
    assertThat(config.bytesPerSecond()).isZero();
    ServiceConfig most =
        ServiceRules.changed(
            config,
            ServiceSpec.builder()
                .packetsPerSecond(1_000_000_000)
                .bytesPerSecond(1_000_000_000_000L)
                .build());
    assertThat(most)
        .isEqualTo(
            config.toBuilder()
                .packetsPerSecond(1_000_000_000)
                .bytesPerSecond(1_000_000_000_000L)
                .build());
    assertThat(ServiceRules.changed(most, change(Optional.empty(), Optional.of(1200))))
        .isEqualTo(most.toBuilder().maxSegmentSize(Optional.of(1200)).build());
    assertThat(ServiceRules.changed(most, ServiceSpec.builder().packetsPerSecond(0).build()))
        .isEqualTo(config.toBuilder().bytesPerSecond(1_000_000_000_000L).build());
    ServiceSpec plain = spec("10.99.0.1", Optional.empty(), GUE);
    assertThat(ServiceRules.replaced(most, plain).bytesPerSecond()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "-1, 0, packetsPerSecond",
    "1000000001, 0, packetsPerSecond",
    "0, -1, bytesPerSecond"
  })
  void aBudgetBeyondAnyMuxIsRefused(int packets, long bytes, String field) {
    ServiceSpec change =
        ServiceSpec.builder().packetsPerSecond(packets).bytesPerSecond(bytes).build();
    assertThatThrownBy(() -> ServiceRules.changed(config("10.99.0.1", GUE), change))
        .isInstanceOf(Refusal.class)
        .hasMessageContaining(field)
        .hasMessageContaining("or 0 for no limit");
  }

  @Test
  void bucketsAreHeldOnlyIfAskedFor() throws Exception {
    ServiceConfig config = config("10.99.0.1", GUE);
    assertThat(config.holdSeconds()).isZero();
    assertThat(config.chainedSeconds()).isEqualTo(config.windowSeconds());
    ServiceConfig held =
        ServiceRules.changed(config, ServiceSpec.builder().holdSeconds(604_800).build());
    assertThat(held).isEqualTo(config.withHold(604_800));
    assertThat(held.chainedSeconds()).isGreaterThan(604_800);
    assertThat(ServiceRules.changed(held, change(Optional.empty(), Optional.of(1200))))
        .isEqualTo(held.toBuilder().maxSegmentSize(Optional.of(1200)).build());
    assertThat(config.holdByDefault()).isTrue();
    assertThat(ServiceRules.changed(held, ServiceSpec.builder().holdSeconds(0).build()))
        .as("none, also not by default")
        .isEqualTo(config.withHold(0));
    ServiceSpec plain = spec("10.99.0.1", Optional.empty(), GUE);
    ServiceSpec byDefault = ServiceSpec.builder().holdByDefault(true).build();
    for (ServiceConfig back :
        List.of(ServiceRules.replaced(held, plain), ServiceRules.changed(held, byDefault))) {
      assertThat(back)
          .as("what was set goes on until agents decide")
          .isEqualTo(held.withDefaultHold());
      assertThat(back.holdByDefault()).isTrue();
      assertThat(back.holdSeconds()).isEqualTo(604_800);
    }
    assertThatThrownBy(
            () ->
                ServiceRules.changed(
                    config, ServiceSpec.builder().holdSeconds(7).holdByDefault(true).build()))
        .hasMessage("holdByDefault 'true' is refused; allowed: without holdSeconds, or left out");
    for (int refused : new int[] {-1, 604_801}) {
      assertThatThrownBy(
              () ->
                  ServiceRules.changed(config, ServiceSpec.builder().holdSeconds(refused).build()))
          .hasMessage("holdSeconds '%d' is refused; allowed: 0..604800".formatted(refused));
    }
  }

  @Test
  void aChangeToWhatNoPacketHasIsRefused() {
    ServiceConfig config = config("10.99.0.1", GUE);
    assertThatThrownBy(
            () -> ServiceRules.changed(config, change(Optional.empty(), Optional.of(535))))
        .hasMessageContaining("maxSegmentSize")
        .hasMessageContaining("536..65535");
    assertThatThrownBy(
            () ->
                ServiceRules.changed(
                    config, change(Optional.of(new QuicServerId(1, 0)), Optional.empty())))
        .hasMessageContaining("quicServerId");
    assertThatThrownBy(
            () ->
                ServiceRules.changed(
                    config("10.99.0.1", IPIP),
                    change(Optional.of(new QuicServerId(1, 1)), Optional.empty())))
        .hasMessageContaining("encap");
  }

  @Test
  void thePapersEncapsulationIsForIpv4Alone() {
    ServiceConfig config = config("10.99.0.1", IPIP);
    ServiceSpec toIpv6 = ServiceSpec.builder().vips(List.of("2001:db8:99::1")).build();
    assertThatThrownBy(() -> config("2001:db8:99::1", IPIP))
        .hasMessageContaining("vips")
        .hasMessageContaining("encap is ipip");
    assertThatThrownBy(() -> ServiceRules.changed(config, toIpv6)).hasMessageContaining("vips");
    assertThatThrownBy(
            () ->
                AddressRules.checkReached(
                    config, "address", Address.parse("2001:db8::1").orElseThrow()))
        .hasMessageContaining("address")
        .hasMessageContaining("2001:db8::1");
    AddressRules.checkReached(config, "address", Address.parse("10.1.0.21").orElseThrow());
  }

  @Test
  void segmentRoutingReachesIpv6BackendsAlone() {
    ServiceConfig config =
        config("10.99.0.1", new Wire("srv6", Optional.empty(), Optional.empty()));
    assertThat(config.encap()).isEqualTo(Encap.SRV6);
    AddressRules.checkReached(config, "address", Address.parse("2001:db8::1").orElseThrow());
    assertThatThrownBy(
            () ->
                AddressRules.checkReached(
                    config, "address", Address.parse("10.1.0.21").orElseThrow()))
        .hasMessageContaining("address")
        .hasMessageContaining("10.1.0.21")
        .hasMessageContaining("an IPv6 address, as the service's encap is srv6");
    assertThat(
            config(
                    "10.99.0.1",
                    new Wire("srv6", Optional.of(new QuicServerId(1, 2)), Optional.empty()))
                .quicServerId())
        .isPresent();
  }

  @Test
  void thePapersEncapsulationNamesNoBackend() {
    Wire both = new Wire("ipip", Optional.of(new QuicServerId(1, 2)), Optional.empty());
    assertThatThrownBy(() -> config("10.99.0.1", both)).hasMessageContaining("quicServerId");
    assertThatThrownBy(
            () ->
                ServiceRules.created(
                    spec("10.99.0.1", Optional.of(new MptcpPorts(20000, 20999)), IPIP),
                    1,
                    new Random(SEED)))
        .hasMessageContaining("mptcpPorts");
    assertThatThrownBy(
            () -> config("10.99.0.1", new Wire("gre", Optional.empty(), Optional.empty())))
        .hasMessageContaining("gre")
        .hasMessageContaining("gue, srv6, ipip");
  }
}
