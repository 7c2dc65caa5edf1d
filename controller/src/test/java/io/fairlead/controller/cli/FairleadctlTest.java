// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static io.fairlead.controller.resources.muxes.Muxes.behind;
import static io.fairlead.controller.resources.muxes.Muxes.mux;
import static io.fairlead.controller.resources.muxes.Muxes.serving;
import static io.fairlead.controller.resources.muxes.Muxes.unsupported;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpServer;
import io.fairlead.controller.CtlRun;
import io.fairlead.controller.FreePorts;
import io.fairlead.controller.http.ServedApi;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.backends.Change.Weight;
import io.fairlead.controller.resources.muxes.MuxServes;
import io.fairlead.controller.resources.muxes.MuxView;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every verb against a real HTTP server: what it prints, in both formats, and its exit code. */
class FairleadctlTest extends ServedApi {
  private CtlRun run(String... words) {
    return CtlRun.at(url(), words);
  }

  private String done(String line) {
    return CtlRun.done(url(), line);
  }

  private void createWeb() {
    done("service create web --vip 10.99.0.1 fd00::1 --port tcp:80 tcp:443 --buckets 1024");
    done("backend add web 1 10.1.0.21");
  }

  @Test
  void assignment() {
    createWeb();
    assertThat(done("service show web")).containsPattern("assignment +beamer");
    done("service change web --assignment maglev");
    assertThat(done("service show web")).containsPattern("assignment +maglev");
    assertThat(run("service", "change", "web", "--assignment", "magic").err())
        .contains("rendezvous");
  }

  @Test
  void upkeep() {
    createWeb();
    assertThat(done("upkeep web")).contains("fragmentation  1.000").contains("upkeep", "none yet");
    done("backend add web 2 10.1.0.22");
    assertThat(done("rebalance web --target 1.1 --load 1=812.5,2=640 --dry-run"))
        .contains("would start to rebalance web");
    assertThat(done("defragment web --max-moves 3")).contains("started to defragment web");
    assertThat(done("upkeep web")).contains("defragment, reached", "iterations     1\n");
    assertThat(done("defragment web --stop")).contains("stopped upkeep of web");
    assertThat(run("rebalance", "web", "--target", "0.5").err()).contains("target");
    assertThat(run("rebalance", "web", "--load", "1:2").err()).contains("ID=LOAD");
  }

  @Test
  void mptcpPorts() {
    createWeb();
    assertThat(done("service show web")).doesNotContain("mptcp");
    done("service change web --mptcp-ports 20000-20999");
    assertThat(done("service show web")).contains("mptcp ports  20000-20999\n");
    done("service change web --mptcp-ports none");
    assertThat(done("service show web")).doesNotContain("mptcp");
    done("service create sip --vip 10.99.0.2 --port tcp:5060 --mptcp-ports 1-9");
    assertThat(done("service show sip")).contains("mptcp ports  1-9\n");
    for (String range : List.of("20000", "20000:20999", "-1-5", "100000-100001", "all")) {
      CtlRun run = run("service", "change", "web", "--mptcp-ports", range);
      assertThat(run.exit()).as(range).isEqualTo(2);
      assertThat(run.err()).contains("'" + range + "' is refused; allowed: FIRST-LAST");
    }
  }

