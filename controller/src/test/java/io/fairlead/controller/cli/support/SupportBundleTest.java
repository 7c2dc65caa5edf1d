// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli.support;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.fairlead.controller.CtlRun;
import io.fairlead.controller.FreePorts;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Security;
import io.fairlead.controller.leader.MemoryController;
import io.fairlead.controller.secret.SecretFile;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is in a bundle, and above all what is not. */
class SupportBundleTest {
  private static final String TOKEN = "ada-0123456789abcdef";
  private static final String VIEWER = "vera-0123456789abcdef";

  /** Each with the form in which it is planted into every text, every field and every file. */
  private static final Map<String, String> SECRETS =
      Map.of(
          "token", TOKEN,
          "hash key", "00112233445566778899aabbccddeeff",
          "tag key", "deadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
          "jwt", "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLW9mLWl0",
          "password", "hunter2-of-zookeeper",
          "private key", "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQ");

  private static final String TEXT =
      "a %s, b 00112233445566778899aabbccddeeff; Bearer some-bearer-word plain:plain-token-word"
              .formatted(TOKEN)
          + " %s https://user:hunter2-of-zookeeper@host/?access_token=query-token-word&x=1"
              .formatted(SECRETS.get("jwt"))
          + " DEADBEEFDEADBEEFDEADBEEFDEADBEEFDEADBEEFDEADBEEFDEADBEEFDEADBEEF".toLowerCase()
          + " -----BEGIN PRIVATE KEY-----\\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQ\\n"
          + "-----END PRIVATE KEY-----";

  private static final String BODY =
      """
      {"name":"web","note":"%1$s","hashKey":"short-hash-key","password":["list-password"],
       "deep":[{"tagKeys":{"old":"old-tag-key"},"token":7770777,"text":"%1$s"}],"kept":"in plain sight",
       "body":"{\\"secret\\":\\"inner-secret-word\\",\\"weight\\":50}"}\
      """
          .formatted(TEXT);

  /** Words of the above that stand behind a name or a form only. */
  private static final List<String> WORDS =
      List.of(
          "some-bearer-word",
          "plain-token-word",
          "query-token-word",
          "short-hash-key",
          "list-password",
          "old-tag-key",
          "7770777",
          "inner-secret-word",
          "flag-token-word",
          "variable-word",
          "comment-word",
          "label-word",
          "event-word");

  @TempDir private Path directory;

  private Path secret(String name, String text) throws IOException {
    Path path = Files.writeString(directory.resolve(name), text);
    return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
  }

  private Map<String, byte[]> files(Path bundle) throws IOException {
    Map<String, byte[]> files = new TreeMap<>();
    byte[] tar =
        new GZIPInputStream(new ByteArrayInputStream(Files.readAllBytes(bundle))).readAllBytes();
    int at = 0;
    while (tar[at] != 0) {
      String name = new String(tar, at, 100, StandardCharsets.UTF_8).trim();
      int length = Integer.parseInt(new String(tar, at + 124, 11, StandardCharsets.US_ASCII), 8);
      byte[] content = new byte[length];
      System.arraycopy(tar, at + 512, content, 0, length);
      files.put(name.replace("fairlead-support/", ""), content);
      at += 512 + (length + 511) / 512 * 512;
    }
    return files;
  }

  private static JsonNode json(byte[] bytes) throws IOException {
    return Json.read(new String(bytes, StandardCharsets.UTF_8));
  }

  private static List<String> missing(Map<String, byte[]> files) throws IOException {
    List<String> names = new ArrayList<>();
    json(files.get("manifest.json"))
        .path("missing")
        .forEach(
            each ->
                names.add(
                    each.path("name").asText().replace("fairlead-support/", "")
                        + ": "
                        + each.path("why").asText()));
    return names;
  }

