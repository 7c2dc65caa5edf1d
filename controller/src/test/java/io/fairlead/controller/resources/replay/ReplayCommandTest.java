// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import static io.fairlead.controller.Requests.add;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fairlead.controller.CtlRun;
import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.store.ServiceIds;
import io.fairlead.controller.store.repository.Backup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** {@code fairleadctl replay}: what it prints, and how it refuses files and options. */
class ReplayCommandTest {
  private static final Instant TAKEN = Instant.parse("2026-11-30T20:00:00Z");
  private static final String COLUMNS =
      "protocol,source,sourcePort,destination,destinationPort,start,end\n";
  private static final int FLOWS = 400;

  @TempDir private Path directory;

  @BeforeEach
  void write() throws IOException {
    write(Requests.spec("web", "10.99.0.1"));
  }

  private void write(ServiceSpec spec) throws IOException {
    ServiceImage image =
        ServiceImage.create(
            ServiceRules.created(spec, 1, new Random(1)), TAKEN.getEpochSecond() - 9000);
    image =
        PoolPlan.of(image, List.of(add(1), add(2)), TAKEN.minusSeconds(9000), WriteOptions.COMMIT)
            .after();
    Backup backup =
        Backup.of("0".repeat(32), TAKEN, 1, ids(), ClusterSettings.NONE, List.of(), List.of(image));
    Files.write(directory.resolve("backup"), backup.json());
    StringBuilder flows = new StringBuilder(COLUMNS);
    for (int port = 1000; port < 1000 + FLOWS; port++) {
      flows.append(
          "tcp,10.2.0.11,%d,10.99.0.1,80,2026-11-30T19:59:00Z,2026-11-30T20:00:00Z\n"
              .formatted(port));
    }
    Files.writeString(directory.resolve("flows"), flows);
    Files.writeString(
        directory.resolve("drain"),
        "{\"changes\": [{\"op\": \"weight\", \"id\": 1, \"weight\": 0}]}");
  }

  private static ServiceIds ids() {
    return new ServiceIds(ServiceIds.FORMAT, 1, 1, new TreeMap<>());
  }

  private CtlRun run(String line) {
    List<String> words = new ArrayList<>();
    for (String word : line.split(" ")) {
      words.add(word.startsWith("@") ? directory.resolve(word.substring(1)).toString() : word);
    }
    return CtlRun.of(words.toArray(String[]::new));
  }

  @Test
  void aDrainIsPrintedAsATable() {
    CtlRun run = run("replay web --flows @flows --change @drain --backup @backup");
    assertThat(run.err()).isEmpty();
    assertThat(run.exit()).isZero();
    assertThat(run.out())
        .contains("steering", "ring", "400 in 400 records, and 0 records of others")
        .containsPattern("chained +(\\d+), \\1 of them by this change; hops: \\1 over 1\\n")
        .containsPattern("broken +0: 0 dead, 0 full list\\n")
        .containsPattern("1 +10.1.0.1 +512 +0 +(\\d+) +\\1 +0 +\\1 +0 +0 ");
  }

  @Test
  void theSameIsJson() throws IOException {
    CtlRun run = run("-o json replay web --flows @flows --change @drain --backup @backup");
    assertThat(run.err()).isEmpty();
    JsonNode all = new ObjectMapper().readTree(run.out());
    JsonNode open = all.path("open");
    assertThat(open.path("chained").asDouble()).isBetween(150.0, 250.0);
    assertThat(open.path("direct").asDouble() + open.path("chained").asDouble()).isEqualTo(FLOWS);
    assertThat(open.path("newlyChained")).isEqualTo(open.path("chained"));
    assertThat(all.path("at").asText()).isEqualTo("2026-11-30T20:00:00Z");
    JsonNode first = all.path("servers").path(0);
    assertThat(first.path("open")).isEqualTo(open.path("chained"));
    assertThat(first.path("arrivingAfter").asDouble()).isZero();
    assertThat(first.path("newAfter").asDouble()).isZero();
  }

