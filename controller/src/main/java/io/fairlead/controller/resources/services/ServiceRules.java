// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Maintenance;
import io.fairlead.controller.core.image.ServiceConfig.MptcpPorts;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.core.image.ServiceConfig.QuicServerId;
import io.fairlead.controller.core.image.ServiceConfigBuilder;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.steering.Steering;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.words.Affinity;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.core.words.Encap;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.core.words.Word;
import io.fairlead.controller.resources.backends.AddressRules;
import io.fairlead.controller.resources.backends.SlowStartRules;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.stages.StageRules;
import io.fairlead.controller.secret.RandomHex;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;

/**
 * The configuration that a {@link ServiceSpec} makes of a new service or of one that exists. Each
 * refusal names the field, its value and what is allowed.
 */
public final class ServiceRules {
  private static final Pattern NAME = Pattern.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?");
  private static final Pattern HASH_KEY = Pattern.compile("[0-9a-f]{32}");
  private static final Pattern MAX_DRAINING = Pattern.compile("[1-9][0-9]{0,3}|[1-9][0-9]?%|100%");
  private static final int ENTRIES_MAX = 64;
  private static final int DEFAULT_WINDOW_SECONDS = 240;
  private static final int WINDOW_MAX = 86_400;
  private static final int HOLD_MAX = 604_800;
  private static final int SEGMENT_MIN = 536;

  /** Of a mux, a second. */
  private static final int PACKETS_MAX = 1_000_000_000;

  private static final long BYTES_MAX = 1_000_000_000_000L;
  private static final MptcpPorts NO_PORTS = new MptcpPorts(0, 0);
  private static final QuicServerId NO_PLACE = new QuicServerId(0, 0);
  private static final int BUCKETS_PER_BACKEND = 100;
  private static final int DEFAULT_BACKENDS = 100;
  private static final int HASH_KEY_BYTES = 16;

  private ServiceRules() {}

  /**
   * A new service; absent fields get their defaults, and an absent hash key is drawn from {@code
   * random}.
   */
  public static ServiceConfig created(ServiceSpec spec, int id, RandomGenerator random) {
    String name = spec.name().orElse(null);
    if (name == null || !NAME.matcher(name).matches()) {
      throw Refusal.invalid(
          "name", name, "1 to 63 of a-z, 0-9 and '-', not at the beginning or end");
    }
    ServiceConfigBuilder base =
        ServiceConfig.builder(id, name)
            .buckets(buckets(spec))
            .hashKey(
                spec.hashKey()
                    .map(ServiceRules::hashKey)
                    .orElseGet(() -> RandomHex.draw(HASH_KEY_BYTES, random)));
    spec.hash().ifPresent(word -> base.hash(word("hash", word, Hash.class)));
    spec.affinity().ifPresent(word -> base.affinity(word("affinity", word, Affinity.class)));
    spec.steering().ifPresent(word -> base.steering(steering(word)));
    spec.encap().ifPresent(word -> base.encap(word("encap", word, Encap.class)));
    return whole(base, spec);
  }

  /**
   * A whole specification of a service that exists. What decides which bucket a connection is in,
   * the encapsulation and the assignment stay where absent; other values of the first two are
   * refused. All other absent fields get their defaults.
   */
  public static ServiceConfig replaced(ServiceConfig config, ServiceSpec spec) {
    if (spec.buckets().isPresent() || spec.maxBackends().isPresent()) {
      checkFixed("buckets", buckets(spec), config.buckets());
    }
    spec.hash()
        .ifPresent(word -> checkFixed("hash", word("hash", word, Hash.class), config.hash()));
    spec.affinity()
        .ifPresent(
            word ->
                checkFixed("affinity", word("affinity", word, Affinity.class), config.affinity()));
    spec.steering().ifPresent(word -> checkFixed("steering", steering(word), config.steering()));
    spec.encap()
        .map(word -> word("encap", word, Encap.class))
        .filter(asked -> asked != config.encap())
        .ifPresent(
            asked -> {
              throw Refusal.conflict(
                  "encap",
                  asked,
                  "%s, as the service was created: servers are set up for it"
                      .formatted(config.encap()));
            });
    spec.hashKey()
        .map(ServiceRules::hashKey)
        .filter(key -> !key.equals(config.hashKey()))
        .ifPresent(
            key -> {
              throw fixed("hashKey", "another key", "the key that the service has");
            });
    return whole(
        ServiceConfig.builder(config.id(), config.name())
            .buckets(config.buckets())
            .hash(config.hash())
            .hashKey(config.hashKey())
            .affinity(config.affinity())
            .steering(config.steering())
            .encap(config.encap())
            .assignment(config.assignment())
            .holdSeconds(config.holdSeconds())
            .holdByDefault(config.holdByDefault()),
        spec);
  }

