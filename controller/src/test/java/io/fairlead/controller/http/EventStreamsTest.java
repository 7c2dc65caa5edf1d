// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static io.fairlead.controller.resources.muxes.Muxes.serving;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.google.common.util.concurrent.Uninterruptibles;
import io.fairlead.controller.leader.MemoryController;
import io.fairlead.controller.resources.muxes.MuxService;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.Muxes;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/**
 * Server-sent events over real sockets: what they report, how they resume, and which clients are
 * disconnected.
 */
@Timeout(180)
class EventStreamsTest {
  private static final String WEB = "/v1/services/web";

  @AutoClose private final MemoryController controller = new MemoryController();
  private final PrometheusMeterRegistry metrics =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private ApiServer server;
  private ApiClient client;

  @BeforeEach
  void open() throws IOException {
    server = controller.serve(Security.NONE, List.of(), metrics);
    client = new ApiClient(server.listen());
  }

  @AfterEach
  void close() {
    server.close();
  }

  record Event(String id, String type, JsonObject data) {}

  /** One client; lines as they arrive. */
  private final class Stream implements AutoCloseable {
    private final Socket socket = new Socket();
    private final BufferedReader lines;
    private final List<String> head = new ArrayList<>();

    Stream(String lastId) throws IOException {
      this(lastId, 1 << 20);
    }