  @Test
  void aChangeThatTheServiceStagesIsReplayedAsAWhole() throws IOException {
    Files.writeString(
        directory.resolve("raise"),
        "{\"changes\": [{\"op\": \"weight\", \"id\": 1, \"weight\": 300}]}");
    CtlRun atOnce = run("-o json replay web --flows @flows --change @raise --backup @backup");
    ServiceSpec.StageSettings stages =
        new ServiceSpec.StageSettings(
            Optional.of("1%,100%"), Optional.empty(), Optional.empty(), Optional.empty());
    write(Requests.spec("web", "10.99.0.1").toBuilder().stageSettings(stages).build());
    CtlRun staged = run("-o json replay web --flows @flows --change @raise --backup @backup");
    assertThat(new ObjectMapper().readTree(staged.out()).path("movedBuckets").asInt())
        .isEqualTo(new ObjectMapper().readTree(atOnce.out()).path("movedBuckets").asInt())
        .isPositive();
  }

  @Test
  void theTimeOfTheChangeDecidesWhatIsOpen() throws IOException {
    CtlRun run =
        run(
            "-o json replay web --flows @flows --change @drain --backup @backup --at"
                + " 2026-11-30T20:00:01Z");
    assertThat(new ObjectMapper().readTree(run.out()).path("flows").path("over").asInt())
        .isEqualTo(FLOWS);
  }

  static Stream<Arguments> refused() {
    return Stream.of(
        Arguments.of(
            "--flows @none --change @drain --backup @backup",
            "none' cannot be read: there is none; allowed: a file"),
        Arguments.of(
            "--flows @drain --change @drain --backup @backup",
            "is refused: line 1: column '{\"changes\": [{\"op\": \"weight\"'; allowed: the"
                + " columns"),
        Arguments.of(
            "--flows @other --change @drain --backup @backup",
            "none of its 1 records is of service 'web'; allowed: connections to [10.99.0.1], ports"
                + " [tcp:80]"),
        Arguments.of("--flows @flows --change @none --backup @backup", "--change '"),
        Arguments.of(
            "--flows @flows --change @flows --backup @backup",
            "is refused: line 1: Unrecognized token 'protocol'"),
        Arguments.of(
            "--flows @flows --change @nulls --backup @backup",
            "it has null; allowed: {\"changes\": [...]}"),
        Arguments.of(
            "--flows @flows --change @unknown --backup @backup",
            "line 1: Could not resolve type id 'paint'"),
        Arguments.of(
            "--flows @flows --change @nine --backup @backup",
            "is refused: id '9' is refused; allowed: "),
        Arguments.of(
            "--flows @flows --change @nowhere --backup @backup",
            "is refused: address 'null' is refused; allowed: "),
        Arguments.of(
            "--flows @flows --change @weightless --backup @backup", "Cannot map `null` into type"),
        Arguments.of("--flows @flows --change @drain --backup @flows", "--backup '"),
        Arguments.of(
            "--flows @flows --change @drain --backup @backup --idle -1",
            "--idle '-1' is refused; allowed: 0..86400"),
        Arguments.of(
            "--flows @flows --change @drain --backup @backup --second-share 1.5",
            "--second-share '1.5' is refused; allowed: 0 to 1"),
        Arguments.of(
            "--flows @flows --change @drain --backup @backup --at noon",
            "--at 'noon' is refused; allowed: a time such as"));
  }

  @ParameterizedTest
  @MethodSource("refused")
  void badInputIsRefusedByName(String options, String message) throws IOException {
    Files.writeString(directory.resolve("other"), COLUMNS + "tcp,10.2.0.11,1,10.99.0.9,80,1,2\n");
    Files.writeString(directory.resolve("nulls"), "{\"changes\": [null]}");
    Files.writeString(directory.resolve("unknown"), "{\"changes\": [{\"op\": \"paint\"}]}");
    Files.writeString(
        directory.resolve("nine"),
        "{\"changes\": [{\"op\": \"weight\", \"id\": 9, \"weight\": 0}]}");
    Files.writeString(
        directory.resolve("nowhere"), "{\"changes\": [{\"op\": \"add\", \"id\": 9}]}");
    Files.writeString(
        directory.resolve("weightless"), "{\"changes\": [{\"op\": \"weight\", \"id\": 1}]}");
    CtlRun run = run("replay web " + options);
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.out()).isEmpty();
    assertThat(run.err()).contains(message, "allowed: ").hasLineCount(2);
  }

  @Test
  void anUnknownServiceIsRefused() {
    CtlRun run = run("replay mail --flows @flows --change @drain --backup @backup");
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.err()).contains("service 'mail' is refused; allowed: one of web");
  }
}
