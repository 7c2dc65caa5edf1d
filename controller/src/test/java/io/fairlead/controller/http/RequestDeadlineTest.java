// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How long a connection may let the rest of a request wait. */
class RequestDeadlineTest {
  private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();
  private final EmbeddedChannel channel = new EmbeddedChannel();

  private double closed(String limit) {
    return metrics.counter("fairlead.controller.http.connections.closed", "limit", limit).count();
  }

  /** A number: so many seconds pass. */
  private void take(String step) {
    switch (step) {
      case "stop" -> channel.config().setAutoRead(false);
      case "read" -> channel.config().setAutoRead(true);
      default -> {
        if (step.matches("[0-9]+")) {
          channel.advanceTimeBy(Integer.parseInt(step), TimeUnit.SECONDS);
          channel.runScheduledPendingTasks();
        } else if (channel.isOpen()) {
          byte[] bytes = text(step).getBytes(StandardCharsets.US_ASCII);
          channel.writeInbound(Unpooled.wrappedBuffer(bytes));
        }
      }
    }
  }

  private static String text(String step) {
    return switch (step) {
      case "get" -> "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
      case "post" -> "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n";
      case "chunked" -> "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
      case "chunk" -> "1\r\nx\r\n";
      case "last" -> "0\r\n\r\n";
      case "rest" -> "ET / HTTP/1.1\r\nHost: x\r\n\r\n";
      case "get+G" -> text("get") + "G";
      case "post+body+G" -> text("post") + "abcdefG";
      case "malformed" -> "GET / HTTP/1.0\r\n\r\n";
      default -> step;
    };
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "silent, 9, open",
    "silent, 10, head",
    "bytes one by one, G 3 E 3 T 3 x 1, head",
    "a head just in time, G 9 rest 3600, open",
    "silent after a request, get 3600, open",
    "the second head has a time of its own, 9 get 60 G 9, open",
    "the second head is late, get 60 G 9 E 1, head",
    "the second begins with the first, get+G 5 E 5, head",
    "each has a time of its own, 9 get+G 9 rest 9 get+G 9 rest 9, open",
    "a body just in time, post abc 29 def 3600, open",
    "a body byte by byte, post a 10 b 10 c 10, body",
    "chunks one by one, chunked 10 chunk 10 chunk 10, body",
    "chunks just in time, chunked 10 chunk 10 chunk 9 last 3600, open",
    "a head after a body, post+body+G 9 rest 9, open",
    "a late head after a body, post+body+G 10, head",
    "the time of a head is not that of its body, G 9 rest post 29 abcdef 60, open",
    "what is refused is answered, malformed 60, open",
    "it was not read, stop 60, open",
    "it is read again, stop 60 read 10, head",
  })
  void aRequestHasToComeWhole(String name, String steps, String state) {
    channel.freezeTime();
    channel.pipeline().addLast(new WireCheck(metrics));
    for (String step : steps.split(" ")) {
      take(step);
    }
    assertThat(channel.isOpen()).isEqualTo(state.equals("open"));
    assertThat(closed("head")).isEqualTo(state.equals("head") ? 1 : 0);
    assertThat(closed("body")).isEqualTo(state.equals("body") ? 1 : 0);
    channel.finishAndReleaseAll();
  }
}
