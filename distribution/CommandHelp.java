// SPDX-License-Identifier: Apache-2.0
package distribution;

import io.fairlead.controller.CtlMain;
import picocli.CommandLine;

/**
 * Prints the help of fairleadctl and of each of its commands, in one run of a JVM: a line with form feed and the
 * command's words, then its help. Run from source: {@code java -cp fairlead-controller.jar distribution/CommandHelp.java}.
 */
public final class CommandHelp {
  public static void main(String[] args) {
    print(CtlMain.commandLine());
  }

  private static void print(CommandLine command) {
    System.out.printf("\f%s%n%s", command.getCommandSpec().qualifiedName(), command.getUsageMessage());
    command.getSubcommands().values().stream().distinct().forEach(CommandHelp::print);
  }
}
