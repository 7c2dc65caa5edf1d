// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.leader.MemoryController;
import io.fairlead.controller.secret.SecretFile;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a follower sends to the address that ZooKeeper names as the leader's. */
class ForwardAccessTest {
  private static final String TOKEN = "Bearer admin-0123456789abcdef";

  private static final byte[] NOT_FOUND =
      Answer.encode(Problem.of(Problem.Kind.NOT_FOUND, "service", Optional.of("web"), "another"))
          .getBytes();

  @TempDir private Path directory;
  @AutoClose private final MemoryController controller = new MemoryController();
  private final CopyOnWriteArrayList<String> received = new CopyOnWriteArrayList<>();
  private HttpServer named;

  @BeforeEach
  void listen() throws IOException {
    named = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    named.createContext(
        "/",
        exchange -> {
          received.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
          exchange.getResponseHeaders().add("Content-Type", Problem.MEDIA_TYPE);
          exchange.sendResponseHeaders(404, NOT_FOUND.length);
          exchange.getResponseBody().write(NOT_FOUND);
          exchange.close();
        });
    named.start();
  }

  @AfterEach
  void stop() {
    named.stop(0);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTokenIsForwardedToTheLeaderAsItCame(boolean hasTokens) throws IOException {
    controller.follow(URI.create("http://127.0.0.1:" + named.getAddress().getPort()));
    Security security =
        new Security(
            Optional.empty(),
            Optional.empty(),
            hasTokens ? Optional.of(tokens()) : Optional.empty(),
            hasTokens);
    try (ApiServer server = controller.serve(security)) {
      ApiClient client = new ApiClient(server.listen());
      Reply reply = client.send("DELETE", "/v1/services/web", "", "", "Authorization", TOKEN);
      assertThat(reply.status()).isEqualTo(404);
      assertThat(received).containsExactly(TOKEN);
      assertThat(reply.header("X-Content-Type-Options")).isEqualTo("nosniff");
      assertThat(reply.header("Content-Security-Policy")).contains("sandbox");
      assertThat(client.get("/v1/services", "Authorization", TOKEN).status())
          .as("reads are answered by every controller")
          .isEqualTo(200);
    }
  }

  private SecretFile tokens() throws IOException {
    Path file =
        Files.writeString(directory.resolve("tokens"), "ada admin plain:" + TOKEN.substring(7));
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    return new SecretFile("--tokens", file);
  }
}
