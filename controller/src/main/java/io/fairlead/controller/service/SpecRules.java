// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.ring.Address;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.services.MptcpPorts;
import io.fairlead.controller.services.Port;
import io.fairlead.controller.services.QuicServerId;
import io.fairlead.controller.services.ServiceChange;
import io.fairlead.controller.services.ServiceSpec;
import io.fairlead.controller.steering.Steering;
import io.fairlead.controller.word.Affinity;
import io.fairlead.controller.word.AssignmentMethod;
import io.fairlead.controller.word.Encap;
import io.fairlead.controller.word.Hash;
import io.fairlead.controller.word.Word;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;

/**
 * What a service's specification may say; each refusal names the field, its value and what is
 * allowed.
 */
final class SpecRules {
  private static final Pattern NAME = Pattern.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?");
  private static final Pattern HASH_KEY = Pattern.compile("[0-9a-f]{32}");
  private static final int ENTRIES_MAX = 64;
  private static final int WINDOW_MAX = 86_400;
  private static final int SEGMENT_MIN = 536;
  private static final int BUCKETS_PER_BACKEND = 100;
  private static final int DEFAULT_BACKENDS = 100;
  private static final int HASH_KEY_BYTES = 16;

  private SpecRules() {}

  /**
   * The configuration that {@code spec} asks for; a hash key is drawn from {@code random} if it has
   * none.
   */
  static ServiceConfig config(ServiceSpec spec, int id, RandomGenerator random) {
    if (spec.name() == null || !NAME.matcher(spec.name()).matches()) {
      throw invalid(
          "name", spec.name(), "1 to 63 of a-z, 0-9 and '-', not at the beginning or end");
    }
    List<ServiceConfig.Port> ports = ports(spec.ports());
    ServiceConfig config =
        ServiceConfig.builder(id, spec.name())
            .vips(vips(spec.vips()))
            .ports(ports)
            .buckets(buckets(spec))
            .hash(word("hash", spec.hash(), Hash.class), hashKey(spec, random))
            .affinity(word("affinity", spec.affinity(), Affinity.class))
            .encap(word("encap", spec.wire().encap(), Encap.class))
            .windowSeconds(window(spec.windowSeconds()))
            .mptcpPorts(mptcpPorts(spec.mptcpPorts(), ports))
            .assignment(assignment(spec.assignment()))
            .quicServerId(quicServerId(spec.wire().quicServerId()))
            .maxSegmentSize(maxSegmentSize(spec.wire().maxSegmentSize()))
            .build();
    checkSteering(config);
    return checkEncap(config);
  }

  /**
   * The configuration that a whole specification makes of an existing one. What decides on buckets
   * must be as it is; a hash key that is not given stays.
   */
  static ServiceConfig replaced(ServiceConfig config, ServiceSpec spec, RandomGenerator random) {
    ServiceConfig asked = config(spec, config.id(), random);
    checkFixed("buckets", asked.buckets(), config.buckets());
    checkFixed("hash", asked.hash(), config.hash());
    checkFixed("affinity", asked.affinity(), config.affinity());
    if (asked.encap() != config.encap()) {
      throw new Refusal(
          Refusal.Kind.CONFLICT,
          "encap",
          asked.encap().word(),
          "%s, as the service was created: servers are set up for it".formatted(config.encap()));
    }
    if (spec.hashKey().isPresent() && !asked.hashKey().equals(config.hashKey())) {
      throw fixed("hashKey", "another key", "the key that the service has");
    }
    return config.toBuilder()
        .vips(asked.vips())
        .ports(asked.ports())
        .windowSeconds(asked.windowSeconds())
        .mptcpPorts(asked.mptcpPorts())
        .assignment(asked.assignment())
        .quicServerId(asked.quicServerId())
        .maxSegmentSize(asked.maxSegmentSize())
        .build();
  }

  private static void checkFixed(String field, Object asked, Object present) {
    if (!asked.equals(present)) {
      throw fixed(field, asked, present);
    }
  }

  private static Refusal fixed(String field, Object asked, Object present) {
    return new Refusal(
        Refusal.Kind.CONFLICT,
        field,
        String.valueOf(asked),
        "%s: it decides which bucket a live connection is in; to change it, create a service of another name and VIP beside this one, move the clients, delete this one"
            .formatted(present));
  }

