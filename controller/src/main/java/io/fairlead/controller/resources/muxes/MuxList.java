// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** The muxes that operators have added: no other one counts for anything. */
public interface MuxList {
  /** All of them by ascending id, also those that are not alive. */
  List<MuxView> all();

  /** The login by which all muxes read; empty in a cluster without logins. */
  Optional<String> readersLogin();

  /**
   * Completes once it is committed, or with a {@link Refusal}; a dry run commits nothing.
   *
   * @param renews gives a mux that is added other logins; otherwise it is a new one
   */
  CompletionStage<Result> addMux(AddedMux mux, boolean renews, WriteOptions options);

  /**
   * As {@link #addMux}.
   *
   * @param force also one that is alive
   */
  CompletionStage<Result> removeMux(String id, boolean force, WriteOptions options);
}
