// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class ConnectionsTest {
  private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();
  private final Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
  private final Connections connections = new Connections(5, 3, metrics);
  private final HttpServer server =
      vertx
          .createHttpServer()
          .requestHandler(request -> request.response().end())
          .connectionHandler(connections::take)
          .listen(0, "127.0.0.1")
          .toCompletionStage()
          .toCompletableFuture()
          .join();
  private final List<Socket> sockets = new ArrayList<>();

  @AfterEach
  void end() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
    vertx.close().toCompletionStage().toCompletableFuture().join();
  }

  /** Whether the server answers on a new connection, which remains. */
  private boolean stays(String from) {
    try {
      InetAddress any = InetAddress.getByName(from);
      Socket socket = new Socket(InetAddress.getByName("127.0.0.1"), server.actualPort(), any, 0);
      sockets.add(socket);
      byte[] request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
      socket.getOutputStream().write(request);
      return socket.getInputStream().read() == 'H';
    } catch (IOException e) {
      return false; // reset
    }
  }

  private double closed(String limit) {
    return metrics.counter("fairlead.controller.http.connections.closed", "limit", limit).count();
  }

  @Test
  void whatIsBeyondALimitIsClosed() throws IOException {
    for (int i = 0; i < 3; i++) {
      assertThat(stays("127.0.0.1")).isTrue();
    }
    assertThat(stays("127.0.0.1")).isFalse();
    assertThat(closed("address")).isEqualTo(1);
    assertThat(stays("127.0.0.2")).isTrue();
    assertThat(stays("127.0.0.3")).isTrue();
    assertThat(stays("127.0.0.4")).isFalse();
    assertThat(closed("all")).isEqualTo(1);
    sockets.get(0).close();
    await().atMost(Duration.ofSeconds(60)).until(() -> stays("127.0.0.4"));
  }
}
