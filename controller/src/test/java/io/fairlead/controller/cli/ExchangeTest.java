// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests as a server gets them, and answers byte by byte as a server might send them. */
class ExchangeTest {
  private static final int SILENCE_MILLIS = 300;
  private static final String OK = "HTTP/1.1 200 OK\r\n";

  private interface Use<T> {
    T of(Exchange exchange) throws IOException;
  }

  /** Sends a request to a server that answers so and ends; gives the request's lines, too. */
  private static <T> T against(
      String answer, String method, String path, String body, List<String> lines, Use<T> use)
      throws IOException {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      CompletableFuture<Void> served =
          CompletableFuture.runAsync(() -> serve(server, answer, body.length(), lines));
      URI target = URI.create("http://127.0.0.1:" + server.getLocalPort() + path);
      try (Exchange exchange =
          Exchange.of(
              target, Optional.empty(), SILENCE_MILLIS, method, Map.of("X-Name", "x"), body)) {
        return use.of(exchange);
      } finally {
        served.join();
      }
    }
  }

  private static void serve(ServerSocket server, String answer, int length, List<String> lines) {
    try (Socket client = server.accept()) {
      BufferedReader in =
          new BufferedReader(
              new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
      for (String line = in.readLine(); !line.isEmpty(); line = in.readLine()) {
        lines.add(line);
      }
      char[] body = new char[length];
      for (int at = 0; at < length; at += in.read(body, at, length - at)) {
        continue;
      }
      lines.add(new String(body));
      client.getOutputStream().write(answer.getBytes(StandardCharsets.UTF_8));
      client.shutdownOutput();
      in.readLine(); // until the client has closed
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String text(String answer) throws IOException {
    return against(
        answer.replace("\\r", "\r").replace("\\n", "\n"),
        "GET",
        "/",
        "",
        new ArrayList<>(),
        exchange -> exchange.status() + " " + exchange.text());
  }

  @Test
  void requestsSayWhatTheyHave() throws IOException {
    List<String> lines = new ArrayList<>();
    against(OK + "\r\n", "PATCH", "/v1/a%20b?dryRun=true", "{\"a\":1}", lines, Exchange::text);
    assertThat(lines.get(0)).isEqualTo("PATCH /v1/a%20b?dryRun=true HTTP/1.1");
    assertThat(lines).contains("Content-Length: 7", "X-Name: x", "Connection: close");
    assertThat(lines.get(1)).startsWith("Host: 127.0.0.1:");
    assertThat(lines.get(lines.size() - 1)).isEqualTo("{\"a\":1}");
    lines.clear();
    against(OK + "\r\n", "GET", "", "", lines, Exchange::text);
    assertThat(lines.get(0)).isEqualTo("GET / HTTP/1.1");
    assertThat(lines).noneMatch(line -> line.startsWith("Content-Length"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      ignoreLeadingAndTrailingWhitespace = false,
      value = {
        "HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhello|200 he",
        "HTTP/1.1 200 OK\\r\\n\\r\\nuntil the end|200 until the end",
        "HTTP/1.0 404 No\\n\\nbare|404 bare",
        "HTTP/1.1 204\\r\\n\\r\\nnext|204 ",
        "HTTP/1.1 100 Go\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\n\\r\\nx|200 x",
        "HTTP/1.1 200 OK\\r\\ntransfer-encoding: Chunked\\r\\n\\r\\n2;a=b\\r\\nhe\\r\\nA\\r\\n"
            + "0123456789\\r\\n0\\r\\nT: x\\r\\n\\r\\n|200 he0123456789",
      })
  void answersAreRead(String answer, String read) throws IOException {
    assertThat(text(answer)).isEqualTo(read);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      ignoreLeadingAndTrailingWhitespace = false,
      value = {
        "|ended within the answer",
        "HTTP/1.1 200 OK\\r\\n|ended within the answer",
        "HTTP/1.1 200 OK\\r\\nContent-Length: 9\\r\\n\\r\\nhello|ended within the answer",
        "HTTP/1.1 200 OK\\r\\nContent-Length: -9\\r\\n\\r\\nhello|Content-Length '-9'",
        "HTTP/1.1 200 OK\\r\\nno colon\\r\\n\\r\\n|a head that is no HTTP/1.1",
        "SSH-2.0-x\\r\\n|does not answer by HTTP/1.1",
        "HTTP/2 200\\r\\n\\r\\n|does not answer by HTTP/1.1",
        "HTTP/1.1 200 OK\\r"
            + "\\n"
            + "Transfer-Encoding: chunked\\r"
            + "\\n"
            + "\\r"
            + "\\n"
            + "2\\r"
            + "\\n"
            + "h|ended within the answer",
        "HTTP/1.1 200 OK\\r"
            + "\\n"
            + "Transfer-Encoding: chunked\\r"
            + "\\n"
            + "\\r"
            + "\\n"
            + "2\\r"
            + "\\n"
            + "hel\\r"
            + "\\n"
            + "|longer than its size",
        "HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n-2\\r\\n|chunk of size '-2'",
      })
  void whatIsNoWholeAnswerIsRefused(String answer, String why) {
    String given = answer == null ? "" : answer;
    assertThatThrownBy(() -> text(given)).isInstanceOf(IOException.class).hasMessageContaining(why);
  }

  @Test
  void endlessHeadsAreRefused() {
    assertThatThrownBy(() -> text("HTTP/1.1 100 Go\r\n\r\n".repeat(99)))
        .hasMessageContaining("interim");
    StringBuilder many = new StringBuilder(OK);
    for (int i = 0; i < 999; i++) {
      many.append("H").append(i).append(": x\r\n");
    }
    assertThatThrownBy(() -> text(many.toString())).hasMessageContaining("head");
    assertThatThrownBy(() -> text(OK + "H: " + "x".repeat(99_999)))
        .hasMessageContaining("more than 65536 bytes");
  }

  @Test
  void longAnswersAreRefused() {
    String answer = OK + "Content-Length: 5\r\n\r\nhello";
    assertThatThrownBy(
            () -> against(answer, "GET", "/", "", new ArrayList<>(), exchange -> exchange.text(4)))
        .hasMessage("the answer has more than 4 bytes");
  }

  @Test
  void longEventsAreRefused() {
    String most = "data: " + "x".repeat(EventStream.LINE_MAX - "data: ".length());
    assertThat(events("data: x\r\n\r\n").next().orElseThrow().data()).isEqualTo("x");
    assertThat(events(most + "\n\n").next().orElseThrow().data()).endsWith("x");
    for (String more : List.of(most + "x\n\n", most + "\n" + most + "\n\n")) {
      EventStream stream = events(more);
      assertThat(stream.next()).isEmpty();
      assertThat(stream.broken().orElseThrow()).hasMessageContaining("more than 1048576");
    }
  }

  private static EventStream events(String text) {
    return new EventStream(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void silenceEnds() throws IOException {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      URI target = URI.create("http://127.0.0.1:" + server.getLocalPort());
      assertThatThrownBy(
              () ->
                  Exchange.of(target, Optional.empty(), SILENCE_MILLIS, "GET", Map.of(), "")
                      .close())
          .isInstanceOf(SocketTimeoutException.class);
    }
  }

  @Test
  void headersHaveOneLine() throws IOException {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      URI target = URI.create("http://127.0.0.1:" + server.getLocalPort());
      Map<String, String> headers = Map.of("Last-Event-ID", "a\r\nb: c");
      assertThatThrownBy(
              () -> Exchange.of(target, Optional.empty(), SILENCE_MILLIS, "GET", headers, ""))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("Last-Event-ID has")
          .hasMessageContaining("allowed: visible characters");
    }
  }
}
