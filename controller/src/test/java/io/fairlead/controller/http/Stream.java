// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** A stream of events over plain HTTP, as lines. */
final class Stream implements AutoCloseable {
  private static final int SILENCE_MILLIS = 30_000;

  private final Socket socket;
  private final BufferedReader lines;
  private final String status;

  Stream(Endpoint at, String token) throws IOException {
    socket = new Socket(at.host(), at.port());
    socket.setSoTimeout(SILENCE_MILLIS);
    String request =
        "GET /v1/events HTTP/1.1\r\n"
            + "Host: 127.0.0.1\r\n"
            + "Connection: close\r\n"
            + "Authorization: Bearer %s\r\n\r\n";
    socket.getOutputStream().write(request.formatted(token).getBytes(StandardCharsets.US_ASCII));
    lines =
        new BufferedReader(
            new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
    status = lines.readLine();
  }

  String status() {
    return status;
  }

  /** Fails if it goes on for longer. */
  void readToItsEnd(Duration patience) throws IOException {
    long end = System.nanoTime() + patience.toNanos();
    while (lines.readLine() != null) {
      assertThat(System.nanoTime()).as("the stream continues").isLessThan(end);
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