  /**
   * @param base what absent fields mean
   */
  private static ServiceConfig whole(ServiceConfigBuilder base, ServiceSpec spec) {
    return with(base.windowSeconds(DEFAULT_WINDOW_SECONDS).build(), spec, Optional.empty());
  }

  /** A change of a service that exists; absent fields stay. */
  public static ServiceConfig changed(ServiceConfig config, ServiceSpec change) {
    return with(config, change, Optional.of(config));
  }

  /**
   * @param base what absent fields mean
   * @param before the service that changes; empty: VIPs and ports may not be absent
   */
  private static ServiceConfig with(
      ServiceConfig base, ServiceSpec spec, Optional<ServiceConfig> before) {
    boolean isChange = before.isPresent();
    List<Port> ports =
        isChange && spec.ports().isEmpty() ? base.ports() : ports(spec.ports().orElse(null));
    ServiceConfig config =
        base.toBuilder()
            .vips(isChange && spec.vips().isEmpty() ? base.vips() : vips(spec.vips().orElse(null)))
            .ports(ports)
            .windowSeconds(
                spec.windowSeconds().map(ServiceRules::window).orElse(base.windowSeconds()))
            .mptcpPorts(
                setting(spec.mptcpPorts(), base.mptcpPorts(), isChange, NO_PORTS)
                    .map(range -> checked(range, ports)))
            .assignment(spec.assignment().map(ServiceRules::assignment).orElse(base.assignment()))
            .quicServerId(
                setting(spec.quicServerId(), base.quicServerId(), isChange, NO_PLACE)
                    .map(ServiceRules::checked))
            .maxSegmentSize(segment(spec.maxSegmentSize(), base.maxSegmentSize(), isChange))
            .statelessUdp(spec.statelessUdp().orElse(base.statelessUdp()))
            .packetsPerSecond(
                (int)
                    budget(
                        "packetsPerSecond",
                        spec.packetsPerSecond().orElse(base.packetsPerSecond()),
                        PACKETS_MAX))
            .bytesPerSecond(
                budget(
                    "bytesPerSecond",
                    spec.bytesPerSecond().orElse(base.bytesPerSecond()),
                    BYTES_MAX))
            .slowStartSeconds(
                SlowStartRules.seconds(spec.slowStartSeconds().orElse(base.slowStartSeconds())))
            .maintenance(spec.maintenance().map(ServiceRules::checked).or(base::maintenance))
            .build();
    return checked(spec, before, withHold(config, spec, !isChange));
  }

  /**
   * What is asked for, or else what there is.
   *
   * @param none what takes it away in a change
   */
  private static <T> Optional<T> setting(
      Optional<T> asked, Optional<T> present, boolean isChange, T none) {
    return asked.or(() -> present).filter(some -> !isChange || !some.equals(none));
  }

  private static void checkFixed(String field, Object asked, Object present) {
    if (!asked.equals(present)) {
      throw fixed(field, asked, present);
    }
  }

  private static Refusal fixed(String field, Object asked, Object present) {
    return Refusal.conflict(
        field,
        asked,
        ("%s: it decides which bucket a live connection is in; to change it, create a service of"
                + " another name and VIP beside this one, move the clients, delete this one")
            .formatted(present));
  }

  private static ServiceConfig checked(
      ServiceSpec asked, Optional<ServiceConfig> before, ServiceConfig settings) {
    checkSteering(settings);
    ServiceConfig config =
        OthelloRules.with(settings, asked.othello(), before.flatMap(ServiceConfig::othello));
    config = HuntRules.with(config, asked.hunt(), before.flatMap(ServiceConfig::hunt));
    config = MaatRules.with(config, asked.maat(), before.flatMap(ServiceConfig::maat));
    config =
        HealthRules.with(config, asked.healthCheck(), before.flatMap(ServiceConfig::healthCheck));
    config = StageSettingsRules.with(config, asked.stageSettings());
    SlowStartRules.checkAssignment(config, config.slowStartSeconds());
    StageRules.checkAssignment(config);
    return checkEncap(config);
  }

