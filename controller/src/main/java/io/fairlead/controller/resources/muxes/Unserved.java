// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import io.fairlead.controller.core.image.ServiceConfig;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * The muxes that do not announce a service because they can't serve it, as warnings for whoever
 * creates or changes it. Nothing is refused: other muxes announce it.
 */
public final class Unserved {
  private static final int REASONS = 16;

  /** Muxes of one kind with one reason make one warning. */
  private record Reason(String kind, String why) {}

  private Unserved() {}

  /** Of a service that is created: what muxes say of a former one of its name does not count. */
  public static List<String> ofNew(ServiceConfig config, List<MuxView> muxes) {
    return sentences(config, muxes, mux -> Optional.empty());
  }

  /** Of a service that is there: also what a mux refuses now for want of room, say. */
  public static List<String> of(ServiceConfig config, List<MuxView> muxes) {
    return sentences(
        config,
        muxes,
        mux ->
            Optional.ofNullable(mux.services().get(config.name()))
                .filter(MuxService::isUnsupported)
                .map(service -> service.why().orElse("its node does not say why")));
  }

  /**
   * @param said why a mux does not announce the service, by its node
   */
  private static List<String> sentences(
      ServiceConfig config, List<MuxView> all, Function<MuxView, Optional<String>> said) {
    String service = config.name();
    int muxes = all.size();
    Map<Reason, List<String>> reasons = new LinkedHashMap<>();
    for (MuxView mux : all) {
      mux.serves()
          .flatMap(serves -> serves.refusal(config))
          .or(() -> said.apply(mux))
          .map(why -> new Reason(mux.kind(), why))
          .ifPresent(
              reason -> reasons.computeIfAbsent(reason, key -> new ArrayList<>()).add(mux.id()));
    }
    List<String> warnings = new ArrayList<>();
    int unable = reasons.values().stream().mapToInt(List::size).sum();
    if (muxes > 0 && unable == muxes) {
      warnings.add(
          muxes == 1
              ? "no mux announces service %s: the only one that is there can't serve it"
                  .formatted(service)
              : "no mux announces service %s: none of the %d that are there can serve it"
                  .formatted(service, muxes));
    }
    reasons.entrySet().stream()
        .limit(REASONS)
        .forEach(
            each ->
                warnings.add(
                    "%s of kind %s not announce service %s: %s"
                        .formatted(
                            Unreachable.named(each.getValue()),
                            each.getKey().kind() + (each.getValue().size() == 1 ? " does" : " do"),
                            service,
                            each.getKey().why())));
    if (reasons.size() > REASONS) {
      warnings.add(
          "%d more reasons of muxes not to announce service %s are left out"
              .formatted(reasons.size() - REASONS, service));
    }
    return warnings;
  }
}
