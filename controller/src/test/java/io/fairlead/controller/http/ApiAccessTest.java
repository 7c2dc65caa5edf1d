// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.common.hash.Hashing;
import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.leader.MemoryController;
import io.fairlead.controller.secret.SecretFile;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Who may do what, over plain HTTP and over TLS, while the files change. */
class ApiAccessTest {
  private static final Map<Role, String> TOKENS =
      Map.of(
          Role.VIEWER, "viewer-0123456789abcdef",
          Role.OPERATOR, "operator-0123456789abcdef",
          Role.ADMIN, "admin-0123456789abcdef",
          Role.SERVER, "server-0123456789abcdef");

  @TempDir private Path directory;
  @AutoClose private final MemoryController controller = new MemoryController();

  /** The contract decides for every operation whether a role may call it. */
  @Test
  void everyOperationAsksForTheRoleOfTheContract() throws IOException {
    Contract contract = Contract.load();
    int asked = 0;
    try (ApiServer server = open(tokens())) {
      ApiClient client = new ApiClient(server.listen());
      for (Map.Entry<String, Object> path : contract.document().getJsonObject("paths")) {
        String uri = path.getKey().replace("{name}", "web").replace("{id}", "7");
        for (Map.Entry<String, Object> entry : (JsonObject) path.getValue()) {
          if (!(entry.getValue() instanceof JsonObject operation)
              || entry.getKey().equals("parameters")) {
            continue;
          }
          String method = entry.getKey().toUpperCase(Locale.ROOT);
          String what = method + " " + uri;
          Optional<Role> wanted =
              Optional.ofNullable(operation.getString("x-role")).map(this::role);
          assertThat(wanted.isPresent()).as(what).isNotEqualTo(operation.containsKey("security"));
          Reply anonymous = client.send(method, uri, "");
          assertThat(anonymous.status() == 401).as(what).isEqualTo(wanted.isPresent());
          if (wanted.isEmpty()) {
            continue;
          }
          assertThat(anonymous.header("WWW-Authenticate")).startsWith("Bearer");
          for (Role role : Role.values()) {
            Reply reply =
                client.send(method, uri, "", "", "Authorization", "Bearer " + TOKENS.get(role));
            assertThat(reply.status()).as(what + " as " + role).isNotEqualTo(401);
            assertThat(reply.status() == 403)
                .as(what + " as " + role)
                .isEqualTo(!role.includes(wanted.get()));
            asked++;
          }
        }
      }
    }
    assertThat(asked).isGreaterThan(40);
  }

  private Role role(String text) {
    return Role.parse(text).orElseThrow();
  }

  /** Without a token a client could hold a connection for as long as it sends. */
  @Test
  void aBodyThatNobodyReadsEndsTheConnection() throws IOException {
    String head =
        "POST /v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999\r\n\r\n";
    try (ApiServer server = open(tokens());
        Socket socket = new Socket("127.0.0.1", server.listen().port())) {
      socket.setSoTimeout(60_000);
      socket.getOutputStream().write((head + "{").getBytes(StandardCharsets.ISO_8859_1));
      String answer =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      assertThat(answer).startsWith("HTTP/1.1 401 ").containsIgnoringCase("Connection: close");
    }
  }