  @Test
  void quicServerIdAndSegmentSize() {
    done(
        "service create web --vip 10.99.0.1 --port udp:443 --buckets 1024"
            + " --quic-server-id 3:1 --max-segment-size 1300");
    assertThat(done("service show web"))
        .contains("quic server id  3:1\n", "max segment     1300\n");
    done("service change web --quic-server-id 1:2");
    assertThat(done("service show web"))
        .contains("quic server id  1:2\n", "max segment     1300\n");
    done("service change web --max-segment-size 1400 --quic-server-id none");
    assertThat(done("service show web")).contains("max segment  1400\n").doesNotContain("quic");
    done("service change web --max-segment-size none");
    assertThat(done("service show web")).doesNotContain("max segment");
    for (String at : List.of("1", "1-2", "-1:2", "100:1", "1:22", "all")) {
      CtlRun run = run("service", "change", "web", "--quic-server-id", at);
      assertThat(run.exit()).as(at).isEqualTo(2);
      assertThat(run.err()).contains("'" + at + "' is refused; allowed: OFFSET:LENGTH");
    }
    for (String size : List.of("-1", "1.5", "100000", "all")) {
      CtlRun run = run("service", "change", "web", "--max-segment-size", size);
      assertThat(run.exit()).as(size).isEqualTo(2);
      assertThat(run.err()).contains("'" + size + "' is refused; allowed: bytes");
    }
    assertThat(run("service", "change", "web", "--quic-server-id", "20:1").err()).contains("0..19");
    assertThat(run("service", "change", "web", "--max-segment-size", "70000").err())
        .contains("536..65535");
    assertThat(done("service show web")).doesNotContain("quic", "max segment");
  }

  @Test
  void everyVerbForPeople() {
    assertThat(done("service list")).isEqualTo("there are no services\n");
    assertThat(done("service create web --vip 10.99.0.1,fd00::1 --port tcp:80 --buckets 1024"))
        .isEqualTo("created service web: generation 1\n");
    assertThat(done("backend list web")).isEqualTo("service web has no backends\n");
    assertThat(done("explain web tcp 10.2.1.2:4 10.99.0.1:80"))
        .contains("backend     none")
        .contains("former      none\nkept        for the window of 240 s, until the agents of");
    assertThat(done("backend add web 1 10.1.0.21"))
        .isEqualTo(
            """
            added backend 1 of web at 10.1.0.21: generation 2
            moved 1024 buckets: 1024 from none to 1
            BACKEND  WEIGHT  BEFORE  AFTER
                  1     100       0   1024
            """);
    var before = controller.state();
    assertThat(done("backend add web 12 fd00::12 --weight 300 --dry-run"))
        .startsWith(
            """
            would add backend 12 of web at fd00::12: generation 3
            would move 768 buckets: 768 from 1 to 12
            backend 1 gives 768 buckets with an unknown number of connections\
            """)
        .endsWith(
            """
            of 0 connections now, and those of 1 backend of which no agent reports
            BACKEND  WEIGHT  BEFORE  AFTER
                  1     100    1024    256
                 12     300       0    768
            """);
    assertThat(controller.state()).isEqualTo(before);
    done("backend add web 12 fd00::12 --weight 300");
    assertThat(done("backend list web"))
        .isEqualTo(
            """
            ID  ADDRESS    WEIGHT  STATE   BUCKETS   SHARE  AGENT
             1  10.1.0.21     100  active      256  25.0 %  none
            12  fd00::12      300  active      768  75.0 %  none
            """);
    assertThat(done("ring web"))
        .isEqualTo(
            """
            web: 1024 buckets, generation 3
            BACKEND  BUCKETS   SHARE  RUNS
                  1      256  25.0 %  768-1023
                 12      768  75.0 %  0-767
            """);
    assertThat(done("explain web tcp 10.2.1.2:40001 10.99.0.1:80"))
        .containsPattern("hash {8}0x[0-9a-f]{8}\n")
        .containsPattern("backend {5}(1 at 10.1.0.21|12 at fd00::12)\n")
        .containsPattern("former {6}(none|\\d at \\S+, lost it at \\S+Z)");
    assertThat(done("backend weight web 12 100")).startsWith("set the weight of backend 12 of web");
    assertThat(done("backend drain web 1 --dry-run"))
        .startsWith("would drain backend 1 of web: generation 5\n")
        .contains("would move 512 buckets: ");
    assertThat(done("backend drain web 1")).startsWith("draining backend 1 of web: generation 5\n");
    assertThat(done("backend remove web 1")).isEqualTo("removed backend 1 of web: generation 6\n");
    assertThat(done("service change web --vip 10.99.0.2 --port udp:53 --window 60 --force"))
        .isEqualTo(
            """
            changed service web: generation 6
            1024 buckets have former owners, 1024 of them for less time, 0 no longer: their older connections break then, as asked for
            """);
    assertThat(done("service show web"))
        .isEqualTo(
            """
            name        web
            id          1
            vips        10.99.0.2
            ports       udp:53
            steering    ring
            buckets     1024
            hash        siphash
            affinity    connection
            assignment  beamer
            encap       gue
            window      60 s
            hold        0 s, by default
            generation  6
            backends    1
            """);
    assertThat(done("service list"))
        .isEqualTo(
            """
            NAME  ID  VIPS       PORTS   BUCKETS  BACKENDS  GENERATION
            web    1  10.99.0.2  udp:53     1024         1           6
            """);
    assertThat(done("muxes")).isEqualTo("no mux is added; fairleadctl mux add ID does so\n");
    controller.mux(mux("mux1", "10.1.0.11", List.of("eth0", "eth1"), Map.of("web", serving(6))));
    controller.mux(mux("mux2", "10.1.0.12", List.of("eth0"), Map.of()));
    controller.mux(
        new MuxView(
            "mux3",
            "p4",
            "0.1.0",
            Optional.empty(),
            Optional.of("fd00::13"),
            List.of("eth0"),
            Optional.of(
                new MuxServes(
                    Optional.of(List.of("gue", "ipip")),
                    Optional.of(List.of("ring")),
                    Optional.of(2048))),
            Map.of(),
            new TreeMap<>(Map.of("web", behind(5), "zone", unsupported("hash: siphash")))));
    assertThat(done("muxes"))
        .isEqualTo(
            """
            MUX   KIND  ADDRESS    VERSION  PORTS      SERVICE  GENERATION  STATE
            mux1  c     10.1.0.11  0.1.0    eth0 eth1  web               6  serving
            mux2  c     10.1.0.12  0.1.0    eth0       -                 -  -
            mux3  p4    fd00::13   0.1.0    eth0       web               5  serving, withdrawn: behind
            mux3  p4    fd00::13   0.1.0    eth0       zone              0  loading, refused: unsupported
            mux3 serves services with encap gue, ipip; steering ring; at most 2048 buckets
            mux3 refuses of zone: hash: siphash
            """);
    assertThat(done("health"))
        .isEqualTo(
            """
            leader     yes
            epoch      1
            zookeeper  connected
            services   1
            """);
    assertThat(done("service delete web --dry-run"))
        .contains("0 connections would end, and those of 1 backend of which no agent reports");
    assertThat(done("service delete web")).startsWith("deleted service web: generation 6\n");
    assertThat(done("service undelete web")).contains("restored service web: generation 7\n");
  }

