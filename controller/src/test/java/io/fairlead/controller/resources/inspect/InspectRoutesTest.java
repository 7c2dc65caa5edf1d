// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.inspect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.ServedApi;
import io.fairlead.controller.resources.inspect.FakeMux.Says;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.secret.SecretFile;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the controller asks muxes for, and what it makes of their answers. */
class InspectRoutesTest extends ServedApi {
  private final List<MuxView> muxes = new ArrayList<>();

  @Override
  protected List<Resource> resources() {
    return List.of(new InspectRoutes(() -> muxes, MuxAccess.NONE));
  }

  private static final String FLOW =
      "?protocol=tcp&source=10.2.1.2&sourcePort=4&destination=10.99.0.1&destinationPort=80";
  private static final String AT = "/v1/services/web/muxes/mux1/";
  private static final Says REFUSED =
      new Says(
          404,
          "application/problem+json",
          "{\"status\":404,\"field\":\"service\",\"value\":\"web\",\"allowed\":\"one with a"
              + " ring\"}");

  @TempDir private Path folder;

  @Test
  void aMuxIsAskedForTheServiceOfThePathAlone() throws IOException {
    Says packets = new Says(200, "application/x-pcapng", "packets");
    try (FakeMux mux = new FakeMux(Map.of("/sample", packets))) {
      muxes.add(mux.node("mux1"));
      Reply sample = client.get(AT + "sample?seconds=2&verdict=service,no_backend");
      assertThat(sample.status()).isEqualTo(200);
      assertThat(sample.body()).isEqualTo("packets");
      assertThat(sample.header("Cache-Control")).isEqualTo("no-store");
      assertThat(sample.header("Content-Type")).isEqualTo("application/x-pcapng");
      assertThat(client.get(AT + "sample?service=api").status()).isEqualTo(400);
      assertThat(mux.asked())
          .containsExactly("/sample?service=web&seconds=2&verdict=service%2Cno_backend");
    }
  }

  /** A browser must not take what a mux says for a page of the controller. */
  @ParameterizedTest
  @CsvSource({
    "/v1/muxes/mux1/metrics, /metrics, text/plain; version=0.0.4; charset=utf-8",
    "/v1/services/web/muxes/mux1/explain" + FLOW + ", /explain, application/json",
    "/v1/services/web/muxes/mux1/sample, /sample, application/x-pcapng",
  })
  void theMediaTypeIsOurs(String path, String asked, String mediaType) throws Exception {
    String page = "<script>fetch('/v1/services')</script>";
    try (FakeMux mux = new FakeMux(Map.of(asked, new Says(200, "text/html", page)))) {
      muxes.add(mux.node("mux1"));
      HttpResponse<String> reply =
          HttpClient.newHttpClient()
              .send(
                  HttpRequest.newBuilder(URI.create(url() + path)).build(),
                  HttpResponse.BodyHandlers.ofString());
      assertThat(reply.statusCode()).isEqualTo(200);
      assertThat(reply.body()).isEqualTo(page);
      assertThat(reply.headers().allValues("Content-Type")).containsExactly(mediaType);
      assertThat(reply.headers().allValues("X-Content-Type-Options")).containsExactly("nosniff");
      assertThat(reply.headers().firstValue("Content-Security-Policy").orElseThrow())
          .contains("sandbox");
    }
  }

  @Test
  void aRedirectIsNotFollowed() throws IOException {
    try (FakeMux elsewhere = new FakeMux(Map.of());
        FakeMux mux = new FakeMux(Map.of(), Map.of("Location", elsewhere.url() + "/metrics"))) {
      muxes.add(mux.node("mux1"));
      Reply refused = client.get("/v1/muxes/mux1/metrics");
      assertThat(refused.status()).isEqualTo(503);
      assertThat(refused.json().getString("value")).isEqualTo("mux1 answered 302");
      assertThat(elsewhere.asked()).isEmpty();
    }
  }

