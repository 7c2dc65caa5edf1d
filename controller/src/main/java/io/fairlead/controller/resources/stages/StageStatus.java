// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.plane.Staging;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The latest staged change of a service as the leader knows it.
 *
 * @param verdict "goes_on", "waits" or "fails"
 * @param words why
 * @param signals of backends whose weights rise
 */
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record StageStatus(
    String service,
    long generation,
    Optional<Staging> staging,
    Optional<String> verdict,
    Optional<String> words,
    Optional<List<Signals>> signals,
    Optional<Counts> others) {
  record Signals(int backend, Counts counts) {}

  static StageStatus of(ServiceImage image, StageGate gate) {
    Optional<Judgement> found = gate.seen(image);
    return new StageStatus(
        image.config().name(),
        image.ring().generation(),
        image.transitions().stage().map(Staging::of),
        found.map(each -> each.kind().name().toLowerCase(Locale.ROOT)),
        found.map(Judgement::words),
        found.map(
            each ->
                each.raised().entrySet().stream()
                    .map(raised -> new Signals(raised.getKey(), raised.getValue()))
                    .toList()),
        found.map(Judgement::others));
  }
}