  @Test
  void bucketsWithFormerOwnersAreTold() {
    createWeb();
    String chained = "170 of them have former owners already: packets of theirs name one more\n";
    assertThat(done("backend add web 2 10.1.0.22 --dry-run")).doesNotContain("former owner");
    done("backend add web 2 10.1.0.22");
    for (String line : List.of("backend add web 3 10.1.0.23 --dry-run", "backend add web 3 ::3")) {
      assertThat(done(line)).as(line).contains(chained);
    }
  }

  @Test
  void aDeadBackendIsNoLongerChainedTo() {
    createWeb();
    done("backend add web 2 10.1.0.22");
    done("backend add web 3 10.1.0.23");
    assertThat(done("backend remove web 3 --dead --dry-run"))
        .startsWith("would remove backend 3 of web: generation ")
        .doesNotContain("dead backend");
    done("backend remove web 3");
    assertThat(done("backend remove web 3 --dead --dry-run"))
        .containsPattern(
            "would remove backend 3 of web: generation \\d+\n"
                + "\\d+ buckets would be no longer chained to a dead backend: its clients"
                + " reconnect\n"
                + "would move no buckets\n");
    assertThat(done("backend remove web 3 --dead"))
        .containsPattern("\\d+ buckets are no longer chained to a dead backend");
    assertThat(run("backend remove web 3 --dead".split(" ")).err())
        .contains("allowed: a backend of service 'web', or a removed one that packets are still");
  }

