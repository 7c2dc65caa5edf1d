// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.store.AuditEntry;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Note;
import java.time.InstantSource;
import java.util.Optional;

/**
 * Makes the audit records and kept answers of this controller's writes.
 *
 * @param made runs for each note
 */
public record Notes(String controller, InstantSource clock, Runnable made) {
  /** Without a counter. */
  public Notes(String controller, InstantSource clock) {
    this(controller, clock, () -> {});
  }

  /** The record of a read of secrets. */
  public AuditEntry read(long epoch, Origin origin) {
    made.run();
    return AuditEntry.read(origin.who(), origin.what())
        .at(clock.instant())
        .body(origin.body())
        .by(controller, epoch)
        .build();
  }

  /** The record of a report about another server, and why it was refused. */
  public AuditEntry refused(long epoch, String who, String what, String why) {
    made.run();
    return AuditEntry.refused(who, what)
        .at(clock.instant())
        .body(Optional.of(why))
        .by(controller, epoch)
        .build();
  }

  public Note of(Epoch epoch, Origin origin, Result result) {
    made.run();
    AuditEntry entry =
        AuditEntry.committed(
                origin.who(),
                origin.what(),
                Optional.of(result.service()).filter(name -> !name.isEmpty()))
            .at(clock.instant())
            .body(origin.body())
            .generation(result.generation())
            .buckets(result.movedBuckets(), result.owners().lostBuckets())
            .by(controller, epoch.number())
            .key(origin.retry().map(Origin.Retry::key))
            .build();
    return new Note(
        entry,
        origin
            .retry()
            .map(
                retry ->
                    new Note.KeptAnswer(
                        retry.key(), retry.digest(), retry.answer().apply(result))));
  }
}
