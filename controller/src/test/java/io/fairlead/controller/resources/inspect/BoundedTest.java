// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.inspect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Answers that are too long, or drip. */
@Timeout(120)
class BoundedTest {
  private static final int LONG = 600;
  private static final int DRIP_MILLIS = 50;
  private Vertx vertx;
  private HttpServer server;

  @BeforeEach
  void serve() {
    vertx = Vertx.vertx();
    server =
        join(
            vertx
                .createHttpServer()
                .requestHandler(
                    request -> {
                      int size = Integer.parseInt(request.getParam("size"));
                      if (size >= 0) {
                        request.response().end(Buffer.buffer(new byte[size]));
                        return;
                      }
                      request.response().setChunked(true);
                      long timer =
                          vertx.setPeriodic(DRIP_MILLIS, tick -> request.response().write("."));
                      request.response().closeHandler(gone -> vertx.cancelTimer(timer));
                    })
                .listen(0, "127.0.0.1"));
  }

  @AfterEach
  void close() {
    join(vertx.close());
  }

  @ParameterizedTest
  @CsvSource({
    "0, 10, 600, ",
    "10, 10, 600, ",
    "11, 10, 600, it has more than 10 bytes",
    "100000, 10, 600, it has more than 10 bytes",
    "-1, 1000000000, 1, it took more than 1 s",
    "-1, 3, 600, it has more than 3 bytes"
  })
  void anAnswerIsWholeOrCut(int size, long bytes, int seconds, String why) {
    Promise<Buffer> read = Promise.promise();
    vertx.runOnContext( // as a route's: elsewhere the answer may end before it is read
        go ->
            vertx
                .createHttpClient()
                .request(HttpMethod.GET, server.actualPort(), "127.0.0.1", "/?size=" + size)
                .compose(HttpClientRequest::send)
                .compose(answer -> new Bounded(vertx, answer, bytes, seconds).whole())
                .onComplete(read));
    if (why == null) {
      assertThat(join(read.future()).length()).isEqualTo(size);
    } else {
      assertThat(catchThrowable(() -> join(read.future())))
          .isInstanceOf(CompletionException.class)
          .hasCauseInstanceOf(Bounded.Exceeded.class)
          .hasMessageContaining(why);
    }
  }

  private static <T> T join(Future<T> future) {
    return future
        .toCompletionStage()
        .toCompletableFuture()
        .orTimeout(LONG, TimeUnit.SECONDS)
        .join();
  }
}
