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
      for (String text = lines.readLine(); text != null; text = lines.readLine()) {
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
        }
      }
    } catch (IOException e) {
      broken = Optional.of(e);
    }
    return Optional.empty();
  }

  /** Why the connection ended, if not in order. */
  Optional<IOException> broken() {
    return broken;
  }
}
