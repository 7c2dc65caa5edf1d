// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.AddressRange;
import java.util.List;

/**
 * What holds for all services of a cluster.
 *
 * @param vipRanges from which VIPs may come, as text; none before the first service
 * @param neverVips addresses and ranges in them that are never a VIP, as text
 */
@JsonPropertyOrder({"format", "vipRanges", "neverVips"})
public record ClusterSettings(
    @JsonProperty(required = true) int format,
    @JsonProperty(required = true) List<String> vipRanges,
    @JsonProperty(required = true) List<String> neverVips) {
  public static final int FORMAT = 1;
  public static final ClusterSettings NONE = of(List.of(), List.of());

  public ClusterSettings {
    vipRanges = List.copyOf(vipRanges);
    neverVips = List.copyOf(neverVips);
    vipRanges.forEach(ClusterSettings::range);
    neverVips.forEach(ClusterSettings::range);
  }

  public static ClusterSettings of(List<String> vipRanges, List<String> neverVips) {
    return new ClusterSettings(FORMAT, vipRanges, neverVips);
  }

  private static AddressRange range(String text) {
    return AddressRange.parse(text)
        .orElseThrow(() -> new IllegalArgumentException("'%s' is no range".formatted(text)));
  }

  @JsonIgnore
  public boolean hasRanges() {
    return !vipRanges.isEmpty();
  }

  /** Whether the address is in a range of VIPs. */
  public boolean covers(Address vip) {
    return vipRanges.stream().anyMatch(text -> range(text).contains(vip));
  }

  /** Whether the address is never a VIP. */
  public boolean excludes(Address vip) {
    return neverVips.stream().anyMatch(text -> range(text).contains(vip));
  }
}