  /** The router accepts more spellings of a path than the contract has. */
  @ParameterizedTest
  @CsvSource({
    "GET, /v1/backup/, VIEWER",
    "GET, /v1/%62ackup, VIEWER",
    "GET, //v1/backup, VIEWER",
    "GET, /v1/./backup, VIEWER",
    "GET, /v1/muxes/../backup, VIEWER",
    "GET, /healthz/../v1/backup, VIEWER",
    "DELETE, /v1/%73ervices/web, VIEWER",
    "DELETE, /v1/services/%77eb, VIEWER",
    "DELETE, /v1/services//web, VIEWER",
    "DELETE, /v1/services/web/, VIEWER",
    "DELETE, /v1/services/web/backends/%2e%2e, OPERATOR",
    "DELETE, /v1/services/web/backends/.., OPERATOR",
  })
  void anotherSpellingOfAPathOpensNothing(String method, String path, Role role)
      throws IOException {
    try (ApiServer server =
        open(new Security(Optional.empty(), Optional.empty(), Optional.of(tokens()), true))) {
      ApiClient client = new ApiClient(server.listen());
      String web =
          "{\"name\":\"web\",\"vips\":[\"::9\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}";
      String admin = "Bearer " + TOKENS.get(Role.ADMIN);
      assertThat(
              client
                  .send("POST", "/v1/services", "application/json", web, "Authorization", admin)
                  .status())
          .isEqualTo(201);
      var state = controller.state();
      Reply reply =
          client.send(method, path, "", "", "Authorization", "Bearer " + TOKENS.get(role));
      assertThat(reply.status()).isIn(403, 404);
      assertThat(reply.body()).doesNotContain("\"cluster\"");
      assertThat(controller.state()).isEqualTo(state);
      assertThat(client.send(method, path, "").status()).isEqualTo(401);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'', 401",
    "Bearer, 401",
    "Bearer unknown-0123456789abcdef, 401",
    "Basic viewer-0123456789abcdef, 401",
    "Bearer viewer-0123456789abcde, 401",
    "Bearer viewer-0123456789abcdef0, 401",
    "Bearer viewer-0123456789abcdef, 200",
    "bearer  viewer-0123456789abcdef, 200",
  })
  void onlyAWholeTokenCounts(String authorization, int status) throws IOException {
    try (ApiServer server = open(tokens())) {
      ApiClient client = new ApiClient(server.listen());
      Reply reply = client.get("/v1/services", "Authorization", authorization);
      assertThat(reply.status()).isEqualTo(status);
      assertThat(reply.body()).doesNotContain("0123456789");
    }
  }

  /** Anyone can have requests refused, as often as they like. */
  @Test
  void refusedRequestsWriteFewLinesAndAreAllCounted() throws IOException {
    PrometheusMeterRegistry metrics = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    Security security =
        new Security(Optional.empty(), Optional.empty(), Optional.of(tokens()), true);
    try (ApiServer server = controller.serve(security, List.of(), metrics)) {
      ApiClient client = new ApiClient(server.listen());
      for (int request = 0; request < LogLimit.LINES + 5; request++) {
        assertThat(client.get("/v1/services").status()).isEqualTo(401);
      }
    }
    assertThat(metrics.counter("fairlead.controller.access.refused", "status", "401").count())
        .isEqualTo(LogLimit.LINES + 5);
    assertThat(metrics.counter("fairlead.controller.access.refused.unlogged").count()).isEqualTo(5);
  }

  @Test
  void unknownPathsRequireATokenToo() throws IOException {
    try (ApiServer server = open(tokens())) {
      assertThat(new ApiClient(server.listen()).get("/v2").status()).isEqualTo(401);
    }
  }

  @Test
  void aTokenThatIsGoneIsRefusedAndADamagedFileChangesNothing() throws IOException {
    SecretFile file = tokens();
    try (ApiServer server = open(file)) {
      ApiClient client = new ApiClient(server.listen());
      write(file, "ann viewer plain:another-0123456789abcdef");
      awaitStatus(client, "another-0123456789abcdef", 200);
      assertThat(status(client, TOKENS.get(Role.VIEWER))).isEqualTo(401);
      write(file, "this is no token");
      awaitStatus(client, "another-0123456789abcdef", 200);
    }
  }

