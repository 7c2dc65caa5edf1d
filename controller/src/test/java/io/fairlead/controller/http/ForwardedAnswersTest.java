// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fairlead.controller.leader.MemoryController;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** What a follower returns of an answer that does not get from the leader to the caller. */
@Timeout(120)
class ForwardedAnswersTest {
  private static final String HEAD =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: \"1-1-1\"\r\n%s\r\n";
  private static final int SILENCE_MILLIS = 30_000;

  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private final Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
  @AutoClose private final MemoryController controller = new MemoryController();
  private ServerSocket leader;
  private ApiServer follower;

  @BeforeEach
  void open() throws IOException {
    leader = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    leader.setSoTimeout(SILENCE_MILLIS);
    controller.follow(URI.create("http://127.0.0.1:" + leader.getLocalPort()));
    follower = controller.serve(Security.NONE);
    log.start();
    root.addAppender(log);
  }

  @AfterEach
  void close() throws IOException {
    root.detachAppender(log);
    follower.close();
    leader.close();
  }

  private Socket ask() throws IOException {
    return ask("127.0.0.1");
  }

  private Socket ask(String from) throws IOException {
    Socket caller = new Socket();
    caller.bind(new InetSocketAddress(from, 0));
    caller.connect(new InetSocketAddress(follower.listen().host(), follower.listen().port()));
    caller.setSoTimeout(SILENCE_MILLIS);
    caller
        .getOutputStream()
        .write(
            "DELETE /v1/services/web HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
                .getBytes(US_ASCII));
    return caller;
  }

  /** The leader's side of the forwarded request. */
  private Socket forwarded() throws IOException {
    Socket accepted = leader.accept();
    accepted.getInputStream().read();
    return accepted;
  }

  /** A leader that is killed while it answers: JSON may look whole, and HTTP must say it is not. */
  @Test
  void anAnswerThatEndsEarlyIsNotReturnedAsWhole() throws IOException {
    for (String body : List.of("", "{}", "{\"service\":")) {
      for (String framing : List.of("Content-Length: 1000", "Transfer-Encoding: chunked")) {
        String part =
            framing.startsWith("C") || body.isEmpty()
                ? body
                : "%x\r\n%s\r\n".formatted(body.length(), body);
        try (Socket caller = ask()) {
          try (Socket answering = forwarded()) {
            answering
                .getOutputStream()
                .write((HEAD.formatted(framing + "\r\n") + part).getBytes(US_ASCII));
          }
          String received = new String(caller.getInputStream().readAllBytes(), US_ASCII);
          assertThat(received)
              .as("'%s' by %s", body, framing)
              .startsWith(body.isEmpty() ? "HTTP/1.1 503 " : "HTTP/1.1 200 ")
              .doesNotEndWith("0\r\n\r\n");
          if (body.isEmpty()) {
            assertThat(received).contains("did not answer").doesNotContain("ETag");
          }
        }
      }
    }
  }

  /** All connections to the leader were one caller's who read slowly. */
  @Test
  void aCallerHasAQuarterOfTheConnections() throws IOException {
    List<Socket> sockets = new ArrayList<>();
    try {
      for (int i = 0; i < 32; i++) {
        sockets.add(ask());
        sockets.add(forwarded());
      }
      try (Socket more = ask()) {
        byte[] answer = new byte[4096];
        int length = more.getInputStream().read(answer);
        assertThat(new String(answer, 0, length, US_ASCII))
            .startsWith("HTTP/1.1 503 ")
            .contains("forwards 32 requests of nobody at 127.0.0.1 already");
      }
      sockets.add(ask("127.0.0.2"));
      sockets.add(forwarded());
      Socket first = sockets.remove(1);
      first.getOutputStream().write(HEAD.formatted("Content-Length: 0\r\n").getBytes(US_ASCII));
      assertThat(sockets.get(0).getInputStream().read()).isEqualTo('H');
      sockets.add(first);
      sockets.add(ask());
      sockets.add(forwarded());
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  /**
   * The answer is larger than what sockets buffer, and the leader goes on after the caller went.
   */
  @Test
  void aCallerThatGoesLeavesNoErrorBehind() throws Exception {
    byte[] part = ("4000\r\n" + "x".repeat(0x4000) + "\r\n").getBytes(US_ASCII);
    Socket caller = ask();
    try (Socket answering = forwarded()) {
      answering
          .getOutputStream()
          .write(HEAD.formatted("Transfer-Encoding: chunked\r\n").getBytes(US_ASCII));
      answering.getOutputStream().write(part);
      assertThat(caller.getInputStream().read()).isEqualTo('H');
      caller.setSoLinger(true, 0); // RST
      caller.close();
      boolean isClosed = false;
      for (int i = 0; i < 10_000 && !isClosed; i++) {
        try {
          answering.getOutputStream().write(part);
        } catch (IOException e) {
          isClosed = true;
        }
      }
      assertThat(isClosed).as("the leader need not answer any further").isTrue();
    }
    assertThat(List.copyOf(log.list))
        .filteredOn(each -> each.getLevel() == Level.ERROR)
        .extracting(ILoggingEvent::getFormattedMessage)
        .isEmpty();
  }
}
