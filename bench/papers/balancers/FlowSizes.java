// SPDX-License-Identifier: Apache-2.0
package balancers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A distribution of flow sizes: bytes, and which part of all flows has at most so many. Linear
 * between points.
 */
record FlowSizes(String name, double[] bytes, double[] parts) {
  /** Payload of a full packet. */
  static final int PAYLOAD = 1460;

  FlowSizes {
    if (bytes.length < 2 || bytes.length != parts.length) {
      throw new IllegalArgumentException(name + ": needs two points or more");
    }
    if (parts[0] != 0 || parts[parts.length - 1] != 1) {
      throw new IllegalArgumentException(name + ": the parts must go from 0 to 1");
    }
    for (int i = 1; i < bytes.length; i++) {
      if (bytes[i] <= bytes[i - 1] || parts[i] <= parts[i - 1]) {
        throw new IllegalArgumentException(
            "%s: point %d is not above the one before".formatted(name, i));
      }
    }
  }

  /** All distributions of bench/papers/flow_sizes.json, by name. */
  static Map<String, FlowSizes> read(Path file) throws IOException {
    Map<String, FlowSizes> all = new LinkedHashMap<>();
    JsonNode document = new ObjectMapper().readTree(file.toFile());
    document
        .properties()
        .forEach(
            entry -> {
              JsonNode points = entry.getValue().get("points");
              double[] bytes = new double[points.size()];
              double[] parts = new double[points.size()];
              for (int i = 0; i < bytes.length; i++) {
                bytes[i] = points.get(i).get(0).asDouble();
                parts[i] = points.get(i).get(1).asDouble();
              }
              all.put(entry.getKey(), new FlowSizes(entry.getKey(), bytes, parts));
            });
    return all;
  }

  /** Bytes of the flow at this part of all flows (0 to 1), sorted by size. */
  double at(double part) {
    int i = 1;
    while (parts[i] < part) {
      i++;
    }
    double share = (part - parts[i - 1]) / (parts[i] - parts[i - 1]);
    return bytes[i - 1] + share * (bytes[i] - bytes[i - 1]);
  }

  /** Packets with data, at least one. */
  int packets(double part) {
    return (int) Math.max(1, Math.ceil(at(part) / PAYLOAD));
  }

  /** Which part of all flows has more bytes. */
  double above(double size) {
    int i = 1;
    while (bytes[i] < size) {
      i++;
    }
    double share = (size - bytes[i - 1]) / (bytes[i] - bytes[i - 1]);
    return 1 - parts[i - 1] - share * (parts[i] - parts[i - 1]);
  }

  double mean() {
    double sum = 0;
    for (int i = 1; i < bytes.length; i++) {
      sum += (parts[i] - parts[i - 1]) * (bytes[i] + bytes[i - 1]) / 2;
    }
    return sum;
  }
}
