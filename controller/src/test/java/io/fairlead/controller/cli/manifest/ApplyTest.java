// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli.manifest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.fairlead.controller.CtlRun;
import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Ranges;
import io.fairlead.controller.Resources;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.leader.ControllerOptions;
import io.fairlead.controller.leader.Controllers;
import io.fairlead.controller.leader.FairleadController;
import io.fairlead.controller.leader.Shown;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code apply}, {@code diff} and {@code export} against a whole controller and a ZooKeeper. */
class ApplyTest {
  private static final String TWO =
      """
      services:
      - name: web
        vips: [10.99.0.1, 'fd00::1']
        ports: [{protocol: tcp, port: 80}, {protocol: tcp, port: 443}]
        buckets: 1024
        windowSeconds: 60
        mptcpPorts: {first: 20000, last: 20999}
        pool:
        - {id: 1, address: 10.1.0.21}
        - {id: 2, address: 10.1.0.22, weight: 300}
      - name: dns
        vips: [10.99.0.53]
        ports: [{protocol: udp, port: 53}]
        buckets: 256
        hash: crc32
        affinity: client
      """;

  /** Services that together have every field, none at its default. */
  private static final String ALL =
      """
      services:
      - name: old
        vips: [10.99.0.2]
        ports: [{protocol: tcp, port: 80}]
        buckets: 512
        hash: crc32
        affinity: client
        encap: ipip
        assignment: maglev
        windowSeconds: 30
        pool: [{id: 3, address: 10.1.0.23, weight: 7}, {id: 4, address: 10.1.0.24, weight: 0}]
      - name: quic
        vips: ['fd00::2']
        ports: [{protocol: udp, port: 443}]
        buckets: 1024
        quicServerId: {offset: 3, length: 1}
        maxSegmentSize: 1300
        packetsPerSecond: 500000
        bytesPerSecond: 250000000
        statelessUdp: true
        holdSeconds: 3600
        slowStartSeconds: 60
        maintenance: {maxDraining: 25%}
        stageSettings: {stages: '5%,100%', bakeSeconds: 30, factorPercent: 300, minimumEvents: 5}
        mptcpPorts: {first: 20000, last: 20255}
        pool: []
      - name: tcp
        vips: [10.99.0.3]
        ports: [{protocol: tcp, port: 80}]
        buckets: 1024
        steering: othello
        othello: {reportAgeSeconds: 30, spacingSeconds: 90}
        pool: []
      - name: tcp-hunt
        vips: [10.99.0.4]
        ports: [{protocol: tcp, port: 80}]
        buckets: 1024
        steering: hunt
        hunt: {policy: static, threshold: 7, window: 20, epsilonThousandths: 0}
        pool: []
      - name: tcp-maat
        vips: [10.99.0.5]
        ports: [{protocol: tcp, port: 80}]
        buckets: 1024
        steering: maat
        maat: {preset: paper, load: agents, filterHashes: 1}
        healthCheck: {kind: https, host: www.example.org, verify: true, rise: 5}
        pool: []
      """;

  @TempDir private Path directory;
  private FairleadController controller;
  private ApiServer server;
  private int clusters;

  @BeforeEach
  void open() throws Exception {
    controller =
        Controllers.open(
            ControllerOptions.of(
                "embedded:" + directory.resolve("zookeeper" + clusters++),
                FreePorts.nextAddress(),
                "/fairlead",
                "test",
                InstantSource.system()));
    assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
    Ranges.set(controller);
    server =
        ApiServer.open(
            new Endpoint("127.0.0.1", 0),
            controller.plane(),
            Resources.of(controller),
            controller.metrics());
  }

  @AfterEach
  void close() {
    server.close();
    controller.close();
  }

  private CtlRun run(String... words) {
    return CtlRun.at("http://" + server.listen(), words);
  }

  private CtlRun with(String yaml, String... words) throws IOException {
    Path file = Files.writeString(directory.resolve("services.yaml"), yaml);
    return run(
        Stream.concat(Stream.of(words), Stream.of("-f", file.toString())).toArray(String[]::new));
  }

  private String generations() {
    StringBuilder all = new StringBuilder();
    Shown.services(controller)
        .forEach(s -> all.append(s.config().name()).append(s.version()).append(' '));
    return all.toString();
  }