  @Test
  void bucketsThatWouldLoseAnOwnerAreTold() {
    createWeb();
    controller.change(
        "web", IntStream.rangeClosed(2, 9).<Change>mapToObj(id -> added(id)).toList());
    for (int only = 2; only <= 6; only++) {
      List<Change> changes = new ArrayList<>();
      for (int id = 1; id <= 9; id++) {
        changes.add(new Weight(id, id == only ? 100 : 0));
      }
      controller.change("web", changes);
    }
    String last = "backend weight web 9 65535";
    assertThat(done(last + " --dry-run"))
        .containsPattern(
            "\\d+ full buckets would lose the oldest former owner, whose connections break: refused"
                + " without --force;"
                + " --when-safe lets them wait\n");
    assertThat(run(last.split(" ")).err()).contains("force 'false' is refused; allowed: true: ");
    assertThat(done(last + " --when-safe --dry-run"))
        .containsPattern(
            "\\d+ buckets would wait for room for another former owner: see 'fairleadctl upkeep'");
    assertThat(done(last + " --force"))
        .containsPattern(
            "\\d+ full buckets lost the oldest former owner, whose connections break: as asked"
                + " for\n");
  }

  @Test
  void anExportIsOfOneMomentOrNone() {
    createWeb();
    change(1);
    assertThat(done("export web")).contains("address: \"10.1.0.21\"\n    weight: 2\n");
    change(30);
    CtlRun run = run("export");
    assertThat(run.exit()).isEqualTo(1);
    assertThat(run.out()).isEmpty();
    assertThat(run.err()).isEqualTo("service 'web' has changed at each of 10 reads; try again\n");
  }

  private static Change added(int id) {
    return new Change.Add(id, "10.1.0.2" + id, 100);
  }

  /** Something changes during this many reads. */
  private void change(int times) {
    controller
        .plane()
        .meanwhile(
            () -> {
              controller.change("web", List.of(new Weight(1, 1 + times)));
              if (times > 1) {
                change(times - 1);
              }
            });
  }

  @Test
  void jsonIsTheAnswerOfTheApi() throws IOException {
    createWeb();
    Map<String, String> reads =
        Map.of(
            "service list", "/v1/services",
            "service show web", "/v1/services/web",
            "backend list web", "/v1/services/web/backends",
            "ring web", "/v1/services/web/ring",
            "explain web tcp [fd00::2]:5 [fd00::1]:80",
                "/v1/services/web/explain?protocol=tcp&source=fd00::2&sourcePort=5"
                    + "&destination=fd00::1&destinationPort=80",
            "muxes", "/v1/muxes",
            "cluster show", "/v1/cluster",
            "health", "/healthz");
    reads.forEach(
        (verb, path) ->
            assertThat(done(verb + " -o json")).as(verb).isEqualTo(client.get(path).body() + "\n"));
    JsonNode planned = Json.read(done("-o json backend weight web 1 7 --dry-run"));
    assertThat(planned.path("dryRun").asBoolean()).isTrue();
    assertThat(planned.path("shares").path(0).path("weight").asInt()).isEqualTo(7);
  }

  @Test
  void everythingOfAServiceCanBeSaid() {
    done(
        "service create web --vip 10.99.0.1 --vip 10.99.0.2 --port tcp:80 --port udp:443"
            + " --max-backends 7 --hash crc32 --hash-key 000102030405060708090a0b0c0d0e0f"
            + " --affinity client --window 17");
    assertThat(client.get("/v1/services/web").body())
        .contains("[\"10.99.0.1\",\"10.99.0.2\"]", "\"buckets\":1024", "crc32", "client")
        .contains("{\"protocol\":\"udp\",\"port\":443}", "\"windowSeconds\":17");
  }