    Stream(String lastId, int receiveBytes) throws IOException {
      socket.setReceiveBufferSize(receiveBytes);
      socket.connect(new InetSocketAddress(server.listen().host(), server.listen().port()));
      socket.setSoTimeout(20_000);
      String resume = lastId.isEmpty() ? "" : "Last-Event-ID: " + lastId + "\r\n";
      socket
          .getOutputStream()
          .write(
              ("GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n" + resume + "\r\n")
                  .getBytes(StandardCharsets.US_ASCII));
      lines =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    void readHead() throws IOException {
      for (String line = lines.readLine(); !line.isEmpty(); line = lines.readLine()) {
        head.add(line);
      }
    }

    /** The next event; comments, and the chunks that HTTP cuts the stream into, are left out. */
    Event next() throws IOException {
      if (head.isEmpty()) {
        readHead();
        assertThat(head).contains("HTTP/1.1 200 OK", "Content-Type: text/event-stream");
      }
      String id = "";
      String type = "";
      long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
      while (true) {
        String line = lines.readLine();
        if (line == null) {
          throw new IOException("the stream has ended");
        }
        assertThat(System.nanoTime()).as("no event within 20 s").isLessThan(end);
        if (line.startsWith("id: ")) {
          id = line.substring(4);
        } else if (line.startsWith("event: ")) {
          type = line.substring(7);
        } else if (line.startsWith("data: ")) {
          return new Event(id, type, new JsonObject(line.substring(6)));
        }
      }
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private void create(String name, int number) {
    String spec =
        "{\"name\":\"%s\",\"vips\":[\"10.99.0.%d\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}";
    assertThat(client.send("POST", "/v1/services", spec.formatted(name, number)).status())
        .isEqualTo(201);
  }

  private static MuxView mux(String id, long generation) {
    return Muxes.mux(id, "10.1.0.11", List.of(), Map.of("web", serving(generation)));
  }

  @Test
  void tellsOfEachKindOfChange() throws IOException {
    create("old", 9);
    try (Stream stream = new Stream("")) {
      Event start = stream.next();
      assertThat(start.type()).isEqualTo("start");
      assertThat(start.data().getBoolean("resumed")).isFalse();
      create("web", 1);
      JsonObject created = stream.next().data();
      if (created.getString("service").equals("old")) { // not seen before the stream began
        created = stream.next().data();
      }
      assertThat(created.getString("service")).isEqualTo("web");
      assertThat(created.getString("version"))
          .isEqualTo(client.get(WEB).json().getString("version"));
      assertThat(created.getBoolean("deleted")).isFalse();
      client.send("PUT", WEB + "/backends/7", "{\"address\":\"10.1.0.27\"}");
      assertThat(stream.next().data().getLong("generation")).isEqualTo(2);
      client.send("PATCH", WEB, "{\"windowSeconds\":300}");
      assertThat(stream.next().data().getString("version")).isEqualTo("2-1-2");
      controller.mux(mux("mux1", 2));
      Event mux = stream.next();
      assertThat(mux.type()).isEqualTo("mux");
      assertThat(mux.data().getJsonObject("services").getJsonObject("web").getLong("generation"))
          .isEqualTo(2);
      controller.disconnect();
      Event away = stream.next();
      assertThat(away.type()).isEqualTo("controller");
      assertThat(away.data().getString("zookeeper")).isEqualTo("suspended");
      controller.reconnect();
      Event back = stream.next();
      if (!back.data().getBoolean("leader")) { // seen before it leads again
        back = stream.next();
      }
      assertThat(back.data().getBoolean("leader")).isTrue();
      client.send("DELETE", WEB, "");
      assertThat(stream.next().data().getBoolean("deleted")).isTrue();
    }
  }

  /** The next event of a kind. */
  private static JsonObject next(Stream stream, String type) throws IOException {
    Event event = stream.next();
    while (!event.type().equals(type)) {
      event = stream.next();
    }
    return event.data();
  }

  @Test
  void tellsWhatBackendsAreOnTheirWayTo() throws IOException {
    create("web", 1);
    client.send("PUT", WEB + "/backends/7", "{\"address\":\"10.1.0.27\"}");
    try (Stream stream = new Stream("")) {
      assertThat(stream.next().type()).isEqualTo("start");
      client.send(
          "PUT", WEB + "/backends/8", "{\"address\":\"10.1.0.28\",\"slowStartSeconds\":60}");
      JsonObject starting = next(stream, "slowStart").getJsonArray("starting").getJsonObject(0);
      assertThat(starting.getMap()).containsEntry("backend", 8).containsEntry("share", 0.05);
      client.send("PATCH", WEB + "/backends/8", "{\"weight\":100}");
      assertThat(next(stream, "slowStart").getJsonArray("ended")).containsExactly(8);
      client.send("POST", WEB + "/drains", "{\"ids\":[8],\"deadlineSeconds\":60}");
      JsonObject drain = next(stream, "drain").getJsonArray("drains").getJsonObject(0);
      assertThat(drain.getMap())
          .containsEntry("backend", 8)
          .containsEntry("state", "draining")
          .containsKey("deadline")
          .doesNotContainKeys("reason", "connections");
      client.send("POST", WEB + "/undrain", "{\"ids\":[8]}");
      assertThat(next(stream, "drain").getJsonArray("over")).containsExactly(8);
    }
  }

  @Test
  void tellsHowAStagedChangeGoesOn() throws IOException {
    create("web", 1);
    client.send("PUT", WEB + "/backends/7", "{\"address\":\"10.1.0.27\"}");
    try (Stream stream = new Stream("")) {
      assertThat(stream.next().type()).isEqualTo("start");
      client.send("PUT", WEB + "/backends/8?stage=1,100", "{\"address\":\"10.1.0.28\"}");
      JsonObject began = next(stream, "stage").getJsonObject("staging");
      assertThat(began.getMap()).containsEntry("share", 0.01).containsEntry("state", "running");
      client.send("POST", WEB + "/stage/rollback", "");
      JsonObject ended = next(stream, "stage").getJsonObject("staging");
      assertThat(ended.getMap())
          .containsEntry("state", "rolled_back")
          .containsEntry("why", "by hand");
    }
  }

  @Test
  void tellsHowManyBucketsAreChainedInAHold() throws IOException {
    create("web", 1);
    client.send("PUT", WEB + "/backends/7", "{\"address\":\"10.1.0.27\"}");
    client.send("PATCH", WEB, "{\"holdSeconds\":3600}");
    try (Stream stream = new Stream("")) {
      assertThat(stream.next().type()).isEqualTo("start");
      JsonObject added =
          client.send("PUT", WEB + "/backends/8", "{\"address\":\"10.1.0.28\"}").json();
      assertThat(next(stream, "hold").getMap())
          .containsEntry("service", "web")
          .containsEntry("generation", added.getInteger("generation"))
          .containsEntry("chainedBuckets", added.getInteger("movedBuckets"))
          .containsEntry("before", 0);
      client.send("DELETE", WEB + "/backends/7?dead=true", "");
      assertThat(next(stream, "hold").getMap())
          .containsEntry("chainedBuckets", 0)
          .containsEntry("before", added.getInteger("movedBuckets"));
    }
  }

  @Test
  void resumesBehindTheLastEventThatTheClientHas() throws IOException {
    Event last;
    try (Stream stream = new Stream("")) {
      assertThat(stream.next().type()).isEqualTo("start");
      create("a", 1);
      last = stream.next();
    }
    create("b", 2);
    await().until(() -> lastNumber() >= 2);
    create("c", 3);
    try (Stream again = new Stream(last.id())) {
      assertThat(again.next().data().getBoolean("resumed")).isTrue();
      assertThat(again.next().data().getString("service")).isEqualTo("b");
      Event c = again.next();
      assertThat(c.data().getString("service")).isEqualTo("c");
      try (Stream upToDate = new Stream(c.id())) {
        Event start = upToDate.next();
        assertThat(start.data().getBoolean("resumed")).isTrue();
        assertThat(start.id()).as("to resume from, before anything comes").isEqualTo(c.id());
      }
    }
    String number = last.id().substring(last.id().indexOf('-'));
    for (String unknown : List.of("00000000" + number, last.id() + "000")) {
      try (Stream other = new Stream(unknown)) {
        assertThat(other.next().data().getBoolean("resumed")).as(unknown).isFalse();
      }
    }
    assertThat(client.get("/v1/events", "Last-Event-ID", "7").status()).isEqualTo(400);
  }

  /** Of the newest event. */
  private long lastNumber() throws IOException {
    try (Stream stream = new Stream("")) {
      String id = stream.next().id();
      return Long.parseLong(id.substring(id.indexOf('-') + 1));
    }
  }

  @Test
  void aClientThatDoesNotReadIsCutOffAndTheOthersAreNot() throws IOException {
    try (Stream slow = new Stream("", 4096);
        Stream quick = new Stream("")) {
      slow.readHead();
      assertThat(quick.next().type()).isEqualTo("start");
      await().until(() -> metric("fairlead_controller_event_clients ") == 2);
      Map<String, MuxService> many =
          IntStream.range(0, 100)
              .boxed()
              .collect(Collectors.toMap(i -> "service-with-a-long-name-" + i, i -> serving(i)));
      int seen = 0;
      for (int round = 0; round < 6; round++) {
        String id = "mux" + round + "-%d";
        controller.muxes(
            IntStream.range(0, 600)
                .mapToObj(i -> Muxes.mux(id.formatted(i), "10.1.0.1", List.of(), many))
                .toList());
        for (int i = 0; i < 600; i++) {
          assertThat(quick.next().type()).isEqualTo("mux");
          seen++;
        }
      }
      assertThat(seen).isEqualTo(3600);
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> metric("fairlead_controller_event_clients_dropped_total ") == 1);
      assertThat(metric("fairlead_controller_event_clients ")).isEqualTo(1);
    }
    await().until(() -> metric("fairlead_controller_event_clients ") == 0);
  }

  /** One viewer's token took all streams. */
  @Test
  void aCallerHasAQuarterOfTheStreams() throws IOException {
    List<Socket> held = new ArrayList<>();
    try {
      for (int i = 0; i < 64; i++) {
        held.add(ask("127.0.0.1"));
        assertThat(status(held.get(i))).isEqualTo("HTTP/1.1 200 OK");
      }
      try (Socket other = ask("127.0.0.2");
          Socket more = ask("127.0.0.1")) {
        assertThat(status(other)).isEqualTo("HTTP/1.1 200 OK");
        assertThat(status(more)).isEqualTo("HTTP/1.1 503 Service Unavailable");
      }
      assertThat(metric("fairlead_controller_http_busy_total{limit=\"streams\"} ")).isEqualTo(1);
      held.remove(0).close();
      await()
          .atMost(Duration.ofSeconds(60))
          .until(
              () -> {
                try (Socket again = ask("127.0.0.1")) {
                  return status(again).endsWith("200 OK");
                }
              });
    } finally {
      for (Socket socket : held) {
        socket.close();
      }
    }
  }

  private Socket ask(String from) throws IOException {
    Socket socket = new Socket();
    socket.bind(new InetSocketAddress(from, 0));
    socket.connect(new InetSocketAddress(server.listen().host(), server.listen().port()));
    socket.setSoTimeout(60_000);
    socket
        .getOutputStream()
        .write(
            "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                .getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  private static String status(Socket socket) throws IOException {
    return new BufferedReader(
            new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))
        .readLine();
  }

  @Test
  void anOrderlyStopEndsTheStreams() throws IOException {
    try (Stream stream = new Stream("")) {
      assertThat(stream.next().type()).isEqualTo("start");
      server.close();
      assertThatThrownBy(stream::next).isInstanceOf(IOException.class);
      open();
    }
  }

  /** Reading the state takes a moment: the end waits for it, and nothing is sent after the end. */
  @Test
  void anEndWhileTheStateIsReadIsQuiet() throws Exception {
    CountDownLatch isReading = new CountDownLatch(1);
    CountDownLatch mayGoOn = new CountDownLatch(1);
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    List<Throwable> uncaught = new CopyOnWriteArrayList<>();
    Thread.UncaughtExceptionHandler former = Thread.getDefaultUncaughtExceptionHandler();
    try (Stream stream = new Stream("")) {
      assertThat(stream.next().type()).isEqualTo("start");
      log.start();
      root.addAppender(log);
      Thread.setDefaultUncaughtExceptionHandler((thread, e) -> uncaught.add(e));
      controller
          .plane()
          .whenRead(
              () -> {
                isReading.countDown();
                Uninterruptibles.awaitUninterruptibly(mayGoOn);
              });
      assertThat(isReading.await(20, TimeUnit.SECONDS)).isTrue();
      CompletableFuture<Void> closing = CompletableFuture.runAsync(server::close);
      assertThatThrownBy(stream::next).isInstanceOf(IOException.class);
      assertThatThrownBy(() -> closing.get(1, TimeUnit.SECONDS))
          .as("it waits")
          .isInstanceOf(TimeoutException.class);
      controller.plane().whenRead(() -> {});
      mayGoOn.countDown();
      closing.get(20, TimeUnit.SECONDS);
      assertThat(uncaught).isEmpty();
      assertThat(List.copyOf(log.list)).extracting(ILoggingEvent::getFormattedMessage).isEmpty();
    } finally {
      mayGoOn.countDown();
      root.detachAppender(log);
      Thread.setDefaultUncaughtExceptionHandler(former);
      open();
    }
  }

  private double metric(String name) {
    return client
        .get("/metrics")
        .body()
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length())))
        .findFirst()
        .orElse(0);
  }
}