  @Test
  void anExportMakesTheSameServicesElsewhere() throws Exception {
    CtlRun applied = with(TWO, "apply");
    assertThat(applied.err()).isEmpty();
    assertThat(applied.exit()).isZero();
    assertThat(applied.out())
        .isEqualTo(
            """
            dns: created, generation 1, 0 buckets moved
            web: created, generation 2, 1024 buckets moved
            2 created
            """);
    String exported = run("export").out();
    assertThat(exported).contains("name: \"web\"", "mptcpPorts:").doesNotContain("generation");
    close();
    open();
    assertThat(Shown.services(controller)).isEmpty();
    assertThat(with(exported, "apply").exit()).isZero();
    assertThat(run("export").out()).isEqualTo(exported);
    assertThat(run("export", "dns").out()).contains("dns").doesNotContain("web");
  }

  /**
   * All but the hash key, which is a secret, {@code maxBackends}, another word for buckets, and
   * {@code vipRanges}, which are the cluster's and stand beside the services.
   */
  @Test
  void everyFieldOfTheContractSurvivesAnExport() throws Exception {
    CtlRun applied = with(ALL, "apply");
    assertThat(applied.err()).isEmpty();
    String exported = run("export").out();
    JsonNode fields =
        new YAMLMapper()
            .readTree(ApplyTest.class.getResourceAsStream("/openapi.yaml"))
            .path("components")
            .path("schemas")
            .path("ServiceState")
            .path("properties");
    assertThat(fields).hasSizeGreaterThan(10);
    for (var field : fields.properties()) {
      if (!Set.of("maxBackends", "hashKey", "vipRanges").contains(field.getKey())) {
        assertThat(exported).contains(" " + field.getKey() + ":");
      }
    }
    for (String same : List.of(ALL, exported)) {
      assertThat(with(same, "diff").out())
          .isEqualTo(
              """
              old: as in the file
              quic: as in the file
              tcp: as in the file
              tcp-hunt: as in the file
              tcp-maat: as in the file
              """);
      assertThat(with(same, "apply").out()).endsWith("5 unchanged\n");
    }
    close();
    open();
    assertThat(with(exported, "apply").err()).isEmpty();
    assertThat(run("export").out()).isEqualTo(exported);
  }

  @Test
  void unchangedFilesMakeNoGenerationAndOneWeightMovesOnlyWhatItMust() throws Exception {
    with(TWO, "apply");
    String before = generations();
    for (String same : List.of(TWO, run("export").out())) {
      assertThat(with(same, "diff").exit()).isZero();
      CtlRun again = with(same, "apply");
      assertThat(again.out()).isEqualTo("dns: unchanged\nweb: unchanged\n2 unchanged\n");
      assertThat(generations()).isEqualTo(before);
    }
    String changed = TWO.replace("weight: 300", "weight: 100");
    CtlRun diff = with(changed, "diff");
    assertThat(diff.exit()).isEqualTo(4);
    assertThat(diff.out())
        .isEqualTo(
            """
            dns: as in the file
            web: different, 256 buckets would move
              backend 2: weight 300 -> 100
            """);
    CtlRun dry = with(changed, "apply", "--dry-run");
    assertThat(dry.out()).contains("web: would be changed, generation 3, 256 buckets moved");
    assertThat(generations()).isEqualTo(before);
    CtlRun applied = with(changed, "apply");
    assertThat(applied.out()).contains("web: changed, generation 3, 256 buckets moved");
    assertThat(applied.out()).contains("1 changed, 1 unchanged");
  }

  @Test
  void aServiceThatIsRefusedIsAsItWasAndTheOthersAreDone() throws Exception {
    with(TWO, "apply");
    String mixed =
        TWO.replace("10.1.0.22, weight: 300", "10.1.0.99")
            .replace("windowSeconds: 60", "windowSeconds: 30")
            .replace("10.99.0.53", "10.99.0.54");
    CtlRun run = with(mixed, "apply");
    assertThat(run.exit()).isEqualTo(1);
    assertThat(run.out())
        .isEqualTo("dns: changed, generation 1, 0 buckets moved\n1 changed, 1 refused\n");
    assertThat(run.err())
        .contains("web: refused: ", "10.1.0.22, the address of the live backend 2");
    assertThat(Shown.service(controller, "web").orElseThrow().config().windowSeconds())
        .isEqualTo(60);
    assertThat(with(mixed, "diff").exit()).isEqualTo(1);
    JsonNode report = Json.read(with(mixed, "-o", "json", "apply").out());
    assertThat(report.findValuesAsText("outcome")).containsExactly("unchanged", "refused");
  }

