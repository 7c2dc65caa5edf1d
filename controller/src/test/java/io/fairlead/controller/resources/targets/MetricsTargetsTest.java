// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.targets;

import static io.fairlead.controller.resources.muxes.Muxes.mux;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Security;
import io.fairlead.controller.leader.MemoryController;
import io.fairlead.controller.resources.health.ProbeNode;
import io.fairlead.controller.resources.muxes.MetricsUrl;
import io.fairlead.controller.resources.targets.MetricsTargets.Part;
import io.fairlead.controller.resources.targets.MetricsTargets.Target;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What Prometheus is told to scrape: by nodes and ids, in the API's form, and in a file. */
class MetricsTargetsTest {
  private static Optional<MetricsUrl> url(String text) {
    return MetricsUrl.of("mux 'm'", new TextNode(text));
  }

  @Test
  void allPartsById() {
    MetricsTargets targets =
        new MetricsTargets(
            () -> List.of("c2/10.1.0.6:8080", "c1/0.0.0.0:8080", "c1/process 17"),
            () -> Optional.of(URI.create("https://10.1.0.6:8080")),
            () ->
                List.of(
                    mux("mux1", "10.1.0.11", List.of(), Map.of()),
                    mux("mux2", "10.1.0.12", List.of(), Map.of())
                        .withMetrics(url("https://10.1.0.12:9108/metrics"))),
            () ->
                Map.of(
                    "mux1", url("http://10.1.0.12:9109/metrics").orElseThrow(),
                    "mux2", url("http://10.1.0.12:9109/metrics").orElseThrow(),
                    "gone", url("http://10.1.0.13:9109/metrics").orElseThrow()));
    assertThat(targets.list(Optional.empty()))
        .extracting(Target::toString)
        .containsExactly(
            "Target[targets=[10.1.0.6:8080], labels={__metrics_path__=/metrics,"
                + " __scheme__=https, instance=10.1.0.6:8080, part=controller}]",
            "Target[targets=[c1:8080], labels={__metrics_path__=/metrics,"
                + " __scheme__=https, instance=c1:8080, part=controller}]",
            "Target[targets=[10.1.0.12:9108], labels={__metrics_path__=/metrics,"
                + " __scheme__=https, instance=mux2, part=mux}]",
            "Target[targets=[10.1.0.12:9109], labels={__metrics_path__=/metrics,"
                + " __scheme__=http, instance=mux2, part=probe}]");
    assertThat(targets.list(Optional.of(Part.PROBE))).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({
    "c1/10.1.0.5:8080, 10.1.0.5:8080",
    "c1/[fd00::5]:8080, [fd00::5]:8080",
    "c1/[::]:8080, c1:8080",
    "c1/0.0.0.0:443, c1:443",
    "c1/process 12,",
    "c1,",
    "a:1/b,"
  })
  void controllersAreWhereTheyListen(String id, String endpoint) {
    assertThat(MetricsTargets.endpoint(id)).isEqualTo(Optional.ofNullable(endpoint));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "10.1.0.12:9108",
        "ftp://10.1.0.12:9108/metrics",
        "http://10.1.0.12/metrics",
        "http://10.1.0.12:9108",
        "http://10.1.0.12:9108/",
        "http://10.1.0.12:9108/metrics/../x",
        "http://10.1.0.12:9108/metrics?x",
        "http://10.1.0.12:9108/a b",
        "http://user@10.1.0.12:9108/metrics",
        "http://fd00::12:9108/metrics"
      })
  void malformedUrlsAreLeftOut(String text) {
    assertThat(url(text)).isEmpty();
  }

  /** Only at an address that the mux has, as written there or not, and that others can reach. */
  @ParameterizedTest
  @CsvSource({
    "http://10.1.0.12:9108/metrics, true",
    "https://[fd00::12]:9108/metrics, true",
    "http://[fd00:0:0::12]:9108/metrics, true",
    "http://10.1.0.13:9108/metrics, false",
    "http://10.1.0.1:9108/metrics, false",
    "http://mux2:9108/metrics, false",
    "http://10.1.0.12.example:9108/metrics, false",
    "http://0x0a01000c:9108/metrics, false",
    "http://167837708:9108/metrics, false",
    "http://010.1.0.12:9108/metrics, false",
    "http://[::ffff:10.1.0.12]:9108/metrics, false",
    "http://127.0.0.1:9108/metrics, false",
    "http://[::1]:9108/metrics, false",
    "http://0.0.0.0:9108/metrics, false",
    "http://169.254.169.254:80/metrics, false",
    "http://[fe80::1]:9108/metrics, false"
  })
  void aMuxIsReadAtItsOwnAddress(String text, boolean isAt) {
    List<String> own =
        List.of(
            "10.1.0.12",
            "FD00::12",
            "mux2",
            "127.0.0.1",
            "::1",
            "0.0.0.0",
            "169.254.169.254",
            "fe80::1");
    assertThat(url(text).orElseThrow().isAt(own)).isEqualTo(isAt);
  }

  /** The rest of the node counts. */
  @Test
  void aProbeSaysWhereItsMetricsAre() throws IOException {
    String node = "{\"format\":1,\"id\":\"mux1\",\"services\":{},\"metrics\":%s}";
    assertThat(probe(node.formatted("\"http://10.1.0.11:9109/metrics\"")).metrics())
        .contains(new MetricsUrl("http", "10.1.0.11:9109"));
    for (String odd : List.of("null", "3", "[]", "\"x\"")) {
      assertThat(probe(node.formatted(odd)).metrics()).as(odd).isEmpty();
    }
    assertThat(probe("{\"format\":1,\"id\":\"mux1\",\"services\":{}}").metrics()).isEmpty();
  }

  private static ProbeNode probe(String json) throws IOException {
    return ProbeNode.parse("mux1", json.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void theCommandListsThemOrWritesAFile(@TempDir Path folder) throws IOException {
    try (MemoryController controller = new MemoryController();
        ApiServer server = controller.serve(Security.NONE)) {
      String api = "http://" + server.listen();
      Path file = folder.resolve("muxes.json");
      String write = "metrics targets --part mux --file " + file;
      assertThat(CtlRun.done(api, write)).isEqualTo(file + ": targets: 0\n");
      controller.mux(
          mux("mux1", "10.1.0.11", List.of(), Map.of())
              .withMetrics(url("http://10.1.0.11:9108/metrics")));
      assertThat(CtlRun.done(api, "metrics targets"))
          .isEqualTo(
              """
              PART        ID             METRICS
              controller  10.1.0.5:8080  http://10.1.0.5:8080/metrics
              mux         mux1           http://10.1.0.11:9108/metrics
              """);
      assertThat(CtlRun.done(api, write)).isEqualTo(file + ": targets: 1\n");
      String written = Files.readString(file);
      assertThat(new ObjectMapper().readTree(written).at("/0/labels/instance").asText())
          .isEqualTo("mux1");
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
          .isEqualTo("rw-r--r--");
      assertThat(folder).isDirectoryContaining(each -> each.equals(file));
      assertThat(Files.list(folder)).hasSize(1);

      CtlRun.done(api, "mux remove mux1 --force");
      assertThat(CtlRun.at(api, write.split(" ")).err()).contains("is left as it is");
      assertThat(file).hasContent(written);
      assertThat(CtlRun.at(api, "metrics", "targets", "--file", "/nowhere/f").err())
          .contains("--file '/nowhere/f' cannot be written");
      assertThat(CtlRun.at(api, "metrics", "targets", "--part", "server").err()).contains("part");
    }
  }
}
