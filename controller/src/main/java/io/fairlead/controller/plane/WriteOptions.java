// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plane;

/**
 * What comes with every write, whatever it changes.
 *
 * @param dryRun check and plan, commit nothing
 * @param precondition what must hold at the moment of the commit
 */
public record WriteOptions(boolean dryRun, Origin origin, Precondition precondition) {
  /** Whatever the service is by then. */
  public WriteOptions(boolean dryRun, Origin origin) {
    this(dryRun, origin, Precondition.NONE);
  }

  /** Of nobody in particular. */
  public static WriteOptions of(boolean dryRun) {
    return new WriteOptions(dryRun, Origin.NOBODY);
  }

  public WriteOptions with(Precondition other) {
    return new WriteOptions(dryRun, origin, other);
  }
}
