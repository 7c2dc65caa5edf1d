// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Transitions.SlowStart;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.Unreachable;
import java.util.List;
import java.util.Optional;

/**
 * @param weight the operator's
 * @param state "active" (weight > 0), "draining" (weight 0) or "unhealthy"
 * @param slowStart of a backend whose share still grows
 * @param drain of one that is waited for
 * @param foreign whether it is an SRv6 end-point that does not know the protocol
 * @param unreachableBy ids of muxes that can't send to it now
 */
public record BackendView(
    int id,
    String address,
    int weight,
    String state,
    int buckets,
    Optional<Growth> slowStart,
    Optional<Draining> drain,
    @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean foreign,
    List<String> unreachableBy) {
  /**
   * Times are Unix seconds.
   *
   * @param share of that of the weight, by the latest step; 1 is all of it
   */
  public record Growth(long started, long ends, double share) {
    static Growth of(SlowStart start) {
      return new Growth(start.started(), start.ends(), start.part());
    }
  }

  /**
   * Times are Unix seconds.
   *
   * @param then "keep" or "remove"
   * @param weight before
   * @param end how it ended, if it has
   */
  public record Draining(
      long since, Optional<Long> deadline, String then, int weight, Optional<Ended> end) {
    public static Draining of(Drain drain) {
      return new Draining(
          drain.since(),
          drain.deadline(),
          drain.then().word(),
          drain.weight(),
          drain.end().map(end -> new Ended(end.reason().word(), end.at(), end.connections())));
    }
  }

  /**
   * @param reason "empty", "deadline" or "expired"
   * @param connections that were left; absent if unknown
   */
  public record Ended(String reason, long at, Optional<Long> connections) {}

  /** One whose share is that of its weight, that is not waited for, and that all muxes reach. */
  public BackendView(int id, String address, int weight, String state, int buckets) {
    this(id, address, weight, state, buckets, Optional.empty(), Optional.empty(), false, List.of());
  }

  /** By ascending id; removed backends are not listed. */
  public static List<BackendView> of(ServiceImage image, List<MuxView> muxes) {
    int[] owned = image.ring().owned();
    List<MuxView> missing = muxes.stream().filter(mux -> !mux.unreachable().isEmpty()).toList();
    return image.wanted().values().stream()
        .map(
            member ->
                new BackendView(
                    member.id(),
                    member.address().toString(),
                    member.weight(),
                    image.transitions().health().isOut(member.id()) ? "unhealthy" : member.state(),
                    owned[member.id()],
                    Optional.ofNullable(image.transitions().slowStarts().get(member.id()))
                        .map(Growth::of),
                    Optional.ofNullable(image.transitions().drains().get(member.id()))
                        .map(Draining::of),
                    member.foreign(),
                    Unreachable.muxesOf(member.address().toString(), missing)))
        .toList();
  }
}