  /** The mux writes for as long as it is read. */
  @ParameterizedTest
  @CsvSource({"200", "404"})
  void anAnswerWithoutEndIsCut(int status) throws IOException {
    try (FakeMux mux = FakeMux.endless(status)) {
      muxes.add(mux.node("mux1"));
      String path = "/v1/services/web/muxes/mux1/explain" + FLOW;
      if (status == 200) {
        assertThatThrownBy(() -> client.get(path)).hasRootCauseInstanceOf(IOException.class);
        assertThat(client.get("/metrics").body())
            .contains("fairlead_controller_mux_answers_cut_total{reason=\"bytes\"} 1");
      } else {
        Reply refused = client.get(path);
        assertThat(refused.status()).isEqualTo(503);
        assertThat(refused.json().getString("value"))
            .contains("did not end its answer: it has more than 65536 bytes");
      }
    }
  }

  @Test
  void whatAMuxRefusesIsSaidInItsWords() throws IOException {
    try (FakeMux mux = new FakeMux(Map.of("/explain", REFUSED))) {
      muxes.add(mux.node("mux1"));
      Reply refused = client.get(AT + "explain" + FLOW);
      assertThat(refused.status()).isEqualTo(404);
      assertThat(refused.json().getString("field")).isEqualTo("service");
      assertThat(refused.json().getString("allowed"))
          .isEqualTo("one with a ring (as mux mux1 says)");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "401 | mux1 answered 401: it does not know the --muxes-token",
        "404 | mux1 answered 404",
        "500 | mux1 answered 500",
      })
  void anyOtherAnswerIsAFaultOfTheMux(int status, String value) throws IOException {
    Map<String, Says> answers = Map.of("/metrics", new Says(status, "text/html", "<p>no</p>"));
    try (FakeMux mux = new FakeMux(answers)) {
      muxes.add(mux.node("mux1"));
      Reply refused = client.get("/v1/muxes/mux1/metrics");
      assertThat(refused.status()).isEqualTo(503);
      assertThat(refused.json().getString("value")).isEqualTo(value);
    }
  }

  @Test
  void aMuxThatIsNotThereOrNotReached() throws IOException {
    muxes.add(Muxes.mux("mux2", "10.1.0.12", List.of("eth0"), Map.of()));
    FakeMux gone = new FakeMux(Map.of());
    muxes.add(gone.node("mux3"));
    gone.close();
    assertThat(client.get("/v1/muxes/mux1/metrics").json().getString("detail"))
        .isEqualTo("id 'mux1' does not exist; allowed: mux2, mux3");
    Reply local = client.get("/v1/muxes/mux2/metrics");
    assertThat(local.status()).isEqualTo(409);
    assertThat(local.json().getString("allowed")).contains("--http");
    Reply dead = client.get("/v1/muxes/mux3/metrics");
    assertThat(dead.status()).isEqualTo(503);
    assertThat(dead.json().getString("value")).startsWith("mux3 cannot be reached at http://");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"'' | no", "short | no", "0123456789abcdef | yes", "0123456789abcdef\\n1 | no"})
  void theTokenIsOneLine(String text, String isTaken) throws IOException {
    Path path = Files.writeString(folder.resolve("token"), text.replace("\\n", "\n"));
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
    Optional<SecretFile> file = Optional.of(new SecretFile("--muxes-token", path));
    if (isTaken.equals("yes")) {
      Optional<Path> ca = Optional.of(Files.writeString(folder.resolve("ca.pem"), ""));
      assertThat(new MuxAccess(file, ca).bearer()).contains(text);
      assertThatThrownBy(() -> new MuxAccess(file, Optional.empty()))
          .hasMessageContaining("--muxes-token is given without --muxes-ca")
          .hasMessageContaining("allowed: both, --muxes-ca alone, or none");
    } else {
      assertThatThrownBy(() -> new MuxAccess(file, Optional.empty()))
          .hasMessageContaining("--muxes-token")
          .hasMessageContaining("16..256");
    }
  }

  @Test
  void authoritiesAreAFile() {
    assertThatThrownBy(
            () -> new MuxAccess(Optional.empty(), Optional.of(folder.resolve("nowhere"))))
        .hasMessageContaining("--muxes-ca");
  }
}