  @Test
  void addressesChangeHandsWithinOneFile() throws Exception {
    with(TWO, "apply");
    String swapped =
        TWO.replace("[10.99.0.53]", "[10.99.0.1]")
            .replace("[10.99.0.1, 'fd00::1']", "[10.99.0.7]")
            .replace("protocol: udp, port: 53", "protocol: tcp, port: 80");
    CtlRun run = with(swapped, "apply");
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).contains("2 changed");
    assertThat(Shown.service(controller, "dns").orElseThrow().config().vips())
        .containsExactly("10.99.0.1");
  }

  @Test
  void onlyPruneDeletesAndAPoolThatIsNotNamedStays() throws Exception {
    with(TWO, "apply");
    String web = TWO.substring(0, TWO.indexOf("- name: dns"));
    assertThat(with(web, "apply").out()).isEqualTo("web: unchanged\n1 unchanged\n");
    assertThat(with(web, "diff").out()).contains("dns: not in the file; 'apply --prune' would");
    String poolless = web.substring(0, web.indexOf("  pool:"));
    assertThat(with(poolless, "apply").out()).contains("1 unchanged");
    assertThat(Shown.backends(controller, "web")).hasSize(2);
    assertThat(with(web, "apply", "--prune", "--dry-run").out()).contains("dns: would be deleted");
    assertThat(Shown.services(controller)).hasSize(2);
    assertThat(with(web, "apply", "--prune").out())
        .isEqualTo("web: unchanged\ndns: deleted\n1 unchanged, 1 deleted\n");
    assertThat(Shown.services(controller)).hasSize(1);
    with(web.replace("- {id: 2, address: 10.1.0.22, weight: 300}", ""), "apply");
    assertThat(Shown.backends(controller, "web")).hasSize(1);
  }

  record Bad(String name, String yaml, String says) {}

  static List<Bad> badFiles() {
    return List.of(
        new Bad("no YAML", "services: [", "line "),
        new Bad("no list", "services: 3", "it has no list 'services'; allowed: services: [{name"),
        new Bad("empty", "", "it has no list 'services'"),
        new Bad("a list", "- name: web", "it has no list 'services'"),
        new Bad(
            "unknown field", "services: []\npools: []", "the field 'pools'; allowed: the field"),
        new Bad("no name", "services: [{vips: []}]", "services[0] has no name"),
        new Bad("name a number", "services: [{name: 7}]", "services[0] has no name"),
        new Bad("twice", "services: [{name: a}, {name: a}]", "services[1] is 'a' again"),
        new Bad("key twice", "services: [{name: a, name: b}]", "Duplicate field 'name'"),
        new Bad("two documents", "services: []\n---\nservices: []", "Trailing token"));
  }

  @Test
  void aBadFileChangesNothing() throws Exception {
    for (Bad bad : badFiles()) {
      for (String verb : List.of("apply", "diff")) {
        CtlRun run = with(bad.yaml(), verb);
        assertThat(run.exit()).as("%s: %s", bad.name(), run.err()).isEqualTo(2);
        assertThat(run.err()).as(bad.name()).contains("-f '", bad.says());
      }
    }
    assertThat(run("apply", "-f", "/nowhere").err()).contains("'/nowhere' cannot be read");
  }

  @Test
  void whatTheControllerRefusesNamesTheField() throws Exception {
    CtlRun run = with("services: [{name: web, vip: 10.99.0.1}]", "apply");
    assertThat(run.exit()).isEqualTo(1);
    assertThat(run.err()).contains("web: refused: vip '10.99.0.1' is refused; allowed: the fields");
    assertThat(run.out()).isEqualTo("1 refused\n");
    assertThat(with("services: [{name: A/B}]", "apply").err()).contains("A/B: refused: name 'A/B'");
  }
}
