// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.core.ring.Address;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a mux or probe says that its metrics are read (protocol/README.md §4). It counts only at an
 * address of the mux.
 *
 * @param scheme "http" or "https"
 * @param target HOST:PORT, IPv6 in brackets
 */
public record MetricsUrl(String scheme, String target) {
  public static final String PATH = "/metrics";

  private static final Logger LOG = LoggerFactory.getLogger(MetricsUrl.class);
  private static final Pattern URL =
      Pattern.compile(
          "(https?)://((?:[0-9A-Za-z._-]{1,255}|\\[[0-9a-f:.]{2,45}\\]):[0-9]{1,5})" + PATH);

  /** What is malformed counts as absent, and is logged as of {@code whose} node. */
  public static Optional<MetricsUrl> of(String whose, JsonNode node) {
    if (node == null || node.isMissingNode()) {
      return Optional.empty();
    }
    Matcher matcher = URL.matcher(node.isTextual() ? node.textValue() : "");
    if (!matcher.matches()) {
      LOG.warn(
          "the node of {}: metrics is {}; allowed: http or https://HOST:PORT/metrics; it is left"
              + " out",
          whose,
          node);
      return Optional.empty();
    }
    return Optional.of(new MetricsUrl(matcher.group(1), matcher.group(2)));
  }

  /**
   * Whether its host is one of {@code addresses}, and another machine can have that one. A name is
   * none.
   */
  public boolean isAt(List<String> addresses) {
    String host = target.substring(0, target.lastIndexOf(':')).replaceAll("[\\[\\]]", "");
    return Address.parse(host)
        .filter(address -> address.isUnicast() && !address.isLinkLocal())
        .filter(
            address ->
                addresses.stream()
                    .anyMatch(each -> Address.parse(each).equals(Optional.of(address))))
        .isPresent();
  }

  /** As in the node. */
  @JsonValue
  @Override
  public String toString() {
    return "%s://%s%s".formatted(scheme, target, PATH);
  }
}
