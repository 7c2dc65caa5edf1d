// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

/**
 * What comes with every write, whatever it changes.
 *
 * @param dryRun check and plan, commit nothing
 */
public record WriteOptions(boolean dryRun, Origin origin) {
  /** Of nobody in particular. */
  public static WriteOptions of(boolean dryRun) {
    return new WriteOptions(dryRun, Origin.NOBODY);
  }
}
