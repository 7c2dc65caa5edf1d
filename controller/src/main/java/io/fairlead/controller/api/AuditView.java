// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import io.fairlead.controller.store.AuditEntry;
import java.util.Optional;

/** An audit record as the API shows it. */
record AuditView(
    long number,
    String time,
    String who,
    String what,
    Optional<String> body,
    String service,
    String outcome,
    long generation,
    int movedBuckets,
    Optional<Integer> returnedBuckets,
    long epoch,
    String controller) {
  static AuditView of(long number, AuditEntry entry) {
    return new AuditView(
        number,
        entry.time(),
        entry.who(),
        entry.what(),
        entry.body(),
        entry.service(),
        entry.outcome(),
        entry.generation(),
        entry.movedBuckets(),
        entry.returnedBuckets(),
        entry.epoch(),
        entry.controller());
  }
}
