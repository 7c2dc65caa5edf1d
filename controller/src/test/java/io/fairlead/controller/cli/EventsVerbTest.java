// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.fairlead.controller.CtlRun;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Against a server that answers each connection by the next row of a table, then refuses. */
class EventsVerbTest {
  private static final String REFUSED =
      "{\"type\":\"urn:fairlead:problem:unauthorized\",\"detail\":\"no such token\"}";
  private static final String BUSY =
      "{\"type\":\"urn:fairlead:problem:unavailable\",\"detail\":\"events: 256 clients\"}";

  private record Row(int status, String type, String body) {}

  private final List<String> resumedAfter = new CopyOnWriteArrayList<>();
  private final List<Row> rows = new CopyOnWriteArrayList<>();
  private HttpServer server;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/v1/events",
        exchange -> {
          String after = exchange.getRequestHeaders().getFirst("Last-Event-ID");
          resumedAfter.add(after == null ? "" : after);
          Row row =
              rows.isEmpty() ? new Row(401, "application/problem+json", REFUSED) : rows.remove(0);
          exchange.getResponseHeaders().set("Content-Type", row.type());
          byte[] body = row.body().getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(row.status(), body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private void events(String... events) {
    rows.add(new Row(200, "text/event-stream", ":\n\n" + String.join("", events)));
  }

  private static String event(String id, String type, String data) {
    return "id: %s\nevent: %s\ndata: %s\n\n".formatted(id, type, data);
  }

  private static String start(String id, boolean resumed) {
    return event(id, "start", "{\"resumed\":" + resumed + "}");
  }

  private CtlRun run(String... words) {
    String url = "http://127.0.0.1:" + server.getAddress().getPort();
    return CtlRun.at(
        url, Stream.concat(Stream.of("events"), Stream.of(words)).toArray(String[]::new));
  }

  @Test
  void itResumesAfterTheLastEventAndPrintsEachOnce() {
    events(start("0a1b2c3d-4", false), event("0a1b2c3d-5", "mux", "{\"mux\":\"m1\"}"));
    rows.add(new Row(503, "application/problem+json", BUSY));
    events(start("0a1b2c3d-5", true), event("0a1b2c3d-6", "mux", "{\"mux\":\"m2\"}"));
    CtlRun run = run("-o", "json", "--follow");
    assertThat(run.out().lines())
        .containsExactly(
            "{\"id\":\"0a1b2c3d-4\",\"type\":\"start\",\"data\":{\"resumed\":false}}",
            "{\"id\":\"0a1b2c3d-5\",\"type\":\"mux\",\"data\":{\"mux\":\"m1\"}}",
            "{\"id\":\"0a1b2c3d-5\",\"type\":\"start\",\"data\":{\"resumed\":true}}",
            "{\"id\":\"0a1b2c3d-6\",\"type\":\"mux\",\"data\":{\"mux\":\"m2\"}}");
    assertThat(resumedAfter).containsExactly("", "0a1b2c3d-5", "0a1b2c3d-5", "0a1b2c3d-6");
    assertThat(run.err()).contains("events: 256 clients").contains("no such token\n");
    assertThat(run.exit()).isEqualTo(1);
  }

  @Test
  void anotherControllersEventsSayThatSomeMayBeMissing() {
    events(event("0a1b2c3d-5", "service", "{\"service\":\"web\",\"generation\":7}"));
    events(start("ffffffff-0", false), event("ffffffff-1", "mux", "{\"services\":{\"a\":1}}"));
    CtlRun run = run("--follow", "--after", "0a1b2c3d-4");
    assertThat(run.out())
        .isEqualTo("service    service web  generation 7\nmux        services {\"a\":1}\n");
    assertThat(resumedAfter).containsExactly("0a1b2c3d-4", "0a1b2c3d-5", "ffffffff-1");
    assertThat(run.err()).contains("events in between may be missing");
  }

  @Test
  void withoutFollowItEndsWithTheConnection() {
    events(start("0a1b2c3d-4", false));
    CtlRun run = run();
    assertThat(run.exit()).isEqualTo(3);
    assertThat(run.err()).isEqualTo("the controller has ended the stream\n");
    assertThat(resumedAfter).hasSize(1);
  }

  @Test
  void whatIsNoStreamOrNoEventIsRefused() {
    rows.add(new Row(404, "text/html", "<p>"));
    CtlRun other = run("--follow");
    assertThat(other.exit()).isEqualTo(3);
    assertThat(other.err()).contains("is not a Fairlead controller");
    events(event("0a1b2c3d-4", "mux", "{"));
    CtlRun damaged = run("--follow");
    assertThat(damaged.exit()).isEqualTo(1);
    assertThat(damaged.err()).isEqualTo("event 0a1b2c3d-4 has data '{'; allowed: JSON\n");
    CtlRun badId = run("--follow", "--after", "17");
    assertThat(badId.exit()).isEqualTo(2);
    assertThat(badId.err()).contains("--after '17' is refused; allowed: the id of an event");
  }
}
