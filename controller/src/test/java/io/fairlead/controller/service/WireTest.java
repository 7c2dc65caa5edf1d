// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.ring.Address;
import io.fairlead.controller.services.MptcpPorts;
import io.fairlead.controller.services.Port;
import io.fairlead.controller.services.QuicServerId;
import io.fairlead.controller.services.ServiceChange;
import io.fairlead.controller.services.ServiceSpec;
import io.fairlead.controller.services.Wire;
import io.fairlead.controller.word.Encap;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a service may say of how its packets are treated. */
class WireTest {
  private static final long SEED = 20_261_120;
  private static final Wire IPIP = new Wire("ipip", Optional.empty(), Optional.empty());

  private static ServiceSpec spec(String vip, Optional<MptcpPorts> mptcpPorts, Wire wire) {
    return new ServiceSpec(
        "web",
        List.of(vip),
        List.of(new Port("udp", 443)),
        Optional.empty(),
        Optional.of(256),
        "siphash",
        Optional.empty(),
        "connection",
        240,
        mptcpPorts,
        "beamer",
        wire);
  }

  private static ServiceConfig config(String vip, Wire wire) {
    return SpecRules.config(spec(vip, Optional.empty(), wire), 1, new Random(SEED));
  }

  private static Wire quic(int offset, int length) {
    return new Wire("gue", Optional.of(new QuicServerId(offset, length)), Optional.empty());
  }

  @Test
  void isGueAndNothingElseByDefault() {
    ServiceConfig config = config("2001:db8:99::1", Wire.DEFAULT);
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
    ServiceSpec plain = spec("10.99.0.1", Optional.empty(), Wire.DEFAULT);
    assertThat(SpecRules.replaced(config, plain, new Random(SEED)).quicServerId()).isEmpty();
    assertThatThrownBy(
            () ->
                SpecRules.replaced(
                    config, spec("10.99.0.1", Optional.empty(), IPIP), new Random(SEED)))
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

  private static ServiceChange change(Optional<QuicServerId> quic, Optional<Integer> size) {
    return new ServiceChange(
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        quic,
        size);
  }

  @Test
  void aChangeOfSinglePacketsLeavesTheRest() {
    ServiceConfig config =
        config(
            "10.99.0.1", new Wire("gue", Optional.of(new QuicServerId(1, 2)), Optional.of(1400)));
    ServiceConfig lower = SpecRules.changed(config, change(Optional.empty(), Optional.of(1200)));
    assertThat(lower).isEqualTo(config.toBuilder().maxSegmentSize(Optional.of(1200)).build());
    ServiceConfig moved =
        SpecRules.changed(config, change(Optional.of(new QuicServerId(3, 1)), Optional.empty()));
    assertThat(moved.quicServerId()).contains(new ServiceConfig.QuicServerId(3, 1));
    assertThat(moved.maxSegmentSize()).contains(1400);
    ServiceConfig none =
        SpecRules.changed(config, change(Optional.of(new QuicServerId(0, 0)), Optional.of(0)));
    assertThat(none)
        .isEqualTo(
            config.toBuilder()
                .quicServerId(Optional.empty())
                .maxSegmentSize(Optional.empty())
                .build());
  }

  @Test
  void aChangeToWhatNoPacketHasIsRefused() {
    ServiceConfig config = config("10.99.0.1", Wire.DEFAULT);
    assertThatThrownBy(() -> SpecRules.changed(config, change(Optional.empty(), Optional.of(535))))
        .hasMessageContaining("maxSegmentSize")
        .hasMessageContaining("536..65535");
    assertThatThrownBy(
            () ->
                SpecRules.changed(
                    config, change(Optional.of(new QuicServerId(1, 0)), Optional.empty())))
        .hasMessageContaining("quicServerId");
    assertThatThrownBy(
            () ->
                SpecRules.changed(
                    config("10.99.0.1", IPIP),
                    change(Optional.of(new QuicServerId(1, 1)), Optional.empty())))
        .hasMessageContaining("encap");
  }

  @Test
  void thePapersEncapsulationIsForIpv4Alone() {
    ServiceConfig config = config("10.99.0.1", IPIP);
    ServiceChange toIpv6 =
        new ServiceChange(
            Optional.of(List.of("2001:db8:99::1")),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty());
    assertThatThrownBy(() -> config("2001:db8:99::1", IPIP))
        .hasMessageContaining("vips")
        .hasMessageContaining("encap is ipip");
    assertThatThrownBy(() -> SpecRules.changed(config, toIpv6)).hasMessageContaining("vips");
    assertThatThrownBy(
            () ->
                SpecRules.checkReached(
                    config, "address", Address.parse("2001:db8::1").orElseThrow()))
        .hasMessageContaining("address")
        .hasMessageContaining("2001:db8::1");
    SpecRules.checkReached(config, "address", Address.parse("10.1.0.21").orElseThrow());
  }

  @Test
  void thePapersEncapsulationNamesNoBackend() {
    Wire both = new Wire("ipip", Optional.of(new QuicServerId(1, 2)), Optional.empty());
    assertThatThrownBy(() -> config("10.99.0.1", both)).hasMessageContaining("quicServerId");
    assertThatThrownBy(
            () ->
                SpecRules.config(
                    spec("10.99.0.1", Optional.of(new MptcpPorts(20000, 20999)), IPIP),
                    1,
                    new Random(SEED)))
        .hasMessageContaining("mptcpPorts");
    assertThatThrownBy(
            () -> config("10.99.0.1", new Wire("gre", Optional.empty(), Optional.empty())))
        .hasMessageContaining("gre")
        .hasMessageContaining("gue, ipip");
  }
}
