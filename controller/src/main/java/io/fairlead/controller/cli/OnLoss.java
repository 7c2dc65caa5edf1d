// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.util.List;
import picocli.CommandLine.Option;

/** What becomes of buckets that would lose an owner by moving; without either, nothing is done. */
public final class OnLoss {
  @Option(
      names = "--force",
      description = "Also if buckets lose an owner by it, and its connections break.")
  private boolean isForce;

  @Option(
      names = "--when-safe",
      description = "Let buckets that would lose an owner wait until their window is over.")
  private boolean isWhenSafe;

  /** As parameters of the query; none if neither is given. */
  public List<String> parameters() {
    if (isForce) {
      return List.of("force=true");
    }
    return isWhenSafe ? List.of("whenSafe=true") : List.of();
  }
}