  @Test
  void aStreamEndsWithItsToken() throws IOException {
    SecretFile file = tokens();
    try (ApiServer server = open(file);
        Stream stream = new Stream(server.listen(), TOKENS.get(Role.VIEWER))) {
      assertThat(stream.status()).isEqualTo("HTTP/1.1 200 OK");
      write(file, "ann viewer plain:another-0123456789abcdef");
      stream.readToItsEnd(Duration.ofSeconds(40));
      assertThat(status(new ApiClient(server.listen()), TOKENS.get(Role.VIEWER))).isEqualTo(401);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'' | it has no token",
        "ann viewer | line 1 is malformed",
        "ann chief plain:0123456789abcdef | line 1 is malformed",
        "ann viewer plain:short | line 1 is malformed",
        "ann viewer sha256:12 | line 1 is malformed",
        "ann server plain:0123456789abcdef | line 1 is malformed",
        "ann server= plain:0123456789abcdef | line 1 is malformed",
        "ann server=10.2.0.7, plain:0123456789abcdef | line 1 is malformed",
        "ann server=10.2.0.07 plain:0123456789abcdef | line 1 is malformed",
        "ann server=10.2.0.0/24 plain:0123456789abcdef | line 1 is malformed",
        "ann server=0.0.0.0 plain:0123456789abcdef | line 1 is malformed",
        "ann server=224.0.0.1 plain:0123456789abcdef | line 1 is malformed",
        "ann server=10.2.0.7,10.2.0.7 plain:0123456789abcdef | line 1 is malformed",
        "ann server=::7,::8,::9 plain:0123456789abcdef | line 1 is malformed",
        "ann server=host7 plain:0123456789abcdef | line 1 is malformed",
        "ann viewer=10.2.0.7 plain:0123456789abcdef | line 1 is malformed",
        "ann viewer plain:0123456789abcdef;bob admin plain:0123456789abcdef | line 2 repeats",
      })
  void aFileOfSomethingElseIsRefusedWithoutASecret(String lines, String why) throws IOException {
    SecretFile file = new SecretFile("--tokens", directory.resolve("tokens"));
    write(file, lines.replace(';', '\n'));
    assertThatThrownBy(() -> Tokens.read(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("--tokens '%s' is refused: %s".formatted(file.path(), why))
        .hasMessageNotContaining("0123456789abcdef");
  }

  @Test
  void aFileThatOthersCanReadIsRefused() throws IOException {
    SecretFile file = tokens();
    Files.setPosixFilePermissions(file.path(), PosixFilePermissions.fromString("rw-r-----"));
    assertThatThrownBy(() -> Tokens.read(file)).hasMessageContaining("its mode is rw-r-----");
  }

  @Test
  void tlsServesANewCertificateWithoutARestart() throws Exception {
    Certificate first = Certificate.make(directory, "api");
    Security security =
        new Security(
            Optional.of(new Security.Tls(first.pem(), new SecretFile("--tls-key", first.key()))),
            Optional.empty(),
            Optional.empty(),
            true);
    try (ApiServer server = open(security)) {
      assertThat(server.url(Optional.empty()).getScheme()).isEqualTo("https");
      assertThat(peer(server, first)).isEqualTo(first.x509());
      Certificate second = Certificate.make(directory, "api");
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> second.x509().equals(peer(server, second)));
      assertThat(peer(server, first)).isNull();
    }
  }

  /** The certificate that a new connection meets, null if it is not trusted. */
  private static X509Certificate peer(ApiServer server, Certificate trusted) throws Exception {
    HttpClient client = HttpClient.newBuilder().sslContext(trusted.trust()).build();
    URI uri = URI.create(server.url(Optional.empty()) + "/healthz");
    try {
      HttpResponse<String> response =
          client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
      assertThat(response.statusCode()).isEqualTo(200);
      return (X509Certificate) response.sslSession().orElseThrow().getPeerCertificates()[0];
    } catch (SSLHandshakeException e) {
      return null;
    }
  }

  private static void awaitStatus(ApiClient client, String token, int status) {
    await().atMost(Duration.ofSeconds(20)).until(() -> status(client, token) == status);
  }

  private static int status(ApiClient client, String token) {
    return client.get("/v1/services", "Authorization", "Bearer " + token).status();
  }

  private ApiServer open(SecretFile tokens) throws IOException {
    return open(new Security(Optional.empty(), Optional.empty(), Optional.of(tokens), true));
  }

  private ApiServer open(Security security) throws IOException {
    return controller.serve(security);
  }

  /** The operator's token as a digest. */
  private SecretFile tokens() throws IOException {
    SecretFile file = new SecretFile("--tokens", directory.resolve("tokens"));
    String digest =
        Hashing.sha256().hashString(TOKENS.get(Role.OPERATOR), StandardCharsets.UTF_8).toString();
    write(
        file,
        """
        # name role token
        vera viewer plain:%s

        otto operator sha256:%s
        ada  admin    plain:%s
        s7   server=10.2.0.7,fd00::7 plain:%s
        """
            .formatted(
                TOKENS.get(Role.VIEWER), digest, TOKENS.get(Role.ADMIN), TOKENS.get(Role.SERVER)));
    return file;
  }

  private static void write(SecretFile file, String text) throws IOException {
    Path next = file.path().resolveSibling("next");
    Files.writeString(next, text);
    Files.setPosixFilePermissions(next, PosixFilePermissions.fromString("rw-------"));
    Files.move(next, file.path(), StandardCopyOption.REPLACE_EXISTING);
  }
}
