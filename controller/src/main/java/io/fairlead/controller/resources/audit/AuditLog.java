// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.audit;

import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.store.Journal;
import java.util.OptionalLong;

/** The records of past writes. */
public interface AuditLog {
  /**
   * The latest records first.
   *
   * @param before only those with a lower number
   * @param limit 1 and up
   * @throws Refusal if ZooKeeper cannot be read
   */
  Journal.Page page(OptionalLong before, int limit);
}
