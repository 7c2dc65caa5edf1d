// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A list of muxes without ZooKeeper. */
public final class MemoryMuxes implements MuxList {
  private final Map<String, MuxView> muxes = new TreeMap<>();
  private Optional<String> readers = Optional.empty();

  /** It is added, and alive. */
  public synchronized void put(MuxView mux) {
    muxes.put(mux.id(), mux);
  }

  /** From now on there are logins. */
  public synchronized void protect(String readersLogin) {
    readers = Optional.of(readersLogin);
  }

  public synchronized void clear() {
    muxes.clear();
    readers = Optional.empty();
  }

  public List<MuxView> alive() {
    return all().stream().filter(MuxView::isAlive).toList();
  }

  @Override
  public synchronized List<MuxView> all() {
    return List.copyOf(muxes.values());
  }

  @Override
  public synchronized Optional<String> readersLogin() {
    return readers;
  }

  @Override
  public synchronized CompletionStage<Result> addMux(
      AddedMux mux, boolean renews, WriteOptions options) {
    boolean isThere = muxes.containsKey(mux.id());
    if (isThere != renews) {
      return refused(isThere ? Refusal.Kind.CONFLICT : Refusal.Kind.NOT_FOUND, mux.id());
    }
    if (!isThere && !options.dryRun()) {
      muxes.put(mux.id(), MuxView.absent(mux.id()));
    }
    Result result = Result.unmoved("", 0, options.dryRun());
    return CompletableFuture.completedStage(isThere ? result : result.asCreated());
  }

  @Override
  public synchronized CompletionStage<Result> removeMux(
      String id, boolean force, WriteOptions options) {
    MuxView mux = muxes.get(id);
    if (mux == null || (mux.isAlive() && !force)) {
      return refused(mux == null ? Refusal.Kind.NOT_FOUND : Refusal.Kind.CONFLICT, id);
    }
    if (!options.dryRun()) {
      muxes.remove(id);
    }
    return CompletableFuture.completedStage(Result.unmoved("", 0, options.dryRun()));
  }

  private static CompletionStage<Result> refused(Refusal.Kind kind, String id) {
    return CompletableFuture.failedStage(new Refusal(kind, "id", id, "another one"));
  }
}
