// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Server-sent events as they arrive, one connection's (HTML, section 9.2). A line is asked for when
 * the one before has been taken, so a reader that is slow does not fill the memory.
 */
public final class EventStream implements Flow.Subscriber<String> {
  /** The controller sends a comment every 15 s. */
  private static final Duration SILENCE = Duration.ofSeconds(45);

  /** {@code data} is one line of JSON. */
  public record Event(String id, String type, String data) {}

  private final LinkedBlockingQueue<Optional<String>> lines = new LinkedBlockingQueue<>();
  private Flow.Subscription subscription;

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    subscription.request(1);
  }

  @Override
  public void onNext(String line) {
    lines.add(Optional.of(line));
  }

  @Override
  public void onError(Throwable broken) {
    end();
  }

  @Override
  public void onComplete() {
    end();
  }

  /** As if the connection had ended here. */
  void end() {
    lines.add(Optional.empty());
  }

  /** Waits for the next event; empty once the connection has ended or says nothing any more. */
  public Optional<Event> next() throws InterruptedException {
    String id = "";
    String type = "";
    StringBuilder data = new StringBuilder();
    while (true) {
      Optional<String> line = lines.poll(SILENCE.toSeconds(), TimeUnit.SECONDS);
      if (line == null || line.isEmpty()) {
        if (line == null && subscription != null) {
          subscription.cancel();
        }
        return Optional.empty();
      }
      subscription.request(1);
      String text = line.get();
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
  }
}
