// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Stream;
import java.util.stream.Stream.Builder;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.UsageMessageSpec;

/** Help of both programs and of all their verbs fits a terminal and shows no format specifier. */
class HelpTest {
  private static final int COLUMNS = 80;

  static Stream<CommandLine> commands() {
    Builder<CommandLine> found = Stream.builder();
    collect(Main.commandLine(), found);
    collect(CtlMain.commandLine(), found);
    for (Class<?> verb : Resources.VERBS) {
      String name = verb.getAnnotation(CommandLine.Command.class).name();
      CtlMain.commandLine(name).getSubcommands().values().forEach(each -> collect(each, found));
    }
    return found.build();
  }

  private static void collect(CommandLine command, Builder<CommandLine> found) {
    found.add(command);
    command.getSubcommands().values().forEach(each -> collect(each, found));
  }

  /** Wider lines of these would be broken anywhere, also within a command. */
  @ParameterizedTest
  @MethodSource("commands")
  void examplesNeedNoBreak(CommandLine command) {
    UsageMessageSpec usage = command.getCommandSpec().usageMessage();
    assertThat(usage.footer())
        .allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(COLUMNS));
  }

  @ParameterizedTest
  @MethodSource("commands")
  void printed(CommandLine command) {
    String help = command.setUsageHelpAutoWidth(false).getUsageMessage(CommandLine.Help.Ansi.OFF);
    assertThat(help.lines()).allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(COLUMNS));
    assertThat(help).doesNotContain("%%", "%n", "${");
    assertThat(command.getCommandSpec().usageMessage().description()).isNotEmpty();
  }
}
