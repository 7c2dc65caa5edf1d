// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.cli.Fairleadctl;
import picocli.CommandLine;

/** {@code fairleadctl} with all its verbs. */
public final class CtlMain {
  private CtlMain() {}

  public static void main(String[] args) {
    // Else picocli looks for classes that none of the options is of, and prepares them.
    System.setProperty("picocli.converters.excludes", "java[.](time|sql)[.].*");
    System.exit(commandLine(args).execute(args));
  }

  /** For these arguments and no others. */
  public static CommandLine commandLine(String... args) {
    return Fairleadctl.commandLine(Resources.VERBS, args);
  }
}
