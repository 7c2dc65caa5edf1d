// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.backends.BackendView;
import io.fairlead.controller.backends.Change;
import io.fairlead.controller.explain.Explanation;
import io.fairlead.controller.explain.Flow;
import io.fairlead.controller.explain.RingView;
import io.fairlead.controller.muxes.MuxView;
import io.fairlead.controller.plane.Health;
import io.fairlead.controller.plane.Origin;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.plane.WriteOptions;
import io.fairlead.controller.services.ServiceChange;
import io.fairlead.controller.services.ServiceSpec;
import io.fairlead.controller.services.ServiceView;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.Note.KeptAnswer;
import io.fairlead.controller.upkeep.UpkeepOrder;
import io.fairlead.controller.upkeep.UpkeepView;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;

/**
 * What the controller can do, free of HTTP and of ZooKeeper's types: the REST API calls it and the
 * services' event threads implement it. Every write completes only once it is committed in
 * ZooKeeper, or exceptionally with a {@link Refusal}; with a dry run it returns the same plan and
 * commits nothing. Reads are answered from the current immutable image.
 */
public interface ControlPlane {
  /**
   * Returns once what is read next is as new as anything committed before this call.
   *
   * @throws Refusal if that cannot be known now
   */
  void confirm();

  /** Services by ascending name. */
  List<ServiceView> services();

  Optional<ServiceView> service(String name);

  CompletionStage<Result> createService(ServiceSpec spec, WriteOptions options);

  /** Absent fields of {@code change} stay as they are. */
  CompletionStage<Result> changeService(String name, ServiceChange change, WriteOptions options);

  /**
   * Makes the service what {@code spec} and {@code pool} say, in one commit: creates it, or changes
   * only what differs, or changes nothing. An absent pool stays as it is.
   */
  CompletionStage<Result> putService(
      ServiceSpec spec, Optional<List<Change.Add>> pool, WriteOptions options);

  CompletionStage<Result> deleteService(String name, WriteOptions options);

  /** Backends by ascending id; removed ones are not listed. */
  List<BackendView> backends(String service);

  /**
   * All of {@code changes} in one generation, or none of them (Beamer, NSDI '18, §4.5: an explicit
   * commit).
   */
  CompletionStage<Result> change(String service, List<Change> changes, WriteOptions options);

  /** As {@link #createService}, of nobody in particular. */
  default CompletionStage<Result> createService(ServiceSpec spec, boolean dryRun) {
    return createService(spec, WriteOptions.of(dryRun));
  }

  /** As {@link #changeService}, of nobody in particular. */
  default CompletionStage<Result> changeService(String name, ServiceChange change, boolean dryRun) {
    return changeService(name, change, WriteOptions.of(dryRun));
  }

  /** As {@link #deleteService}, of nobody in particular. */
  default CompletionStage<Result> deleteService(String name, boolean dryRun) {
    return deleteService(name, WriteOptions.of(dryRun));
  }

  /** As {@link #change}, of nobody in particular. */
  default CompletionStage<Result> change(String service, List<Change> changes, boolean dryRun) {
    return change(service, changes, WriteOptions.of(dryRun));
  }

  /**
   * Begins a rebalance or defragmentation with its first iteration, whose result this is; those
   * that follow are the leader's, one per window (Beamer, NSDI '18, §4.5 and A.1).
   */
  CompletionStage<Result> startUpkeep(String service, UpkeepOrder order, WriteOptions options);

  /**
   * Ends a rebalance or defragmentation where it is; {@code changed} says whether one was running.
   */
  CompletionStage<Result> stopUpkeep(String service, WriteOptions options);

  UpkeepView upkeep(String service);

  RingView ring(String service);

  Explanation explain(String service, Flow flow);

  /** One version of a service. */
  Look look(String service);

  /**
   * What one version of a service shows: all of it belongs together, whatever is committed since.
   */
  interface Look {
    ServiceView service();

    List<BackendView> backends();

    UpkeepView upkeep();

    RingView ring();
  }

  /** Muxes by ascending id, as they last wrote their own nodes. */
  List<MuxView> muxes();

  /**
   * What was kept of the answer to a request that may be sent again, {@link Origin.Retry}.
   *
   * @throws Refusal if ZooKeeper cannot be asked
   */
  Optional<KeptAnswer> answer(String key);

  /**
   * Records of writes, the latest first.
   *
   * @param before only those with a lower number
   * @param limit 1 and up
   * @throws Refusal if ZooKeeper cannot be asked
   */
  Journal.Page audit(OptionalLong before, int limit);

  Health health();

  /** Everything that is needed to rebuild the cluster, hash keys included, as JSON. */
  byte[] backup();
}
