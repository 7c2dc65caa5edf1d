// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.annotation.JsonPOJOBuilder;
import io.fairlead.controller.image.ServiceConfig.Maintenance;
import io.fairlead.controller.image.ServiceConfig.MptcpPorts;
import io.fairlead.controller.image.ServiceConfig.Port;
import io.fairlead.controller.image.ServiceConfig.QuicServerId;
import java.util.List;
import java.util.Optional;

/**
 * What a request says of a service; {@link ServiceRules} says what an absent field means. In a
 * change a range, place or size of 0 takes the setting away.
 *
 * @param maxBackends gives the service the next power of two of 100 x as many buckets
 * @param buckets a power of two in 256..8388608, in place of {@code maxBackends}
 * @param hashKey 32 hex digits
 * @param vipRanges of the whole cluster, which has none before its first service
 */
@JsonDeserialize(builder = ServiceSpec.Builder.class)
public record ServiceSpec(
    Optional<String> name,
    Optional<List<String>> vips,
    Optional<List<Port>> ports,
    Optional<Integer> maxBackends,
    Optional<Integer> buckets,
    Optional<String> hash,
    Optional<String> hashKey,
    Optional<String> affinity,
    Optional<String> encap,
    Optional<Integer> windowSeconds,
    Optional<MptcpPorts> mptcpPorts,
    Optional<String> assignment,
    Optional<QuicServerId> quicServerId,
    Optional<Integer> maxSegmentSize,
    Optional<Boolean> statelessUdp,
    Optional<Integer> holdSeconds,
    Optional<Boolean> holdByDefault,
    Optional<Integer> slowStartSeconds,
    Optional<Maintenance> maintenance,
    Optional<String> steering,
    Optional<Othello> othello,
    Optional<Hunt> hunt,
    Optional<Maat> maat,
    Optional<Health> healthCheck,
    Optional<List<String>> vipRanges) {

  /** In a request, of which a change may have either. */
  public record Othello(Optional<Integer> reportAgeSeconds, Optional<Integer> spacingSeconds) {}

  /** In a request, of which a change may have any. */
  public record Hunt(
      Optional<String> policy,
      Optional<Integer> threshold,
      Optional<Integer> window,
      Optional<Integer> epsilonThousandths) {}

  /**
   * In a request, of which a change may have any but the preset.
   *
   * @param preset names other defaults
   */
  public record Maat(
      Optional<String> preset,
      Optional<String> load,
      Optional<Integer> deltaThousandths,
      Optional<Integer> halfLifeMillis,
      Optional<Integer> filterBytes,
      Optional<Integer> filterHashes) {}

  /** In a request, of which a change may have any; of kind {@code none} it takes the check away. */
  public record Health(
      Optional<String> kind,
      Optional<Integer> port,
      Optional<String> path,
      Optional<String> host,
      Optional<Boolean> verify,
      Optional<String> send,
      Optional<String> command,
      Optional<Expect> expect,
      Optional<Integer> intervalMillis,
      Optional<Integer> timeoutMillis,
      Optional<Integer> rise,
      Optional<Integer> fall,
      Optional<Integer> jitterPercent,
      Optional<HealthAction> action) {}

  /** In a request, of which a change may have any. */
  public record HealthAction(
      Optional<Integer> panicPercent,
      Optional<String> maxOut,
      Optional<Boolean> withdraw,
      Optional<Boolean> dead) {}

  /** What an answer must have. */
  public record Expect(Optional<String> status, Optional<String> body, Optional<String> hex) {}

  public static Builder builder() {
    return new Builder();
  }

  public Builder toBuilder() {
    Builder builder = new Builder();
    builder.name = name;
    builder.vips = vips;
    builder.ports = ports;
    builder.maxBackends = maxBackends;
    builder.buckets = buckets;
    builder.hash = hash;
    builder.hashKey = hashKey;
    builder.affinity = affinity;
    builder.encap = encap;
    builder.windowSeconds = windowSeconds;
    builder.mptcpPorts = mptcpPorts;
    builder.assignment = assignment;
    builder.quicServerId = quicServerId;
    builder.maxSegmentSize = maxSegmentSize;
    builder.statelessUdp = statelessUdp;
    builder.holdSeconds = holdSeconds;
    builder.holdByDefault = holdByDefault;
    builder.slowStartSeconds = slowStartSeconds;
    builder.maintenance = maintenance;
    builder.steering = steering;
    builder.othello = othello;
    builder.hunt = hunt;
    builder.maat = maat;
    builder.healthCheck = healthCheck;
    builder.vipRanges = vipRanges;
    return builder;
  }

  /** Sets fields by name, from a program or from JSON; fields not set are absent. */
  @JsonPOJOBuilder(withPrefix = "")
  @JsonIgnoreProperties(ignoreUnknown = true)
  public static final class Builder {
    private Optional<String> name = Optional.empty();
    private Optional<List<String>> vips = Optional.empty();
    private Optional<List<Port>> ports = Optional.empty();
    private Optional<Integer> maxBackends = Optional.empty();
    private Optional<Integer> buckets = Optional.empty();
    private Optional<String> hash = Optional.empty();
    private Optional<String> hashKey = Optional.empty();
    private Optional<String> affinity = Optional.empty();
    private Optional<String> encap = Optional.empty();
    private Optional<Integer> windowSeconds = Optional.empty();
    private Optional<MptcpPorts> mptcpPorts = Optional.empty();
    private Optional<String> assignment = Optional.empty();
    private Optional<QuicServerId> quicServerId = Optional.empty();
    private Optional<Integer> maxSegmentSize = Optional.empty();
    private Optional<Boolean> statelessUdp = Optional.empty();
    private Optional<Integer> holdSeconds = Optional.empty();
    private Optional<Boolean> holdByDefault = Optional.empty();
    private Optional<Integer> slowStartSeconds = Optional.empty();
    private Optional<Maintenance> maintenance = Optional.empty();
    private Optional<String> steering = Optional.empty();
    private Optional<Othello> othello = Optional.empty();
    private Optional<Hunt> hunt = Optional.empty();
    private Optional<Maat> maat = Optional.empty();
    private Optional<Health> healthCheck = Optional.empty();
    private Optional<List<String>> vipRanges = Optional.empty();

    private Builder() {}

    public Builder name(String to) {
      name = Optional.of(to);
      return this;
    }

    public Builder vips(List<String> to) {
      vips = Optional.of(to);
      return this;
    }

    public Builder ports(List<Port> to) {
      ports = Optional.of(to);
      return this;
    }

    public Builder maxBackends(int to) {
      maxBackends = Optional.of(to);
      return this;
    }

    public Builder buckets(int to) {
      buckets = Optional.of(to);
      return this;
    }

    public Builder hash(String to) {
      hash = Optional.of(to);
      return this;
    }

    public Builder hashKey(String to) {
      hashKey = Optional.of(to);
      return this;
    }

    public Builder affinity(String to) {
      affinity = Optional.of(to);
      return this;
    }

    public Builder encap(String to) {
      encap = Optional.of(to);
      return this;
    }

    public Builder windowSeconds(int to) {
      windowSeconds = Optional.of(to);
      return this;
    }

    public Builder mptcpPorts(MptcpPorts to) {
      mptcpPorts = Optional.of(to);
      return this;
    }

    public Builder assignment(String to) {
      assignment = Optional.of(to);
      return this;
    }

    public Builder quicServerId(QuicServerId to) {
      quicServerId = Optional.of(to);
      return this;
    }

    public Builder maxSegmentSize(int to) {
      maxSegmentSize = Optional.of(to);
      return this;
    }

    public Builder statelessUdp(boolean to) {
      statelessUdp = Optional.of(to);
      return this;
    }

    public Builder holdSeconds(int to) {
      holdSeconds = Optional.of(to);
      return this;
    }

    public Builder holdByDefault(boolean to) {
      holdByDefault = Optional.of(to);
      return this;
    }

    public Builder slowStartSeconds(int to) {
      slowStartSeconds = Optional.of(to);
      return this;
    }

    public Builder maintenance(Maintenance to) {
      maintenance = Optional.of(to);
      return this;
    }

    public Builder steering(String to) {
      steering = Optional.of(to);
      return this;
    }

    public Builder othello(Othello to) {
      othello = Optional.of(to);
      return this;
    }

    public Builder hunt(Hunt to) {
      hunt = Optional.of(to);
      return this;
    }

    public Builder maat(Maat to) {
      maat = Optional.of(to);
      return this;
    }

    public Builder vipRanges(List<String> to) {
      vipRanges = Optional.of(to);
      return this;
    }

    public Builder healthCheck(Health to) {
      healthCheck = Optional.of(to);
      return this;
    }

    public ServiceSpec build() {
      return new ServiceSpec(
          name,
          vips,
          ports,
          maxBackends,
          buckets,
          hash,
          hashKey,
          affinity,
          encap,
          windowSeconds,
          mptcpPorts,
          assignment,
          quicServerId,
          maxSegmentSize,
          statelessUdp,
          holdSeconds,
          holdByDefault,
          slowStartSeconds,
          maintenance,
          steering,
          othello,
          hunt,
          maat,
          healthCheck,
          vipRanges);
    }
  }
}
