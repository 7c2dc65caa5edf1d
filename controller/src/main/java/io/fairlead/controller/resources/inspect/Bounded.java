// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.inspect;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpServerResponse;
import java.util.function.Consumer;

/**
 * The body of an answer that may have so many bytes and take so long, however it is sent. One that
 * has more is not read on: its connection is reset. To be read once, on the event loop of the
 * answer.
 */
final class Bounded {
  /** The body is too long, or took too long. */
  static final class Exceeded extends RuntimeException {
    private final String reason;

    private Exceeded(String reason, String message) {
      super(message, null, false, false);
      this.reason = reason;
    }

    /** The limit's unit, a metric's label. */
    String reason() {
      return reason;
    }
  }

  private final Vertx vertx;
  private final HttpClientResponse answer;
  private final long bytes;
  private final int seconds;
  private final Promise<Void> end = Promise.promise();
  private long seen;

  Bounded(Vertx vertx, HttpClientResponse answer, long bytes, int seconds) {
    this.vertx = vertx;
    this.answer = answer;
    this.bytes = bytes;
    this.seconds = seconds;
  }

  /** All of it; fails if it exceeds a limit, or breaks off. */
  Future<Buffer> whole() {
    Buffer body = Buffer.buffer();
    return read(body::appendBuffer).map(body);
  }

  /** Passes it on no faster than it is taken, and ends {@code response} if it was whole. */
  Future<Void> pipeTo(HttpServerResponse response) {
    response.drainHandler(drained -> answer.resume());
    return read(part -> {
          response.write(part);
          if (response.writeQueueFull()) {
            answer.pause();
          }
        })
        .compose(whole -> response.end());
  }

  private Future<Void> read(Consumer<Buffer> taken) {
    long timer =
        vertx.setTimer(
            1000L * seconds, late -> cut("seconds", "it took more than %d s".formatted(seconds)));
    answer.handler(
        part -> {
          seen += part.length();
          if (seen <= bytes) {
            taken.accept(part);
          } else {
            cut("bytes", "it has more than %d bytes".formatted(bytes));
          }
        });
    answer.exceptionHandler(end::tryFail);
    answer.endHandler(whole -> end.tryComplete());
    return end.future().onComplete(done -> vertx.cancelTimer(timer));
  }

  private void cut(String reason, String message) {
    end.tryFail(new Exceeded(reason, message));
    answer.request().reset();
  }
}