  static ServiceConfig changed(ServiceConfig config, ServiceChange change) {
    List<ServiceConfig.Port> ports = change.ports().map(SpecRules::ports).orElse(config.ports());
    Optional<MptcpPorts> asked =
        change
            .mptcpPorts()
            .or(() -> config.mptcpPorts().map(old -> new MptcpPorts(old.first(), old.last())));
    return checkEncap(
        config.toBuilder()
            .vips(change.vips().map(SpecRules::vips).orElse(config.vips()))
            .ports(ports)
            .windowSeconds(
                change.windowSeconds().map(SpecRules::window).orElse(config.windowSeconds()))
            .mptcpPorts(
                mptcpPorts(asked.filter(range -> range.first() != 0 || range.last() != 0), ports))
            .assignment(change.assignment().map(SpecRules::assignment).orElse(config.assignment()))
            .quicServerId(
                change
                    .quicServerId()
                    .map(at -> quicServerId(Optional.of(at).filter(SpecRules::isPlace)))
                    .orElse(config.quicServerId()))
            .maxSegmentSize(
                change
                    .maxSegmentSize()
                    .map(size -> maxSegmentSize(Optional.of(size).filter(some -> some != 0)))
                    .orElse(config.maxSegmentSize()))
            .build());
  }

  /** Offset 0 and length 0 are no place: they take it away. */
  private static boolean isPlace(QuicServerId at) {
    return at.offset() != 0 || at.length() != 0;
  }

  /** The constant that a field's word names. */
  private static <E extends Enum<E> & Word> E word(String field, String asked, Class<E> type) {
    return Word.parse(type, asked).orElseThrow(() -> invalid(field, asked, Word.allowed(type)));
  }

  /** Whether the service's steering method takes the rest of its configuration. */
  private static void checkSteering(ServiceConfig config) {
    for (Steering.Violation each : config.steering().steering().check(config)) {
      throw invalid(each.field(), each.value(), each.allowed());
    }
  }

  private static Optional<ServiceConfig.QuicServerId> quicServerId(Optional<QuicServerId> asked) {
    asked
        .filter(at -> at.offset() < 0 || at.offset() > 19 || at.length() < 1 || at.length() > 2)
        .ifPresent(
            at -> {
              throw invalid("quicServerId", at, "offset 0..19 and length 1..2");
            });
    return asked.map(at -> new ServiceConfig.QuicServerId(at.offset(), at.length()));
  }

  private static Optional<Integer> maxSegmentSize(Optional<Integer> asked) {
    asked
        .filter(size -> size < SEGMENT_MIN || size > 65535)
        .ifPresent(
            size -> {
              throw invalid("maxSegmentSize", size, "536..65535");
            });
    return asked;
  }

  /** The paper's encapsulation knows IPv4 alone, and no packet that names its backend. */
  private static ServiceConfig checkEncap(ServiceConfig config) {
    if (config.encap() == Encap.IPIP) {
      for (String vip : config.vips()) {
        checkReached(config, "vips", Address.parse(vip).orElseThrow());
      }
      if (config.mptcpPorts().isPresent() || config.quicServerId().isPresent()) {
        throw invalid("encap", Encap.IPIP, "gue, as the service has mptcpPorts or quicServerId");
      }
    }
    return config;
  }

  /** Whether packets in the service's encapsulation have room for the address. */
  static void checkReached(ServiceConfig config, String field, Address address) {
    if (config.encap() == Encap.IPIP && !address.isIpv4()) {
      throw invalid(field, address, "an IPv4 address, as the service's encap is ipip");
    }
  }

  private static AssignmentMethod assignment(String text) {
    return word("assignment", text, AssignmentMethod.class);
  }

  private static Optional<ServiceConfig.MptcpPorts> mptcpPorts(
      Optional<MptcpPorts> asked, List<ServiceConfig.Port> own) {
    if (asked.isEmpty()) {
      return Optional.empty();
    }
    ServiceConfig.MptcpPorts range =
        new ServiceConfig.MptcpPorts(asked.get().first(), asked.get().last());
    if (range.first() < 1 || range.last() > 65535 || range.first() >= range.last()) {
      throw invalid("mptcpPorts", range, "1..65534 - a higher port, at most 65535");
    }
    for (ServiceConfig.Port port : own) {
      if (range.has(port)) {
        throw invalid("mptcpPorts", range, "a range without the service's own port " + port);
      }
    }
    return Optional.of(range);
  }

  /** Whether a port of {@code config} can name the backend; without such ports any id will do. */
  static void checkNamed(ServiceConfig config, int id) {
    config
        .mptcpPorts()
        .filter(range -> id > range.idMax())
        .ifPresent(
            range -> {
              throw invalid(
                  "id",
                  id,
                  "1..%d, as the service's mptcpPorts are %s and a backend's port is %d + its id"
                      .formatted(range.idMax(), range, range.first()));
            });
  }

  /** Whether the ports of {@code config} can name every backend of a pool. */
  static void checkNamesAll(ServiceConfig config, SortedMap<Integer, ?> pool) {
    config
        .mptcpPorts()
        .filter(range -> !pool.isEmpty() && pool.lastKey() > range.idMax())
        .ifPresent(
            range -> {
              throw invalid(
                  "mptcpPorts",
                  range,
                  "%d-%d or more, as the service has a backend with the id %d"
                      .formatted(range.first(), range.first() + pool.lastKey(), pool.lastKey()));
            });
  }

