// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.util.List;
import picocli.CommandLine.Option;

/** What becomes of buckets that would lose an owner by moving; without either, nothing is done. */
public final class OnLoss {
  @Option(
      names = "--force",
      description = "Allow it even if buckets lose a previous owner, whose connections then break.")
  private boolean isForce;

  @Option(
      names = "--when-safe",
      description = "Move buckets that would lose a previous owner only after their window ends.")
  private boolean isWhenSafe;

  /** As parameters of the query; none if neither is given. */
  public List<String> parameters() {
    if (isForce) {
      return List.of("force=true");
    }
    return isWhenSafe ? List.of("whenSafe=true") : List.of();
  }
}
