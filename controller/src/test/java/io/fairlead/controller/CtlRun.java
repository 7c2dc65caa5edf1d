// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.stream.Stream;
import picocli.CommandLine;

/** One run of fairleadctl in this process: its exit code and what it printed. */
public record CtlRun(int exit, String out, String err) {
  public static CtlRun of(String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine command =
        CtlMain.commandLine(args)
            .setOut(new PrintWriter(out, true))
            .setErr(new PrintWriter(err, true));
    return new CtlRun(command.execute(args), out.toString(), err.toString());
  }

  /** Against the API at {@code url}. */
  public static CtlRun at(String url, String... args) {
    return of(Stream.concat(Stream.of("--api", url), Stream.of(args)).toArray(String[]::new));
  }

  /** What the words of {@code line} print; they must succeed. */
  public static String done(String url, String line) {
    CtlRun run = at(url, line.split(" "));
    assertThat(run.err()).as(line).isEmpty();
    assertThat(run.exit()).as(line).isZero();
    return run.out();
  }
}
