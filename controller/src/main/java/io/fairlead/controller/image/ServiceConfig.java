// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.image;

import com.fasterxml.jackson.annotation.JsonCreator;
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
  "windowSeconds"
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
    int windowSeconds) {
  public static final int FORMAT = 1;

  public ServiceConfig {
    vips = List.copyOf(vips);
    ports = List.copyOf(ports);
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

  public record Port(@JsonProperty("protocol") String protocol, @JsonProperty("port") int port) {
    @Override
    public String toString() {
      return protocol + ":" + port;
    }
  }

  /**
   * The same service on other addresses or with another window; what decides on buckets cannot
   * change.
   */
  public ServiceConfig with(List<String> newVips, List<Port> newPorts, int newWindowSeconds) {
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
        newWindowSeconds);
  }
}
