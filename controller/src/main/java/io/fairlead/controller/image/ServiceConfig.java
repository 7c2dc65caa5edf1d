// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.image;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** A service's configuration, as it stands in its ZooKeeper node (protocol/README.md §4). */
@JsonPropertyOrder({
  "format",
  "id",
  "name",
  "vips",
  "ports",
  "steering",
  "buckets",
  "hash",
  "hashKey",
  "affinity",
  "encap",
  "windowSeconds",
  "mptcpPorts",
  "assignment",
  "quicServerId",
  "maxSegmentSize"
})
public record ServiceConfig(
    int format,
    int id,
    String name,
    List<String> vips,
    List<Port> ports,
    String steering,
    int buckets,
    Hash hash,
    String hashKey,
    Affinity affinity,
    String encap,
    int windowSeconds,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<MptcpPorts> mptcpPorts,
    Method assignment,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<QuicServerId> quicServerId,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Integer> maxSegmentSize) {
  public static final int FORMAT = 1;

  public ServiceConfig {
    vips = List.copyOf(vips);
    ports = List.copyOf(ports);
  }

  /** One whose buckets are shared out as by Beamer. */
  public ServiceConfig(
      int format,
      int id,
      String name,
      List<String> vips,
      List<Port> ports,
      String steering,
      int buckets,
      Hash hash,
      String hashKey,
      Affinity affinity,
      String encap,
      int windowSeconds,
      Optional<MptcpPorts> mptcpPorts) {
    this(
        format,
        id,
        name,
        vips,
        ports,
        steering,
        buckets,
        hash,
        hashKey,
        affinity,
        encap,
        windowSeconds,
        mptcpPorts,
        Method.BEAMER,
        Optional.empty(),
        Optional.empty());
  }

  public enum Hash {
    SIPHASH,
    CRC32;

    @JsonValue
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }

    @JsonCreator
    static Hash read(String text) {
      return parse(text).orElseThrow(() -> new IllegalArgumentException("hash '" + text + "'"));
    }

    public static Optional<Hash> parse(String text) {
      return Arrays.stream(values()).filter(value -> value.toString().equals(text)).findFirst();
    }
  }

  public enum Affinity {
    CONNECTION,
    CLIENT;

    @JsonValue
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }

    @JsonCreator
    static Affinity read(String text) {
      return parse(text).orElseThrow(() -> new IllegalArgumentException("affinity '" + text + "'"));
    }

    public static Optional<Affinity> parse(String text) {
      return Arrays.stream(values()).filter(value -> value.toString().equals(text)).findFirst();
    }
  }

  /** How buckets are shared out; the classes of package {@code assign}. */
  public enum Method {
    BEAMER,
    MAGLEV,
    CONSISTENT,
    RENDEZVOUS,
    MODULO;

    @JsonValue
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }

    @JsonCreator
    static Method read(String text) {
      return parse(text)
          .orElseThrow(() -> new IllegalArgumentException("assignment '" + text + "'"));
    }

    public static Optional<Method> parse(String text) {
      return Arrays.stream(values()).filter(value -> value.toString().equals(text)).findFirst();
    }
  }

  public record Port(@JsonProperty("protocol") String protocol, @JsonProperty("port") int port) {
    @Override
    public String toString() {
      return protocol + ":" + port;
    }
  }

  /** Where in a QUIC connection id the backend's id stands (protocol/README.md §7). */
  public record QuicServerId(
      @JsonProperty("offset") int offset, @JsonProperty("length") int length) {
    @Override
    public String toString() {
      return offset + ":" + length;
    }
  }

  /** TCP ports of which each names a backend: {@code first} plus its id. */
  public record MptcpPorts(@JsonProperty("first") int first, @JsonProperty("last") int last) {
    public boolean has(Port port) {
      return port.protocol().equals("tcp") && first <= port.port() && port.port() <= last;
    }

    public boolean overlaps(MptcpPorts other) {
      return first <= other.last && other.first <= last;
    }

    /** The backend that one of these ports names; 0, that of {@code first}, is nobody's id. */
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

  /**
   * The same service on other addresses or with another window; what decides on buckets cannot
   * change.
   */
  public ServiceConfig with(
      List<String> newVips,
      List<Port> newPorts,
      int newWindowSeconds,
      Optional<MptcpPorts> newMptcpPorts) {
    return new ServiceConfig(
        format,
        id,
        name,
        newVips,
        newPorts,
        steering,
        buckets,
        hash,
        hashKey,
        affinity,
        encap,
        newWindowSeconds,
        newMptcpPorts,
        assignment,
        quicServerId,
        maxSegmentSize);
  }

  /** The same service with its buckets shared out in another way. */
  public ServiceConfig with(Method newAssignment) {
    return new ServiceConfig(
        format,
        id,
        name,
        vips,
        ports,
        steering,
        buckets,
        hash,
        hashKey,
        affinity,
        encap,
        windowSeconds,
        mptcpPorts,
        newAssignment,
        quicServerId,
        maxSegmentSize);
  }

  /** The same service whose packets name backends, and ask for segments, in another way. */
  public ServiceConfig with(
      Optional<QuicServerId> newQuicServerId, Optional<Integer> newMaxSegmentSize) {
    return new ServiceConfig(
        format,
        id,
        name,
        vips,
        ports,
        steering,
        buckets,
        hash,
        hashKey,
        affinity,
        encap,
        windowSeconds,
        mptcpPorts,
        assignment,
        newQuicServerId,
        newMaxSegmentSize);
  }
}
