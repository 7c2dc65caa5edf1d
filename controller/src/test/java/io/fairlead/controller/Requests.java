// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** What tests ask of a controller, and how they wait for it. */
public final class Requests {
  /** Of tests that change more within a window than operators do: some connections would break. */
  public static final WriteOptions FORCE = WriteOptions.COMMIT.with(WriteOptions.OnLoss.FORCE);

  private Requests() {}

  public static ServiceSpec spec(String name, String vip) {
    return sized(name, vip, 1024);
  }

  public static ServiceSpec sized(String name, String vip, int buckets) {
    return ServiceSpec.builder()
        .name(name)
        .vips(List.of(vip))
        .ports(List.of(new Port("tcp", 80)))
        .buckets(buckets)
        .hashKey("000102030405060708090a0b0c0d0e0f")
        .vipRanges(Ranges.ALL)
        .build();
  }

  public static Change add(int id) {
    return new Change.Add(id, "10.1.%d.%d".formatted(id / 256, id % 256), 100);
  }

  /** A machine of another address, under this id. */
  public static Change another(int id) {
    return new Change.Add(id, "10.2.%d.%d".formatted(id / 256, id % 256), 100);
  }

  public static Change weight(int id, int weight) {
    return new Change.Weight(id, weight);
  }

  public static Change remove(int id) {
    return new Change.Remove(id);
  }

  public static Result done(CompletionStage<Result> stage) throws Exception {
    return stage.toCompletableFuture().get(30, TimeUnit.SECONDS);
  }

  public static Refusal refusal(CompletionStage<Result> stage) throws Exception {
    try {
      Result result = done(stage);
      throw new AssertionError("not refused: " + result);
    } catch (ExecutionException e) {
      return (Refusal) e.getCause();
    }
  }
}