  private static QuicServerId checked(QuicServerId at) {
    if (at.offset() < 0 || at.offset() > 19 || at.length() < 1 || at.length() > 2) {
      throw Refusal.invalid("quicServerId", at, "offset 0..19 and length 1..2");
    }
    return at;
  }

  private static MptcpPorts checked(MptcpPorts range, List<Port> own) {
    if (range.first() < 1 || range.last() > 65535 || range.first() >= range.last()) {
      throw Refusal.invalid("mptcpPorts", range, "1..65534 - a higher port, at most 65535");
    }
    for (Port port : own) {
      if (range.has(port)) {
        throw Refusal.invalid(
            "mptcpPorts", range, "a range without the service's own port " + port);
      }
    }
    return range;
  }

  private static Maintenance checked(Maintenance maintenance) {
    String most = maintenance.maxDraining();
    if (most == null || !MAX_DRAINING.matcher(most).matches()) {
      throw Refusal.invalid(
          "maintenance.maxDraining", most, "a number 1..9999 or a percentage 1%..100%, as text");
    }
    return maintenance;
  }

  private static Optional<Integer> segment(
      Optional<Integer> asked, Optional<Integer> present, boolean isChange) {
    return setting(asked, present, isChange, 0)
        .map(size -> inRange("maxSegmentSize", size, SEGMENT_MIN, 65535));
  }

  private static long budget(String field, long asked, long most) {
    if (asked < 0 || asked > most) {
      throw Refusal.invalid(field, asked, "1..%d, or 0 for no limit".formatted(most));
    }
    return asked;
  }

  private static SteeringMethod steering(String word) {
    return word("steering", word, SteeringMethod.class);
  }

  private static AssignmentMethod assignment(String word) {
    return word("assignment", word, AssignmentMethod.class);
  }

  private static List<String> vips(List<String> literals) {
    checkSize("vips", literals, "addresses");
    List<String> vips =
        literals.stream().map(text -> AddressRules.address("vips", text).toString()).toList();
    checkUnique("vips", vips);
    return vips;
  }

  private static List<Port> ports(List<Port> ports) {
    checkSize("ports", ports, "ports");
    for (Port port : ports) {
      if (!"tcp".equals(port.protocol()) && !"udp".equals(port.protocol())) {
        throw Refusal.invalid("ports.protocol", port.protocol(), "tcp, udp");
      }
      if (port.port() < 1 || port.port() > 65535) {
        throw Refusal.invalid("ports.port", port.port(), "1..65535");
      }
    }
    checkUnique("ports", ports);
    return ports;
  }

  /** Checks that the service's encapsulation carries all of its packets. */
  private static ServiceConfig checkEncap(ServiceConfig config) {
    for (String vip : config.vips()) {
      AddressRules.checkCarried(config, "vips", Address.parse(vip).orElseThrow());
    }
    if (!config.encap().carriesNamed()
        && (config.mptcpPorts().isPresent() || config.quicServerId().isPresent())) {
      throw Refusal.invalid(
          "encap",
          config.encap(),
          Encap.wordsThatCarryNamed() + ", as the service has mptcpPorts or quicServerId");
    }
    return config;
  }

  /** The constant that a field's word names. */
  static <E extends Enum<E> & Word> E word(String field, String asked, Class<E> type) {
    return Word.parse(type, asked)
        .orElseThrow(() -> Refusal.invalid(field, asked, Word.allowed(type)));
  }

  /**
   * Whether a service has settings of a steering method.
   *
   * @param asked refused with another method
   */
  static boolean has(ServiceConfig config, SteeringMethod method, String what, Optional<?> asked) {
    if (config.steering() != method && asked.isPresent()) {
      throw Refusal.invalid(
          method.word(),
          what,
          "no %s, as steering is %s".formatted(method.word(), config.steering()));
    }
    return config.steering() == method;
  }

  static int inRange(String field, int value, int least, int most) {
    if (value < least || value > most) {
      throw Refusal.invalid(field, value, "%d..%d".formatted(least, most));
    }
    return value;
  }

