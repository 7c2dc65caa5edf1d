// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** What all verbs have in common: a new one is written into the table, and obeys. */
class VerbsTest {
  /** A good call of each verb; FILE is a manifest. */
  private static final List<String> CALLS =
      List.of(
          "agents",
          "apply -f FILE",
          "audit",
          "backend add web 1 10.1.0.21",
          "backend drain web 1",
          "backend hold-health web 1",
          "backend list web",
          "backend release-health web 1",
          "backend remove web 1",
          "backend undrain web 1",
          "backend weight web 1 50",
          "backup -f NEW",
          "changes web -f CHANGES",
          "cluster set --vip-range 10.99.0.0/16",
          "cluster show",
          "defragment web",
          "diff -f FILE",
          "drains",
          "events",
          "explain web tcp 192.0.2.7:40000 10.99.0.1:80",
          "export",
          "generations web",
          "health",
          "holds web",
          "metrics targets --file NEW",
          "mux add mux1",
          "mux remove mux1",
          "muxes",
          "othello web",
          "rebalance web",
          "ring web",
          "service change web --assignment maglev",
          "service create web --vip 10.99.0.1 --port tcp:80",
          "service delete web",
          "service list",
          "service show web",
          "service undelete web",
          "support-bundle NEW",
          "upkeep web",
          "whoami");

  @TempDir private Path directory;

  /** The verbs that picocli has, by their words. */
  private static Map<String, CommandLine> verbs() {
    Map<String, CommandLine> verbs = new TreeMap<>();
    for (Class<?> each : Resources.VERBS) {
      leaves("", new CommandLine(each), verbs);
    }
    return verbs;
  }

  private static void leaves(String before, CommandLine command, Map<String, CommandLine> found) {
    String words = (before + " " + command.getCommandName()).strip();
    if (command.getSubcommands().isEmpty()) {
      found.put(words, command);
    }
    command.getSubcommands().values().forEach(each -> leaves(words, each, found));
  }

  private static String verb(String call) {
    return verbs().keySet().stream()
        .filter(words -> (call + " ").startsWith(words + " "))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no verb of '%s'".formatted(call)));
  }

  @Test
  void eachVerbHasACallInTheTable() {
    TreeSet<String> called = new TreeSet<>();
    CALLS.forEach(call -> called.add(verb(call)));
    assertThat(called).isEqualTo(new TreeSet<>(verbs().keySet()));
  }

  @Test
  void eachVerbHasHelpWithAnExampleAndAShortDescription() {
    for (String words : verbs().keySet()) {
      CtlRun help = CtlRun.of((words + " --help").split(" "));
      assertThat(help.exit()).as(words).isZero();
      assertThat(help.err()).as(words).isEmpty();
      assertThat(help.out())
          .as(words)
          .startsWith("Usage: fairleadctl " + words)
          .contains("Example", "  fairleadctl " + words, "--api", "--token-file");
    }
  }

  @Test
  void eachVerbRefusesAnUnknownFlagInOneSentence() {
    for (String words : verbs().keySet()) {
      List<String> line = new ArrayList<>(List.of(words.split(" ")));
      line.add("--no-such-flag");
      CtlRun run = CtlRun.of(line.toArray(String[]::new));
      assertThat(run.exit()).as(words).isEqualTo(2);
      assertThat(run.out()).as(words).isEmpty();
      assertThat(run.err())
          .as(words)
          .contains("Try 'fairleadctl " + words + " --help'.")
          .hasLineCount(2);
    }
  }

  /** Nothing listens there: each says so, with its exit code, and prints nothing. */
  @Test
  void eachVerbSaysThatTheControllerCannotBeReached() throws IOException {
    String url = "http://127.0.0.1:" + FreePorts.next();
    Path manifest = Files.writeString(directory.resolve("services.yaml"), "services: []\n");
    Path changes = Files.writeString(directory.resolve("changes.json"), "{\"changes\":[]}");
    for (String call : CALLS) {
      String line =
          call.replace("FILE", manifest.toString())
              .replace("CHANGES", changes.toString())
              .replace("NEW", directory.resolve("new").toString());
      CtlRun run = CtlRun.at(url, line.split(" "));
      assertThat(run.exit()).as(call + ": " + run.err()).isEqualTo(3);
      assertThat(run.err()).as(call).contains("the controller at " + url + " cannot be reached");
    }
  }
}
