// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Server-sent events as they arrive, one connection's (HTML, section 9.2). */
public final class EventStream {
  static final int LINE_MAX = 1 << 20;

  private final BufferedReader lines;
  private Optional<IOException> broken = Optional.empty();

  EventStream(InputStream body) {
    lines = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8));
  }

  /** {@code data} is one line of JSON. */
  public record Event(String id, String type, String data) {}

  /** Waits for the next event; empty once the connection has ended or says nothing any more. */
  public Optional<Event> next() {
    String id = "";
    String type = "";
    StringBuilder data = new StringBuilder();
    try {
      for (String text = line(); text != null; text = line()) {
        if (text.isEmpty()) {
          if (data.length() > 0) {
            return Optional.of(new Event(id, type, data.toString()));
          }
        } else if (text.startsWith("id: ")) {
          id = text.substring("id: ".length());
        } else if (text.startsWith("event: ")) {
          type = text.substring("event: ".length());
        } else if (text.startsWith("data: ")) {
          data.append(text.substring("data: ".length()));
          if (data.length() > LINE_MAX) {
            throw new IOException("an event has more than %d characters".formatted(LINE_MAX));
          }
        }
      }
    } catch (IOException e) {
      broken = Optional.of(e);
    }
    return Optional.empty();
  }

  /** Without its end; null at the end of the stream. */
  private String line() throws IOException {
    StringBuilder line = new StringBuilder();
    int read = lines.read();
    for (; read >= 0 && read != '\n'; read = lines.read()) {
      if (line.length() == LINE_MAX) {
        throw new IOException("an event has a line of more than %d characters".formatted(LINE_MAX));
      }
      line.append((char) read);
    }
    if (read < 0 && line.length() == 0) {
      return null;
    }
    int end = line.length() - 1;
    return end >= 0 && line.charAt(end) == '\r' ? line.substring(0, end) : line.toString();
  }

  /** Why the connection ended, if not in order. */
  Optional<IOException> broken() {
    return broken;
  }
}
