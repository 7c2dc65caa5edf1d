// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.muxes;

import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a mux or probe says that its metrics are read (protocol/README.md §4).
 *
 * @param scheme "http" or "https"
 * @param target HOST:PORT, IPv6 in brackets
 * @param path begins with a slash
 */
public record MetricsUrl(String scheme, String target, String path) {
  private static final Logger LOG = LoggerFactory.getLogger(MetricsUrl.class);
  private static final Pattern URL =
      Pattern.compile(
          "(https?)://((?:[0-9A-Za-z._-]{1,255}|\\[[0-9a-f:.]{2,45}\\]):[0-9]{1,5})(/[!-~]{0,255})");

  /** What is malformed counts as absent, and is logged as of {@code whose} node. */
  public static Optional<MetricsUrl> of(String whose, JsonNode node) {
    if (node == null || node.isMissingNode()) {
      return Optional.empty();
    }
    Matcher matcher = URL.matcher(node.isTextual() ? node.textValue() : "");
    if (!matcher.matches()) {
      LOG.warn(
          "the node of {}: metrics is {}; allowed: http or https://HOST:PORT/PATH; it is left out",
          whose,
          node);
      return Optional.empty();
    }
    return Optional.of(new MetricsUrl(matcher.group(1), matcher.group(2), matcher.group(3)));
  }

  /** As in the node. */
  @JsonValue
  @Override
  public String toString() {
    return "%s://%s%s".formatted(scheme, target, path);
  }
}
