// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Certificate;
import io.fairlead.controller.http.Security;
import io.fairlead.controller.leader.MemoryController;
import io.fairlead.controller.secret.SecretFile;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command line client with an API that requires a token, over TLS. */
class FairleadctlAccessTest {
  @TempDir private Path directory;
  private Certificate certificate;
  @AutoClose private final MemoryController controller = new MemoryController();
  private ApiServer server;

  @BeforeEach
  void open() throws IOException {
    certificate = Certificate.make(directory, "api");
    Path tokens = secret("tokens", "ada admin plain:ada-0123456789abcdef");
    server =
        controller.serve(
            new Security(
                Optional.of(
                    new Security.Tls(
                        certificate.pem(), new SecretFile("--tls-key", certificate.key()))),
                Optional.empty(),
                Optional.of(new SecretFile("--tokens", tokens)),
                true));
  }

  @AfterEach
  void close() {
    server.close();
  }

  private CtlRun run(String line) {
    return CtlRun.at(server.url(Optional.empty()).toString(), line.split(" "));
  }

  @Test
  void tokenAndAuthorityAreWhatItTakes() throws IOException {
    String cacert = "--cacert " + certificate.pem();
    Path token = secret("token", "ada-0123456789abcdef\n");
    String all = cacert + " --token-file " + token + " ";
    CtlRun created = run(all + "service create web --vip 10.99.0.1 --port tcp:80");
    assertThat(created.err()).isEmpty();
    assertThat(run(all + "audit").out())
        .containsPattern("NUMBER +TIME +WHO +WHAT")
        .containsPattern("0 +\\S+ +ada +POST /v1/services +1 +0");
    CtlRun stranger = run(cacert + " service list");
    assertThat(stranger.exit()).isEqualTo(1);
    assertThat(stranger.err())
        .startsWith("Authorization is missing; allowed: Bearer and a token of this cluster\n")
        .contains("fairleadctl has no token for https://127.0.0.1:", "it needs --token-file, or");
    assertThat(run("--token-file " + token + " service list").exit()).as("untrusted").isEqualTo(3);
  }

  @Test
  void badFilesAreNamed() throws IOException {
    Path open =
        Files.setPosixFilePermissions(
            secret("open", "ada-0123456789abcdef"), PosixFilePermissions.fromString("rw-r--r--"));
    assertThat(run("--token-file " + open + " health").err()).contains("its mode is rw-r--r--");
    assertThat(run("--token-file " + secret("two", "a\nb") + " health").err())
        .contains("allowed: a token of visible characters in one line");
    CtlRun none = run("--cacert " + secret("none", "no certificate") + " health");
    assertThat(none.exit()).isEqualTo(2);
    assertThat(none.err()).contains("--cacert '").contains("allowed: a file of certificates, PEM");
    assertThat(run("audit --limit 0").err()).contains("--limit '0' is refused; allowed: 1..1000");
  }

  /** 0.0.0.0 is no loopback address, and leads to this machine's listeners nevertheless. */
  @Test
  void tokensTravelInClearTextOnlyIfThatIsAllowed() throws IOException {
    Path token = secret("token", "ada-0123456789abcdef\n");
    List<String> seen = new CopyOnWriteArrayList<>();
    HttpServer plain = plain(seen, 200, "");
    String port = ":" + plain.getAddress().getPort();
    try {
      String given = "--token-file " + token + " ";
      for (String line : List.of(given + "audit", given + "--api-clear-text off audit")) {
        CtlRun refused = CtlRun.at("http://0.0.0.0" + port, line.split(" "));
        assertThat(refused.exit()).as(line).isEqualTo(2);
        assertThat(refused.err())
            .startsWith(
                "--api 'http://0.0.0.0%s' is refused: others on the way could read the token;"
                        .formatted(port)
                    + " allowed: https://HOST:PORT, http at a loopback address, or --api-clear-text"
                    + " on\n");
      }
      assertThat(seen).isEmpty();
      CtlRun.at("http://0.0.0.0" + port, "audit");
      assertThat(seen).as("no token, nothing to protect").containsExactly("null");
      CtlRun.at("http://0.0.0.0" + port, (given + "--api-clear-text on audit").split(" "));
      CtlRun.at("http://127.0.0.1" + port, (given + "audit").split(" "));
      CtlRun.at("http://localhost" + port, (given + "audit").split(" "));
      assertThat(seen.subList(1, 4)).containsOnly("Bearer ada-0123456789abcdef");
      for (String host : List.of("127.0.0.1.example", "127.1", "[::2]", "[fe80::1]")) {
        assertThat(CtlRun.at("http://" + host + port, (given + "audit").split(" ")).exit())
            .as(host)
            .isEqualTo(2);
      }
      assertThat(run(given + "--api-clear-text yes audit").err()).contains("[on, off]", "'yes'");
    } finally {
      plain.stop(0);
    }
  }

  @Test
  void redirectsTakeTheTokenNowhere() throws IOException {
    Path token = secret("token", "ada-0123456789abcdef\n");
    List<String> seen = new CopyOnWriteArrayList<>();
    HttpServer other = plain(seen, 200, "");
    String elsewhere = "http://127.0.0.1:" + other.getAddress().getPort() + "/v1/audit";
    HttpServer first = plain(new CopyOnWriteArrayList<>(), 307, elsewhere);
    try {
      CtlRun run =
          CtlRun.at(
              "http://127.0.0.1:" + first.getAddress().getPort(),
              ("--token-file " + token + " audit").split(" "));
      assertThat(run.exit()).isEqualTo(3);
      assertThat(run.err()).contains("is not a Fairlead controller: status 307");
      assertThat(seen).isEmpty();
    } finally {
      first.stop(0);
      other.stop(0);
    }
  }

  /** Answers with {@code status}, and notes the Authorization of each request in {@code seen}. */
  private static HttpServer plain(List<String> seen, int status, String location)
      throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          seen.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
          if (!location.isEmpty()) {
            exchange.getResponseHeaders().set("Location", location);
          }
          exchange.sendResponseHeaders(status, -1);
          exchange.close();
        });
    server.start();
    return server;
  }

  private Path secret(String name, String text) throws IOException {
    Path path = Files.writeString(directory.resolve(name), text);
    return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
  }
}
