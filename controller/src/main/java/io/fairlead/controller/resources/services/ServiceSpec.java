// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import io.fairlead.controller.core.image.Built;
import io.fairlead.controller.core.image.ServiceConfig.Maintenance;
import io.fairlead.controller.core.image.ServiceConfig.MptcpPorts;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.core.image.ServiceConfig.QuicServerId;
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
@Built
@JsonIgnoreProperties(ignoreUnknown = true)
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
    Optional<Integer> packetsPerSecond,
    Optional<Long> bytesPerSecond,
    Optional<Integer> holdSeconds,
    Optional<Boolean> holdByDefault,
    Optional<Integer> slowStartSeconds,
    Optional<Maintenance> maintenance,
    Optional<StageSettings> stageSettings,
    Optional<String> steering,
    Optional<Othello> othello,
    Optional<Hunt> hunt,
    Optional<Maat> maat,
    Optional<Health> healthCheck,
    Optional<List<String>> vipRanges) {

  /** In a request, of which a change may have any; stages {@code none} take the steps away. */
  public record StageSettings(
      Optional<String> stages,
      Optional<Integer> bakeSeconds,
      Optional<Integer> factorPercent,
      Optional<Integer> minimumEvents) {}

  /** In a request, of which a change may have either. */
  public record Othello(Optional<Integer> reportAgeSeconds, Optional<Integer> spacingSeconds) {
    static final Othello NOTHING = new Othello(Optional.empty(), Optional.empty());
  }

  /** In a request, of which a change may have any. */
  public record Hunt(
      Optional<String> policy,
      Optional<Integer> threshold,
      Optional<Integer> window,
      Optional<Integer> epsilonThousandths) {
    static final Hunt NOTHING =
        new Hunt(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());
  }

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
      Optional<Integer> filterHashes) {
    static final Maat NOTHING =
        new Maat(
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty());
  }

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

  public static ServiceSpecBuilder builder() {
    return ServiceSpecBuilder.builder();
  }

  public ServiceSpecBuilder toBuilder() {
    return ServiceSpecBuilder.builder(this);
  }
}