  @Test
  void changesComeFromAFileOrStandardInput(@TempDir Path directory) throws IOException {
    createWeb();
    Path file = directory.resolve("changes.json");
    Files.writeString(
        file,
        """
        {"changes": [{"op": "add", "id": 2, "address": "10.1.0.22"},
                     {"op": "weight", "id": 1, "weight": 0}]}
        """);
    assertThat(done("changes web -f " + file + " --dry-run"))
        .startsWith("would commit 2 changes of web: generation 3\nwould move 1024 buckets");
    InputStream stdin = System.in;
    System.setIn(new ByteArrayInputStream(Files.readAllBytes(file)));
    try {
      assertThat(done("changes web -f -")).startsWith("committed 2 changes of web: generation 3\n");
    } finally {
      System.setIn(stdin);
    }
    Files.writeString(file, "{\"changes\": [\n{\"op\": }]}", StandardCharsets.UTF_8);
    CtlRun malformed = run("changes", "web", "-f", file.toString());
    assertThat(malformed.exit()).isEqualTo(2);
    assertThat(malformed.err()).contains(file.toString(), "line 2", "one JSON document");
    CtlRun missing = run("changes", "web", "-f", directory + "/none");
    assertThat(missing.exit()).isEqualTo(2);
    assertThat(missing.err()).contains("/none' cannot be read");
  }

  record Failure(String line, int exit, String sentence) {
    @Override
    public String toString() {
      return line + " -> " + exit;
    }
  }

  static Stream<Failure> failures() {
    return Stream.of(
        new Failure(
            "service show wbe", 1, "service 'wbe' does not exist; allowed: an existing service"),
        new Failure("service show Web", 1, "name 'Web' is refused; allowed: 1..63 lower-case"),
        new Failure("service show a/b", 1, "name 'a/b' is refused; allowed: 1..63 lower-case"),
        new Failure(
            "service create web --vip ::9 --port tcp:80",
            1,
            "name 'web' is refused; allowed: a name that no service has"),
        new Failure(
            "service create x --vip host --port tcp:80",
            1,
            "vips[0] 'host' is refused; allowed: an IPv4 or IPv6 address"),
        new Failure(
            "service create x --vip ::9 --port tcp:0",
            1,
            "ports[0].port '0' is refused; allowed: an integer in 1..65535"),
        new Failure(
            "backend add web 1 10.1.0.21", 1, "id '1' is refused; allowed: an id that no backend"),
        new Failure(
            "backend weight web 1 70000", 1, "weight '70000' is refused; allowed: an integer"),
        new Failure("backend drain web 9", 1, "ids '9' does not exist; allowed:"),
        new Failure(
            "backend remove web 0", 1, "id '0' is refused; allowed: an integer in 1..65535"),
        new Failure("explain web icmp 10.2.1.2:1 10.99.0.1:80", 1, "protocol 'icmp' is refused"),
        new Failure("", 2, "Missing required subcommand"),
        new Failure("service", 2, "Missing required subcommand"),
        new Failure("frobnicate", 2, "'frobnicate'"),
        new Failure("service create", 2, "NAME"),
        new Failure("service create x --port tcp:80", 2, "--vip"),
        new Failure("service create x --vip ::9", 2, "--port"),
        new Failure(
            "service create x --vip ::9 --port 80",
            2,
            "'80' is refused; allowed: tcp:PORT or udp:PORT"),
        new Failure(
            "service create x --vip ::9 --port tcp:80 --buckets 256 --max-backends 2",
            2,
            "mutually exclusive"),
        new Failure("service change web", 2, "nothing to change; allowed: --vip, --port, --window"),
        new Failure("backend add web one 10.1.0.21", 2, "'one' is not an int"),
        new Failure("changes web", 2, "--file"),
        new Failure("backend drain web 1 --force --when-safe", 2, "mutually exclusive"),
        new Failure("service delete web --force", 2, "'--force'"),
        new Failure("explain web tcp 10.2.1.2 10.99.0.1:80", 2, "SRC:PORT '10.2.1.2' is refused"),
        new Failure("service list -o xml", 2, "expected one of [table, json]"),
        new Failure("--api ftp://host service list", 2, "--api 'ftp://host' is refused"),
        new Failure("--api http:// service list", 2, "--api 'http://' is refused"));
  }

