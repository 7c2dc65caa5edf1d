// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Stage;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.OnLoss;
import io.fairlead.controller.resources.stages.Judgement;
import io.fairlead.controller.resources.stages.StageGate;
import io.fairlead.controller.store.StoreException;
import java.time.Instant;
import java.util.Optional;

/** The steps of a staged change, or its rollback; signals are looked at all the time. */
final class StageWork implements Work {
  private final StageGate gate;
  private final CommitMetrics metrics;
  private final Commit commit;

  StageWork(StageGate gate, CommitMetrics metrics, Commit commit) {
    this.gate = gate;
    this.metrics = metrics;
    this.commit = commit;
  }

  @Override
  public String tag() {
    return "stage";
  }

  @Override
  public Instant due(ServiceImage image, Instant now) {
    return image.transitions().staging().isPresent() ? EventQueue.AT_ONCE : EventQueue.NEVER;
  }

  @Override
  public void run(ServiceImage image, Instant now) throws StoreException {
    Stage stage = image.transitions().staging().orElseThrow();
    Judgement found = gate.look(image, now);
    try {
      take(image, stage, found, now);
    } catch (Refusal e) {
      gate.refused(image, e.getMessage());
    }
  }

  private void take(ServiceImage image, Stage stage, Judgement found, Instant now)
      throws StoreException {
    switch (found.kind()) {
      case WAITS -> {}
      case GOES_ON -> {
        WriteOptions options = options(image, stage, next(stage), found);
        committed(image, commit.of(PoolPlan.advanced(image, found.words(), now, options), options));
      }
      case FAILS -> {
        WriteOptions options = options(image, stage, "rolled back", found);
        committed(
            image, commit.of(PoolPlan.rolledBack(image, found.words(), now, options), options));
      }
    }
  }

  private static String next(Stage stage) {
    return stage.next().map(share -> "goes on to " + Stage.percent(share)).orElse("is done");
  }

  private void committed(ServiceImage image, Result result) {
    Optional<String> ended =
        result.staging().map(now -> now.state()).filter(state -> !state.equals("running"));
    if (ended.isPresent()) {
      gate.forget(image);
    }
    metrics.staged(result.service(), ended, result.movedBuckets());
  }

  private static WriteOptions options(
      ServiceImage image, Stage stage, String what, Judgement found) {
    String words =
        "staged change of %s (%s) %s: %s"
            .formatted(image.config().name(), stage.words(), what, found.words());
    return WriteOptions.COMMIT.with(OnLoss.KEEP).with(Origin.controller(words));
  }
}
