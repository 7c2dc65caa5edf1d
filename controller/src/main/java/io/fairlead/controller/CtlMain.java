// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.cli.Fairleadctl;
import picocli.CommandLine;

/** {@code fairleadctl} with all its verbs. */
public final class CtlMain {
  private CtlMain() {}

  public static void main(String[] args) {
    System.exit(commandLine().execute(args));
  }

  public static CommandLine commandLine() {
    return Fairleadctl.commandLine(Resources.VERBS);
  }
}