  @ParameterizedTest
  @MethodSource("failures")
  void failsWithOneSentenceAndItsExitCode(Failure failure) {
    createWeb();
    var before = controller.state();
    CtlRun run =
        failure.line().startsWith("--api")
            ? CtlRun.of(failure.line().split(" "))
            : run(failure.line().isEmpty() ? new String[0] : failure.line().split(" "));
    assertThat(run.exit()).as(run.err()).isEqualTo(failure.exit());
    assertThat(run.out()).isEmpty();
    assertThat(run.err()).contains(failure.sentence());
    assertThat(run.err().lines()).hasSize(failure.exit() == 2 ? 2 : 1);
    assertThat(controller.state()).isEqualTo(before);
  }

  @Test
  void refusalsWhileZooKeeperIsAway() {
    createWeb();
    controller.disconnect();
    CtlRun run = run("backend", "drain", "web", "1");
    assertThat(run.exit()).isEqualTo(1);
    assertThat(run.err())
        .isEqualTo("zookeeper: suspended; allowed: to try again; nothing was written\n");
    assertThat(done("health")).contains("leader     no\n", "zookeeper  suspended");
  }

  @Test
  void healthOfWhoFollowsNamesWhoLeads() {
    controller.follow(URI.create("http://10.1.0.6:8080"));
    assertThat(done("health")).contains("leader     no, it is http://10.1.0.6:8080\n");
  }

  @Test
  void unreachableIsThree() {
    int free = FreePorts.next();
    CtlRun run = CtlRun.of("--api", "http://127.0.0.1:" + free, "service", "list");
    assertThat(run.exit()).isEqualTo(3);
    assertThat(run.err())
        .isEqualTo(
            "the controller at http://127.0.0.1:%d cannot be reached: connection refused\n"
                .formatted(free));
    CtlRun unknown = CtlRun.of("--api", "http://nowhere.invalid:8080", "service", "list");
    assertThat(unknown.exit()).isEqualTo(3);
    assertThat(unknown.err())
        .isEqualTo(
            "the controller at http://nowhere.invalid:8080 cannot be reached: the host"
                + " 'nowhere.invalid' is unknown\n");
  }

  @Test
  void anotherHttpServerIsNoController() throws IOException {
    HttpServer other =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    other.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(200, 5);
          exchange.getResponseBody().write("hello".getBytes(StandardCharsets.US_ASCII));
          exchange.close();
        });
    other.start();
    try {
      String url = "http://127.0.0.1:" + other.getAddress().getPort();
      CtlRun run = CtlRun.of("--api", url, "health");
      assertThat(run.exit()).isEqualTo(3);
      assertThat(run.err()).startsWith("the server at " + url + " is not a Fairlead controller");
    } finally {
      other.stop(0);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "service",
        "service create",
        "service list",
        "service show",
        "service change",
        "service delete",
        "backend",
        "backend add",
        "backend weight",
        "backend drain",
        "backend remove",
        "backend list",
        "changes",
        "ring",
        "explain",
        "muxes",
        "health"
      })
  void helpFitsATerminalAndShowsAnExample(String verb) {
    CtlRun run = CtlRun.of((verb + " --help").strip().split(" "));
    assertThat(run.exit()).isZero();
    assertThat(run.out().lines().allMatch(line -> line.length() <= 80)).isTrue();
    if (!verb.equals("service") && !verb.equals("backend")) {
      assertThat(run.out()).containsPattern("Examples?:").contains("  fairleadctl " + verb);
    }
  }
}
