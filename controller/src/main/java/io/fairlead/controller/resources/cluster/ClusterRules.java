// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.cluster;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.AddressRange;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.List;
import java.util.Optional;

/** Which settings a cluster may have, and which VIPs these allow. */
public final class ClusterRules {
  public static final String SET_RANGES =
      "ranges from which VIPs come, first: 'fairleadctl cluster set --vip-range', PUT /v1/cluster,"
          + " or vipRanges with the first service";

  private static final int ENTRIES_MAX = 64;
  private static final int IPV4_LENGTH_MIN = 8;
  private static final int IPV6_LENGTH_MIN = 16;

  private ClusterRules() {}

  /** The settings that a request asks for. */
  public static ClusterSettings asked(ClusterSpec spec) {
    return ClusterSettings.of(
        ranges(spec.vipRanges().orElse(List.of())), never(spec.neverVips().orElse(List.of())));
  }

  /**
   * Those of a cluster once a service was created with {@code given} ranges: the first ones, or
   * those that it has already.
   */
  public static ClusterSettings with(ClusterSettings present, Optional<List<String>> given) {
    if (given.isEmpty()) {
      return present;
    }
    List<String> ranges = ranges(given.get());
    if (!present.hasRanges()) {
      return ClusterSettings.of(ranges, present.neverVips());
    }
    if (!present.vipRanges().containsAll(ranges)) {
      throw Refusal.conflict(
          "vipRanges",
          String.join(", ", ranges),
          "none, or of those that the cluster has: %s; PUT /v1/cluster changes them"
              .formatted(String.join(", ", present.vipRanges())));
    }
    return present;
  }

  /** Checks that the cluster's settings allow the VIP. */
  public static void checkVip(ClusterSettings settings, Address vip) {
    if (!settings.hasRanges()) {
      throw Refusal.conflict("vips", vip, SET_RANGES);
    }
    if (!settings.covers(vip)) {
      throw Refusal.conflict(
          "vips",
          vip,
          "an address in the cluster's vipRanges, which are %s"
              .formatted(String.join(", ", settings.vipRanges())));
    }
    if (settings.excludes(vip)) {
      throw Refusal.conflict(
          "vips",
          vip,
          "an address outside the cluster's neverVips, which are %s"
              .formatted(String.join(", ", settings.neverVips())));
    }
  }

  private static List<String> ranges(List<String> texts) {
    checkSize("vipRanges", texts);
    if (texts.isEmpty()) {
      throw Refusal.invalid("vipRanges", "no range", "1..%d ranges".formatted(ENTRIES_MAX));
    }
    return texts.stream().map(ClusterRules::range).distinct().toList();
  }

  private static List<String> never(List<String> texts) {
    checkSize("neverVips", texts);
    return texts.stream()
        .map(
            text ->
                AddressRange.parse(text)
                    .map(AddressRange::toString)
                    .orElseThrow(
                        () ->
                            Refusal.invalid(
                                "neverVips",
                                text,
                                "addresses, or ranges whose bits behind the length are 0, such as"
                                    + " 10.99.0.1 and 10.99.7.0/24")))
        .distinct()
        .toList();
  }

  private static String range(String text) {
    return AddressRange.parse(text)
        .filter(range -> range.base().isUnicast())
        .filter(
            range -> range.length() >= (range.base().isIpv4() ? IPV4_LENGTH_MIN : IPV6_LENGTH_MIN))
        .map(AddressRange::toString)
        .orElseThrow(
            () ->
                Refusal.invalid(
                    "vipRanges",
                    text,
                    "ranges of unicast addresses, of /%d or longer in IPv4, /%d in IPv6, whose bits"
                            .formatted(IPV4_LENGTH_MIN, IPV6_LENGTH_MIN)
                        + " behind the length are 0, such as 10.99.0.0/16 and 2001:db8:99::/64"));
  }

  private static void checkSize(String field, List<String> texts) {
    if (texts.size() > ENTRIES_MAX) {
      throw Refusal.invalid(
          field, texts.size() + " ranges", "at most %d ranges".formatted(ENTRIES_MAX));
    }
  }
}
