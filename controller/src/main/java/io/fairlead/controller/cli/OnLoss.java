// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.util.List;
import picocli.CommandLine.Option;

/** What becomes of buckets that would lose an owner by moving; without either, nothing is done. */
public final class OnLoss {
  @Option(
      names = "--force",
      description =
          "Allow it even if full buckets lose a former owner, whose connections then break.")
  private boolean isForce;

  @Option(
      names = "--when-safe",
      description = "Move buckets that would lose a former owner only once they have room.")
  private boolean isWhenSafe;

  /** As parameters of the query; none if neither is given. */
  public List<String> parameters() {
    if (isForce) {
      return List.of("force=true");
    }
    return isWhenSafe ? List.of("whenSafe=true") : List.of();
  }
}
