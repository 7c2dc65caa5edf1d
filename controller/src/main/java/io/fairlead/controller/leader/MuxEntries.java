// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.service.Notes;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.MuxStore;
import io.fairlead.controller.store.StoreException;

/** The muxes that are added, as the leader of an epoch changes them. */
record MuxEntries(MuxStore store, Epoch epoch, Notes notes) {
  /** Adds a mux, or gives one that is added other logins. */
  Result add(AddedMux mux, boolean renews, WriteOptions options) throws StoreException {
    boolean isThere = store.find(mux.id()).isPresent();
    if (isThere && !renews) {
      throw Refusal.conflict(
          "id", mux.id(), "a name that no mux has; rotate gives one that is added a new login");
    }
    if (!isThere && renews) {
      throw unknownMux(mux.id());
    }
    Result changed = Result.unmoved("", 0, options.dryRun());
    Result result = isThere ? changed : changed.asCreated();
    if (!options.dryRun()) {
      MuxStore noting = store.with(notes.of(epoch, options.origin(), result));
      try {
        if (isThere) {
          noting.renew(epoch, mux);
        } else {
          noting.add(epoch, mux);
        }
      } catch (StoreException.NotDeleted e) {
        throw Refusal.conflict(
            "id",
            mux.id(),
            (isThere
                    ? "a mux whose nodes can be deleted; its logins stay valid until 'fairleadctl"
                        + " mux remove %s --force', after which it needs another id: "
                            .formatted(mux.id())
                    : "another id: ")
                + e.getMessage());
      }
    }
    return result;
  }

  /** Removes a mux: it counts for nothing any more, and cannot come back. */
  Result remove(String id, boolean force, WriteOptions options) throws StoreException {
    if (store.find(id).isEmpty()) {
      throw unknownMux(id);
    }
    if (!force && store.isAlive(id)) {
      throw Refusal.conflict(
          "id", id, "a mux that has ended: stop it first, or force, upon which it withdraws");
    }
    Result result = Result.unmoved("", 0, options.dryRun());
    if (!options.dryRun()) {
      store.with(notes.of(epoch, options.origin(), result)).remove(epoch, id);
    }
    return result;
  }

  private static Refusal unknownMux(String id) {
    return new Refusal(Refusal.Kind.NOT_FOUND, "id", id, "a mux that is added");
  }
}
