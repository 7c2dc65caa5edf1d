// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** What all verbs have in common: a new one obeys, and its first example is a call of it. */
class VerbsTest {
  /** What examples read. */
  private static final Map<String, String> FILES =
      Map.of(
          "services.yaml",
          "services: []\n",
          "-",
          "{\"changes\":[]}",
          "drain.json",
          "{\"changes\":[]}");

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

  /** A verb's first example, without what is the shell's; its files are in the directory. */
  private List<String> example(String words, CommandLine verb) throws IOException {
    String line =
        Arrays.stream(verb.getCommandSpec().usageMessage().footer())
            .filter(each -> (each + " ").startsWith("  fairleadctl " + words + " "))
            .findFirst()
            .orElseThrow(() -> new AssertionError("no example of '%s'".formatted(words)));
    List<String> call = new ArrayList<>();
    for (String word : line.replaceFirst(" (\\||>|<<).*", "").strip().split(" ")) {
      call.add(FILES.containsKey(word) || word.matches(".+\\.(json|tar\\.gz)") ? file(word) : word);
    }
    return call.subList(1, call.size());
  }

  private String file(String word) throws IOException {
    Path file = directory.resolve(word.substring(word.lastIndexOf('/') + 1));
    if (FILES.containsKey(word)) {
      Files.writeString(file, FILES.get(word));
    }
    return file.toString();
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
    for (Map.Entry<String, CommandLine> verb : verbs().entrySet()) {
      List<String> call = example(verb.getKey(), verb.getValue());
      CtlRun run = CtlRun.at(url, call.toArray(String[]::new));
      assertThat(run.exit()).as(call + ": " + run.err()).isEqualTo(3);
      assertThat(run.err())
          .as(call.toString())
          .contains("the controller at " + url + " cannot be reached");
    }
  }
}
