// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.plane.Origin;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.store.AuditEntry;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Note;
import java.time.Clock;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/**
 * Makes the audit records and kept answers of this controller's writes.
 *
 * @param made runs for each note
 */
public record Notes(String controller, Clock clock, Runnable made) {
  /** Without a counter. */
  public Notes(String controller, Clock clock) {
    this(controller, clock, () -> {});
  }

  /** The record of a read of secrets. */
  AuditEntry read(long epoch, Origin origin) {
    made.run();
    return new AuditEntry(
        AuditEntry.FORMAT,
        time(),
        origin.who(),
        origin.what(),
        origin.body(),
        Optional.empty(),
        AuditEntry.READ,
        0,
        0,
        Optional.empty(),
        epoch,
        controller,
        Optional.empty());
  }

  private String time() {
    return clock.instant().truncatedTo(ChronoUnit.MILLIS).toString();
  }

  public Note of(Epoch epoch, Origin origin, Result result) {
    made.run();
    AuditEntry entry =
        new AuditEntry(
            AuditEntry.FORMAT,
            time(),
            origin.who(),
            origin.what(),
            origin.body(),
            Optional.of(result.service()),
            AuditEntry.COMMITTED,
            result.generation(),
            result.movedBuckets(),
            Optional.of(result.returnedBuckets()).filter(returned -> returned > 0),
            epoch.number(),
            controller,
            origin.retry().map(Origin.Retry::key));
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
