// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.steering.Steering;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.words.Affinity;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.core.words.Encap;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.core.words.HuntPolicy;
import io.fairlead.controller.core.words.MaatLoad;
import java.util.List;
import java.util.Optional;

/**
 * A service's configuration, as it is in its ZooKeeper node (protocol/README.md §4).
 *
 * @param holdSeconds how long former owners count that have connections, at most; 0: the window
 * @param holdByDefault whether none is set, so that the leader does, once agents report
 */
@Built
public record ServiceConfig(
    int format,
    int id,
    String name,
    List<String> vips,
    List<Port> ports,
    SteeringMethod steering,
    int buckets,
    Hash hash,
    String hashKey,
    Affinity affinity,
    Encap encap,
    int windowSeconds,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<MptcpPorts> mptcpPorts,
    AssignmentMethod assignment,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<QuicServerId> quicServerId,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Integer> maxSegmentSize,
    @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean statelessUdp,
    @JsonInclude(JsonInclude.Include.NON_DEFAULT) int packetsPerSecond,
    @JsonInclude(JsonInclude.Include.NON_DEFAULT) long bytesPerSecond,
    @JsonInclude(JsonInclude.Include.NON_DEFAULT) int holdSeconds,
    @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean holdByDefault,
    @JsonInclude(JsonInclude.Include.NON_DEFAULT) int slowStartSeconds,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Maintenance> maintenance,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<StageSettings> stageSettings,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Othello> othello,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Hunt> hunt,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Maat> maat,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<HealthCheck> healthCheck)
    implements Steering.Spec {
  public static final int FORMAT = 1;

  /** How long former owners count at most, of a service that is held by default: a day. */
  public static final int HOLD_DEFAULT_SECONDS = 86_400;

  /** Longer than any window: a bucket with a former owner is always within it. */
  private static final int UNTIL_RELEASED = Integer.MAX_VALUE;

  public ServiceConfig {
    vips = List.copyOf(vips);
    ports = List.copyOf(ports);
  }

  /**
   * For how long after a move a bucket's packets are chained to the owner that it left: for the
   * window, or with a hold or arrays until a generation releases that owner.
   */
  public int chainedSeconds() {
    return releasesOwners() ? UNTIL_RELEASED : windowSeconds;
  }

  /** Whether former owners count until a generation releases them. */
  public boolean releasesOwners() {
    return holdSeconds > 0 || steering == SteeringMethod.OTHELLO;
  }

  /**
   * The second until which former owners may have left their buckets for a generation that is
   * committed now to end them, since their window is over; at least 1, by which muxes know that
   * windows end anything, and 0 if they do not. It moves in steps, so that few generations change
   * histories.
   *
   * @param exact whether backends change, so that ids and addresses may be taken again
   */
  public long closedUntil(long now, boolean exact) {
    int step = exact ? 1 : Math.max(1, windowSeconds / 8);
    return releasesOwners() ? 0 : Math.max(1, (now - windowSeconds) / step * step);
  }

  /** How long after its last move a bucket keeps former owners at most, with a hold. */
  public int heldSeconds() {
    return Math.max(windowSeconds, holdSeconds);
  }

  /**
   * How many former owners a bucket may have that count: as many as its packets have room for.
   * Those of some methods have two buckets, and with ipip servers know one former owner.
   */
  public int formerOwnersMax() {
    if (encap == Encap.IPIP) {
      return 1;
    }
    return History.most(hasTwoBuckets() || steering == SteeringMethod.OTHELLO);
  }

  /** Whether each connection has two buckets of the ring, by its hash. */
  public boolean hasTwoBuckets() {
    return steering.steering().hasSecond();
  }

  /** Whether datagrams are chained: as long as TCP is, and no agent counts them. */
  public boolean chainsDatagrams() {
    return !statelessUdp && ports.stream().anyMatch(port -> port.protocol().equals("udp"));
  }

  /** Whether muxes steer by what agents report of their servers' load. */
  public boolean wantsLoads() {
    return maat.filter(settings -> settings.load() == MaatLoad.AGENTS).isPresent();
  }

  @Override
  public boolean hasOnlyTcp() {
    return ports.stream().allMatch(port -> port.protocol().equals("tcp"));
  }

  @Override
  public boolean namesQuicServers() {
    return quicServerId.isPresent();
  }

  public record Port(@JsonProperty("protocol") String protocol, @JsonProperty("port") int port) {
    @Override
    public String toString() {
      return protocol + ":" + port;
    }
  }

  /** Where a QUIC connection id holds the backend's id (protocol/README.md §7). */
  public record QuicServerId(
      @JsonProperty("offset") int offset, @JsonProperty("length") int length) {
    @Override
    public String toString() {
      return offset + ":" + length;
    }
  }

  /**
   * How much of the service may be out of service at a time.
   *
   * @param maxDraining backends, as "2" or, of all, as "25%"
   */
  public record Maintenance(@JsonProperty("maxDraining") String maxDraining) {
    /** How many of so many backends may drain, at least one. */
    public int draining(int backends) {
      int number = Integer.parseInt(maxDraining.replace("%", ""));
      return maxDraining.endsWith("%")
          ? Math.max(1, (int) ((long) backends * number / 100))
          : number;
    }
  }

  /**
   * How changes of weights take effect in steps, and what rolls them back.
   *
   * @param stages of every change that names none, as {@link Stage.Steps#parse} reads them; absent:
   *     at once
   * @param bakeSeconds that a step lasts
   * @param factorPercent of the others' rate, up to which a changed backend's may be
   * @param minimumEvents of one kind below which nothing is rolled back
   */
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record StageSettings(
      Optional<String> stages, int bakeSeconds, int factorPercent, int minimumEvents) {
    public static final StageSettings DEFAULT = new StageSettings(Optional.empty(), 60, 200, 3);

    /** Every change's steps, if it names none. */
    public Optional<Stage.Steps> steps() {
      return stages.flatMap(text -> Stage.Steps.parse(text, bakeSeconds));
    }
  }

  /** What holds of staged changes. */
  public StageSettings stagesOrDefault() {
    return stageSettings.orElse(StageSettings.DEFAULT);
  }

  /**
   * Of steering {@code othello}.
   *
   * @param reportAgeSeconds that a connection has before its server reports it
   * @param spacingSeconds between one set of arrays and the next, at least
   */
  public record Othello(
      @JsonProperty("reportAgeSeconds") int reportAgeSeconds,
      @JsonProperty("spacingSeconds") int spacingSeconds) {
    /** What a connection may be older than its server's table says: its handshake. */
    public static final int HANDSHAKE_SECONDS = 2;

    @Override
    public String toString() {
      return "reportAgeSeconds %d, spacingSeconds %d".formatted(reportAgeSeconds, spacingSeconds);
    }
  }

  /**
   * Of steering {@code hunt}: when a server would rather not take a new connection.
   *
   * @param threshold connections in work from which a server refuses; with {@code dynamic} the
   *     first, which adapts so that half of the offers are taken
   * @param window of {@code dynamic}: offers after which it adapts
   * @param epsilonThousandths of {@code dynamic}: how far from half the share taken may be
   */
  public record Hunt(
      @JsonProperty("policy") HuntPolicy policy,
      @JsonProperty("threshold") int threshold,
      @JsonProperty("window") int window,
      @JsonProperty("epsilonThousandths") int epsilonThousandths) {}

  /**
   * Of steering {@code maat}: how a mux orders the two owners of a new connection.
   *
   * @param load what is counted
   * @param deltaThousandths of the mean load, by which the first owner's must exceed the second's
   * @param halfLifeMillis after which load that was counted counts half
   * @param filterBytes of the counting filter, a power of two
   * @param filterHashes of a connection in it
   */
  public record Maat(
      @JsonProperty("load") MaatLoad load,
      @JsonProperty("deltaThousandths") int deltaThousandths,
      @JsonProperty("halfLifeMillis") int halfLifeMillis,
      @JsonProperty("filterBytes") int filterBytes,
      @JsonProperty("filterHashes") int filterHashes) {}

  /** TCP ports of which each names a backend: {@code first} plus its id. */
  public record MptcpPorts(@JsonProperty("first") int first, @JsonProperty("last") int last) {
    public boolean has(Port port) {
      return port.protocol().equals("tcp") && first <= port.port() && port.port() <= last;
    }

    public boolean overlaps(MptcpPorts other) {
      return first <= other.last && other.first <= last;
    }

    /** The backend that one of these ports names; {@code first} names none and gives 0. */
    public int id(int port) {
      return port - first;
    }

    /** The highest id that a port names. */
    public int idMax() {
      return last - first;
    }

    @Override
    public String toString() {
      return first + "-" + last;
    }
  }

  /** The configuration of a new service, with the defaults of everything that has one. */
  public static ServiceConfigBuilder builder(int id, String name) {
    return ServiceConfigBuilder.builder()
        .format(FORMAT)
        .id(id)
        .name(name)
        .vips(List.of())
        .ports(List.of())
        .steering(SteeringMethod.DEFAULT)
        .hash(Hash.SIPHASH)
        .hashKey("")
        .affinity(Affinity.CONNECTION)
        .encap(Encap.GUE)
        .assignment(AssignmentMethod.BEAMER);
  }

  /** Starts from this configuration. */
  public ServiceConfigBuilder toBuilder() {
    return ServiceConfigBuilder.builder(this);
  }

  /** With a hold that is set, so that the default does not count. */
  public ServiceConfig withHold(int seconds) {
    return toBuilder().holdSeconds(seconds).holdByDefault(false).build();
  }

  /**
   * None is set: one that there is goes on until agents decide. Where packets name few former
   * owners there is no default: lists would be full for a day.
   */
  public ServiceConfig withDefaultHold() {
    boolean hasDefault = hasDefaultHold();
    return toBuilder().holdSeconds(hasDefault ? holdSeconds : 0).holdByDefault(hasDefault).build();
  }

  /** As {@link #withDefaultHold()}, and whether there is a hold now. */
  public ServiceConfig withDefaultHold(boolean holds) {
    return withHold(holds ? HOLD_DEFAULT_SECONDS : 0).withDefaultHold();
  }

  /** Whether packets name as many former owners as a hold of a day takes. */
  public boolean hasDefaultHold() {
    return steering != SteeringMethod.OTHELLO && !hasTwoBuckets() && encap != Encap.IPIP;
  }
}