  /** Whether the service's steering method takes the rest of its configuration. */
  private static void checkSteering(ServiceConfig config) {
    for (Steering.Violation each : config.steering().steering().check(config)) {
      throw Refusal.invalid(each.field(), each.value(), each.allowed());
    }
  }

  /** Checks that the ports of {@code config} can name every backend of a pool. */
  public static void checkNamesAll(ServiceConfig config, SortedMap<Integer, ?> pool) {
    config
        .mptcpPorts()
        .filter(range -> !pool.isEmpty() && pool.lastKey() > range.idMax())
        .ifPresent(
            range -> {
              throw Refusal.invalid(
                  "mptcpPorts",
                  range,
                  "%d-%d or more, as the service has a backend with the id %d"
                      .formatted(range.first(), range.first() + pool.lastKey(), pool.lastKey()));
            });
  }

  /**
   * A longer window must not open again for a bucket whose window has closed: the id and address of
   * a former owner may belong to another backend by now.
   */
  public static void checkWindow(ServiceImage image, int wanted, Instant clock) {
    Ring ring = image.ring();
    long now = image.nextCommit(clock).getEpochSecond();
    int window = image.config().windowSeconds();
    int chained = image.config().chainedSeconds();
    long latest = -WINDOW_MAX;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      History history = ring.history(bucket);
      int open = history.open(now, chained);
      latest = open < history.size() ? Math.max(latest, history.since(open)) : latest;
    }
    if (wanted > window && latest + wanted > now) {
      throw Refusal.conflict(
          "windowSeconds",
          wanted,
          "at most %d now, or %d in %d s: longer reopens the windows of buckets that have moved"
              .formatted(now - latest, wanted, latest + wanted - now));
    }
  }

  private static void checkSize(String field, List<?> list, String what) {
    if (list == null || list.isEmpty() || list.size() > ENTRIES_MAX) {
      throw Refusal.invalid(
          field,
          list == null ? null : list.size() + " " + what,
          "1..%d %s".formatted(ENTRIES_MAX, what));
    }
  }

  private static void checkUnique(String field, List<?> list) {
    Set<Object> seen = new HashSet<>();
    for (Object each : list) {
      if (!seen.add(each)) {
        throw Refusal.invalid(field, each, "each once");
      }
    }
  }

  private static int buckets(ServiceSpec spec) {
    if (spec.maxBackends().isPresent() && spec.buckets().isPresent()) {
      throw Refusal.invalid("buckets", spec.buckets().get(), "either maxBackends or buckets");
    }
    if (spec.buckets().isPresent()) {
      int buckets = spec.buckets().get();
      if (!Ring.isBuckets(buckets)) {
        throw Refusal.invalid("buckets", buckets, "a power of two in 256..8388608");
      }
      return buckets;
    }
    int backends = spec.maxBackends().orElse(DEFAULT_BACKENDS);
    if (backends < 1 || backends > Backend.MAX) {
      throw Refusal.invalid("maxBackends", backends, "1..65535");
    }
    int wanted = Math.max(Ring.BUCKETS_MIN, backends * BUCKETS_PER_BACKEND);
    int power = Integer.highestOneBit(wanted);
    return power == wanted ? power : power << 1;
  }

  private static String hashKey(String text) {
    String key = text.toLowerCase(Locale.ROOT);
    if (!HASH_KEY.matcher(key).matches()) {
      throw Refusal.invalid("hashKey", text, "32 hex digits");
    }
    return key;
  }

  private static int window(int seconds) {
    return inRange("windowSeconds", seconds, 1, WINDOW_MAX);
  }

  /** With the hold that is asked for, or, if so, with none set. */
  private static ServiceConfig withHold(ServiceConfig config, ServiceSpec spec, boolean isDefault) {
    if (spec.holdSeconds().isPresent() && spec.holdByDefault().isPresent()) {
      throw Refusal.invalid("holdByDefault", true, "without holdSeconds, or left out");
    }
    if (spec.holdByDefault().isPresent() && !config.hasDefaultHold()) {
      throw Refusal.invalid("holdByDefault", true, "with steering ring, and encap gue or srv6");
    }
    if (spec.holdSeconds().isPresent()) {
      return config.withHold(inRange("holdSeconds", spec.holdSeconds().get(), 0, HOLD_MAX));
    }
    return spec.holdByDefault().orElse(isDefault) ? config.withDefaultHold() : config;
  }
}
