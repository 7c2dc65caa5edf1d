// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plane;

/**
 * What every write has, regardless of what it changes.
 *
 * @param dryRun check and plan, commit nothing
 * @param precondition what must hold at the moment of the commit
 */
public record WriteOptions(boolean dryRun, Origin origin, Precondition precondition) {
  /** Commits, regardless of the service's version. */
  public static final WriteOptions COMMIT =
      new WriteOptions(false, Origin.ANONYMOUS, Precondition.NONE);

  /** A dry run, regardless of the service's version. */
  public static final WriteOptions PLAN =
      new WriteOptions(true, Origin.ANONYMOUS, Precondition.NONE);

  public WriteOptions with(Origin other) {
    return new WriteOptions(dryRun, other, precondition);
  }

  public WriteOptions with(Precondition other) {
    return new WriteOptions(dryRun, origin, other);
  }
}
