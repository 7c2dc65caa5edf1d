// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.core.image.Stage;
import java.util.List;
import java.util.Optional;

/**
 * A change of weights that takes effect in steps. Times are Unix seconds; shares are parts of the
 * buckets that the whole change moves.
 *
 * @param state "running" or how it ended
 * @param share that has moved
 * @param next the share of the next step; absent at the last
 * @param due when the next step is due, or the end; absent if it is over
 * @param backends whose weights change
 * @param why it ended, in words
 */
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record Staging(
    String state,
    double share,
    Optional<Double> next,
    List<Double> shares,
    int bakeSeconds,
    long started,
    long since,
    Optional<Long> due,
    List<Integer> backends,
    Optional<Long> ended,
    Optional<String> why) {
  public static Staging of(Stage stage) {
    return new Staging(
        stage.end().map(end -> end.outcome().word()).orElse("running"),
        part(stage.share()),
        stage.isRunning() ? stage.next().map(Staging::part) : Optional.empty(),
        stage.shares().stream().map(Staging::part).toList(),
        stage.bakeSeconds(),
        stage.started(),
        stage.since(),
        stage.isRunning() ? Optional.of(stage.due()) : Optional.empty(),
        List.copyOf(stage.former().keySet()),
        stage.end().map(Stage.End::at),
        stage.end().map(Stage.End::why));
  }

  private static double part(int share) {
    return share / (double) Stage.WHOLE;
  }
}