  /**
   * A longer window must not open again for a bucket whose window has closed: the id and address of
   * its previous owner may have gone to somebody else since.
   *
   * @param seconds Unix seconds by the clock
   */
  static void checkWindow(ServiceImage image, int wanted, long seconds) {
    Ring ring = image.ring();
    long now = Math.max(seconds, ring.committed());
    int window = image.config().windowSeconds();
    long latest = -WINDOW_MAX;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.previous(bucket) != Backend.NONE && !ring.isMoved(bucket, now, window)) {
        latest = Math.max(latest, ring.since(bucket));
      }
    }
    if (wanted > window && latest + wanted > now) {
      throw new Refusal(
          Refusal.Kind.CONFLICT,
          "windowSeconds",
          Integer.toString(wanted),
          "at most %d now, or %d in %d s: longer reopens the windows of buckets that have moved"
              .formatted(now - latest, wanted, latest + wanted - now));
    }
  }

  /** A unicast address in its canonical form. */
  static Address address(String field, String literal) {
    String allowed = "an IPv4 or IPv6 address of one host, such as 10.1.0.27 or 2001:db8::27";
    if (literal == null) {
      throw invalid(field, literal, allowed);
    }
    return Address.parse(literal)
        .filter(Address::isUnicast)
        .orElseThrow(() -> invalid(field, literal, allowed));
  }

  static Refusal invalid(String field, Object value, String allowed) {
    return new Refusal(Refusal.Kind.INVALID, field, String.valueOf(value), allowed);
  }

  private static List<String> vips(List<String> literals) {
    checkSize("vips", literals, "addresses");
    List<String> vips =
        literals.stream().map(literal -> address("vips", literal).toString()).toList();
    checkUnique("vips", vips);
    return vips;
  }

  private static List<ServiceConfig.Port> ports(List<Port> asked) {
    checkSize("ports", asked, "ports");
    List<ServiceConfig.Port> ports =
        asked.stream()
            .map(
                port -> {
                  if (!"tcp".equals(port.protocol()) && !"udp".equals(port.protocol())) {
                    throw invalid("ports.protocol", port.protocol(), "tcp, udp");
                  }
                  if (port.port() < 1 || port.port() > 65535) {
                    throw invalid("ports.port", port.port(), "1..65535");
                  }
                  return new ServiceConfig.Port(port.protocol(), port.port());
                })
            .toList();
    checkUnique("ports", ports);
    return ports;
  }

  private static void checkSize(String field, List<?> list, String what) {
    if (list == null || list.isEmpty() || list.size() > ENTRIES_MAX) {
      throw invalid(
          field,
          list == null ? null : list.size() + " " + what,
          "1..%d %s".formatted(ENTRIES_MAX, what));
    }
  }

  private static void checkUnique(String field, List<?> list) {
    Set<Object> seen = new HashSet<>();
    for (Object each : list) {
      if (!seen.add(each)) {
        throw invalid(field, each, "each once");
      }
    }
  }

  private static int buckets(ServiceSpec spec) {
    if (spec.maxBackends().isPresent() && spec.buckets().isPresent()) {
      throw invalid("buckets", spec.buckets().get(), "either maxBackends or buckets");
    }
    if (spec.buckets().isPresent()) {
      int buckets = spec.buckets().get();
      if (!Ring.isBuckets(buckets)) {
        throw invalid("buckets", buckets, "a power of two in 256..8388608");
      }
      return buckets;
    }
    int backends = spec.maxBackends().orElse(DEFAULT_BACKENDS);
    if (backends < 1 || backends > Backend.MAX) {
      throw invalid("maxBackends", backends, "1..65535");
    }
    int wanted = Math.max(Ring.BUCKETS_MIN, backends * BUCKETS_PER_BACKEND);
    int power = Integer.highestOneBit(wanted);
    return power == wanted ? power : power << 1;
  }

  private static String hashKey(ServiceSpec spec, RandomGenerator random) {
    if (spec.hashKey().isEmpty()) {
      byte[] key = new byte[HASH_KEY_BYTES];
      random.nextBytes(key);
      return HexFormat.of().formatHex(key);
    }
    String key = spec.hashKey().get().toLowerCase(Locale.ROOT);
    if (!HASH_KEY.matcher(key).matches()) {
      throw invalid("hashKey", spec.hashKey().get(), "32 hex digits");
    }
    return key;
  }

  private static int window(int seconds) {
    if (seconds < 1 || seconds > WINDOW_MAX) {
      throw invalid("windowSeconds", seconds, "1..86400");
    }
    return seconds;
  }
}
