// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.resources.muxes.MuxList;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.MuxWatch;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/** Reads the list of muxes by its watch, and writes it as the leader. */
record MuxListAccess(MuxWatch watch, Writes writes, Supplier<Optional<String>> login)
    implements MuxList {
  @Override
  public List<MuxView> all() {
    return watch.all();
  }

  @Override
  public Optional<String> readersLogin() {
    return login.get();
  }

  @Override
  public CompletionStage<Result> addMux(AddedMux mux, boolean renews, WriteOptions options) {
    return writes.addMux(mux, renews, options);
  }

  @Override
  public CompletionStage<Result> removeMux(String id, boolean force, WriteOptions options) {
    return writes.removeMux(id, force, options);
  }
}