  /** A server that answers everything with secrets, and {@code broken} with 500. */
  private HttpServer leaky(String broken) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/", exchange -> answer(exchange, broken));
    server.start();
    return server;
  }

  private static void answer(HttpExchange exchange, String broken) throws IOException {
    String path = exchange.getRequestURI().getPath();
    String type = "application/json";
    String body = BODY;
    if (path.equals("/v1/services")) {
      body = "[" + BODY + ",{\"name\":\"../../etc/web\"}]";
    } else if (path.equals("/metrics")) {
      type = "text/plain";
      body = "m{token=\"label-word\",mux=\"mux1\"} 1\n# " + TEXT;
    } else if (path.equals("/v1/events")) {
      type = "text/event-stream";
      body =
          exchange.getRequestHeaders().containsKey("Last-Event-ID")
              ? "id: 0a1b2c3d-1\nevent: start\ndata: {\"resumed\":true}\n\n"
                  + "id: 0a1b2c3d-2\nevent: service\ndata: {\"secret\":\"event-word\",\"note\":\"%s\"}\n\n"
                      .formatted(TEXT)
              : "id: 0a1b2c3d-2\nevent: start\ndata: {\"resumed\":false}\n\n";
    }
    exchange.getResponseHeaders().add("Content-Type", type);
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(
        path.equals(broken) ? 500 : 200, path.equals(broken) ? -1 : bytes.length);
    if (!path.equals(broken)) {
      exchange.getResponseBody().write(bytes);
    }
    exchange.close();
  }

  private CtlRun bundle(String url, Path file, String token, String... more) throws IOException {
    List<String> words =
        new ArrayList<>(
            List.of("--token-file", secret("token", token).toString(), "support-bundle"));
    words.add(file.toString());
    words.addAll(List.of("--config", directory.resolve("etc").toString()));
    words.addAll(List.of(more));
    return CtlRun.at(url, words.toArray(String[]::new));
  }

  private void configure() throws IOException {
    Path etc = Files.createDirectories(directory.resolve("etc"));
    Files.writeString(etc.resolve("tokens"), "ann admin plain:" + SECRETS.get("password"));
    Path path = secret("auth", "x");
    Files.writeString(
        etc.resolve("controller.env"),
        """
        # FAIRLEAD_CONTROLLER_TOKEN=comment-word
        FAIRLEAD_CONTROLLER_LISTEN=10.1.0.5:8080
        FAIRLEAD_CONTROLLER_ZOOKEEPER_AUTH=%s
        FAIRLEAD_CONTROLLER_SECRET="variable-word"
        FAIRLEAD_OPTIONS="--token-file %s --token flag-token-word --x 1"
        FAIRLEAD_NOTE=%s
        """
            .formatted(path, path, TEXT.replace("\\n", " ")));
  }

  /** The secrets are in each answer and file; no bytes of the bundle have one. */
  @Test
  void noSecretLeaves() throws IOException {
    configure();
    HttpServer server = leaky("/none");
    Path file = directory.resolve("bundle.tar.gz");
    CtlRun run = bundle("http://127.0.0.1:" + server.getAddress().getPort(), file, TOKEN);
    server.stop(0);
    assertThat(run.err())
        .isEqualTo("fairlead-support/services: the controller names a service '../../etc/web'\n");
    assertThat(run.exit()).isZero();
    Map<String, byte[]> files = files(file);
    assertThat(files.keySet())
        .contains(
            "config/controller.env",
            "controllers/1/healthz.json",
            "controllers/1/metrics.txt",
            "services/web/backends.json",
            "audit.json",
            "events.txt");
    StringBuilder all = new StringBuilder();
    files.forEach(
        (name, bytes) -> all.append(name).append(new String(bytes, StandardCharsets.UTF_8)));
    for (String word : WORDS) {
      assertThat(all).as(word).doesNotContainIgnoringCase(word);
    }
    SECRETS.forEach((what, word) -> assertThat(all).as(what).doesNotContainIgnoringCase(word));
    assertThat(all)
        .contains("in plain sight", "mux1", "10.1.0.5:8080", "zookeeper".toUpperCase(), "weight")
        .contains("--token-file " + directory.resolve("auth"));
    assertThat(json(files.get("manifest.json")).path("hidden").asInt()).isGreaterThan(100);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
  }

  /** The check above would find them: they are in what was sent. */
  @Test
  void thePlantedSecretsAreThere() {
    String sent = BODY + TEXT;
    SECRETS.forEach((what, word) -> assertThat(sent).as(what).contains(word));
  }

  @Test
  void onePartThatFailsLeavesTheOthers() throws IOException {
    HttpServer server = leaky("/v1/muxes");
    Path file = directory.resolve("bundle.tar.gz");
    CtlRun run = bundle("http://127.0.0.1:" + server.getAddress().getPort(), file, TOKEN);
    server.stop(0);
    assertThat(run.exit()).isZero();
    assertThat(run.err()).contains("fairlead-support/muxes.json: the answer has status 500");
    Map<String, byte[]> files = files(file);
    assertThat(files)
        .containsKeys("agents.json", "services/web/ring.json")
        .doesNotContainKey("muxes.json");
    assertThat(missing(files)).hasSize(3);
    assertThat(missing(files).get(0)).startsWith("config: ");
    assertThat(missing(files).get(1)).startsWith("muxes.json: ").contains("status 500");
  }

  @Test
  void aControllerThatIsAwayIsAskedTwice() throws IOException {
    configure();
    Path file = directory.resolve("bundle.tar.gz");
    CtlRun run = bundle("http://127.0.0.1:" + FreePorts.next(), file, TOKEN);
    assertThat(run.exit()).isEqualTo(3);
    Map<String, byte[]> files = files(file);
    assertThat(files.keySet())
        .containsExactly("config/controller.env", "host.json", "manifest.json");
    List<String> missing = missing(files);
    assertThat(missing.stream().filter(each -> each.contains("cannot be reached"))).hasSize(2);
    assertThat(missing)
        .contains("audit.json: not asked for: the controller did not answer 2 times");
  }

  @ParameterizedTest
  @CsvSource({TOKEN + ", true", VIEWER + ", false"})
  void ofARealController(String token, boolean hasAudit) throws Exception {
    Path tokens =
        secret("tokens", "ada admin plain:%s%nvera viewer plain:%s%n".formatted(TOKEN, VIEWER));
    try (MemoryController controller = new MemoryController();
        ApiServer server =
            controller.serve(
                new Security(
                    Optional.empty(),
                    Optional.empty(),
                    Optional.of(new SecretFile("--tokens", tokens)),
                    true))) {
      String url = "http://" + server.listen();
      Path ada = secret("ada", TOKEN);
      for (String line :
          List.of(
              "service create web --vip 10.99.0.1 --port tcp:80 --hash-key"
                  + " 00112233445566778899aabbccddeeff",
              "backend add web 1 10.1.0.21")) {
        CtlRun.done(url, "--token-file " + ada + " " + line);
      }
      Path file = directory.resolve("bundle.tar.gz");
      CtlRun run = bundle(url, file, token, "--controller", "http://127.0.0.1:" + FreePorts.next());
      assertThat(run.exit()).isZero();
      Map<String, byte[]> files = files(file);
      assertThat(files.containsKey("audit.json")).isEqualTo(hasAudit);
      if (!hasAudit) {
        assertThat(missing(files)).contains("audit.json: role 'viewer' is refused; allowed: admin");
      }
      assertThat(missing(files)).anyMatch(each -> each.startsWith("controllers/2/healthz.json: "));
      assertThat(json(files.get("services/web/backends.json")).path(0).path("address").asText())
          .isEqualTo("10.1.0.21");
      assertThat(new String(files.get("events.txt"), StandardCharsets.UTF_8))
          .contains("event: start");
      assertThat(json(files.get("contract.json")).path("version").asText()).isNotEmpty();
      for (byte[] bytes : files.values()) {
        assertThat(new String(bytes, StandardCharsets.UTF_8))
            .doesNotContain(TOKEN, VIEWER, "00112233445566778899aabbccddeeff");
      }
      Process tar = new ProcessBuilder("tar", "-tvzf", file.toString()).start();
      assertThat(new String(tar.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines())
          .hasSize(files.size())
          .allMatch(line -> line.startsWith("-rw-------"));
      assertThat(tar.waitFor()).isZero();
    }
  }

  @Test
  void aFileThatCannotBeWrittenIsNamed() throws IOException {
    Path file = directory.resolve("none/bundle.tar.gz");
    CtlRun run = bundle("http://127.0.0.1:" + FreePorts.next(), file, TOKEN);
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.err()).contains("FILE '" + file + "' cannot be written");
  }
}
