// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.backends.Backends;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.drains.Drains;
import io.fairlead.controller.resources.health.HealthHolds;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.Unavailable;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.services.Services;
import io.fairlead.controller.resources.stages.Stages;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import io.fairlead.controller.resources.upkeep.Upkeeps;
import io.fairlead.controller.service.ServiceWriter;
import io.fairlead.controller.store.StoreException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes writes while this controller leads, and counts those that are refused. Writes to whole
 * services run on the catalogue's thread, one after another; the others on their service's.
 */
final class Writes implements Services, Backends, Drains, Stages, HealthHolds, Upkeeps {
  /** Why a staged change ends. */
  private static final String BY_HAND = "by hand";

  private static final Logger LOG = LoggerFactory.getLogger(Writes.class);

  private final CurrentRole role;
  private final Facilities from;

  private interface CatalogueTask {
    Result run(Catalogue catalogue) throws StoreException;
  }

  Writes(CurrentRole role, Facilities from) {
    this.role = role;
    this.from = from;
  }

  @Override
  public CompletionStage<Result> createService(ServiceSpec spec, WriteOptions options) {
    return onCatalogue(catalogue -> catalogue.create(spec, options));
  }

  @Override
  public CompletionStage<Result> changeService(
      String name, ServiceSpec change, WriteOptions options) {
    return onCatalogue(catalogue -> catalogue.change(name, change, options));
  }

  @Override
  public CompletionStage<Result> putService(
      ServiceSpec spec, Optional<List<Change.Add>> pool, WriteOptions options) {
    return onCatalogue(catalogue -> catalogue.put(spec, pool, options));
  }

  @Override
  public CompletionStage<Result> deleteService(String name, WriteOptions options) {
    return onCatalogue(catalogue -> catalogue.delete(name, options));
  }

  @Override
  public CompletionStage<Result> undeleteService(String name, WriteOptions options) {
    return onCatalogue(catalogue -> catalogue.undelete(name, options));
  }

  CompletionStage<Result> addMux(AddedMux mux, boolean renews, WriteOptions options) {
    return onCatalogue(catalogue -> catalogue.muxes().add(mux, renews, options));
  }

  CompletionStage<Result> removeMux(String id, boolean force, WriteOptions options) {
    return onCatalogue(catalogue -> catalogue.muxes().remove(id, force, options));
  }

  CompletionStage<Result> changeCluster(ClusterSettings settings, WriteOptions options) {
    return onCatalogue(catalogue -> catalogue.changeCluster(settings, options));
  }

  @Override
  public CompletionStage<Result> change(
      String service, List<Change> changes, WriteOptions options) {
    return onWriter(service, writer -> writer.change(List.copyOf(changes), options));
  }

  @Override
  public CompletionStage<Result> drain(String service, DrainOrder order, WriteOptions options) {
    return onWriter(service, writer -> writer.drain(order, options));
  }

  @Override
  public CompletionStage<Result> undrain(String service, List<Integer> ids, WriteOptions options) {
    return onWriter(
        service,
        writer ->
            writer.commit((image, now) -> PoolPlan.undrain(image, ids, now, options), options));
  }

  @Override
  public CompletionStage<Result> advance(String service, WriteOptions options) {
    return onWriter(
        service,
        writer ->
            writer.commit(
                (image, now) -> PoolPlan.advanced(image, BY_HAND, now, options), options));
  }

  @Override
  public CompletionStage<Result> rollBack(String service, WriteOptions options) {
    return onWriter(
        service,
        writer ->
            writer.commit(
                (image, now) -> PoolPlan.rolledBack(image, BY_HAND, now, options), options));
  }

  @Override
  public CompletionStage<Result> holdHealth(
      String service, List<Integer> ids, boolean held, WriteOptions options) {
    return onWriter(
        service,
        writer ->
            writer.commit(
                (image, now) -> PoolPlan.holdHealth(image, ids, held, now, options), options));
  }

  @Override
  public CompletionStage<Result> startUpkeep(
      String service, UpkeepOrder order, WriteOptions options) {
    return onWriter(service, writer -> writer.startUpkeep(order, options));
  }

  @Override
  public CompletionStage<Result> stopUpkeep(String service, WriteOptions options) {
    return onWriter(service, writer -> writer.stopUpkeep(options));
  }

  private Catalogue catalogue() {
    return role.term()
        .map(Term::catalogue)
        .orElseThrow(() -> Unavailable.notLeading(from.session.isConnected()));
  }

  private CompletionStage<Result> onCatalogue(CatalogueTask task) {
    return counted(
        CompletableFuture.supplyAsync(
            () -> {
              try {
                Catalogue catalogue = catalogue();
                catalogue.settle();
                return task.run(catalogue);
              } catch (StoreException e) {
                LOG.warn("{}", e.getMessage());
                throw Unavailable.store(e);
              }
            },
            from.threads.catalogue));
  }

  private CompletionStage<Result> onWriter(
      String service, Function<ServiceWriter, CompletionStage<Result>> write) {
    try {
      return counted(write.apply(catalogue().writer(service)));
    } catch (Refusal e) {
      return counted(CompletableFuture.failedStage(e));
    }
  }

  private CompletionStage<Result> counted(CompletionStage<Result> stage) {
    return stage.whenComplete(
        (result, failure) -> {
          Throwable cause =
              failure instanceof CompletionException && failure.getCause() != null
                  ? failure.getCause()
                  : failure;
          if (cause instanceof Refusal refusal) {
            from.commits.refused(refusal.kind());
          }
        });
  }
}
