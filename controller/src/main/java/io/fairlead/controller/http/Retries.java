// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.github.luben.zstd.Zstd;
import com.google.common.hash.Hashing;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.store.Note;
import io.fairlead.controller.store.Note.KeptAnswer;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * Requests that may be sent again, because they have an {@code Idempotency-Key}: what was committed
 * once is answered with its first answer, by whichever controller leads by then. Only commits are
 * remembered; what was refused wrote nothing and is looked at afresh.
 *
 * <p>A key belongs to the caller whose token came with it. While a request is under way, another
 * one under its key waits for its answer.
 */
final class Retries {
  static final String HEADER = "Idempotency-Key";

  /** Tells that an answer was given before: {@code true}, or {@code abridged}. */
  static final String REPLAYED = "Idempotency-Replayed";

  private static final String ABRIDGED = "abridged";
  private static final int ZSTD_LEVEL = 3;
  private static final int UNPACKED_MAX = 256 << 20;

  /**
   * @param name 64 hex digits, of caller and key
   * @param digest 64 hex digits, of method, path, query and body
   */
  record Key(String name, String digest) {}

  private record UnderWay(String digest, CompletableFuture<Answer> answer) {}

  private final Plane plane;
  private final Map<String, UnderWay> underWay = new ConcurrentHashMap<>();

  Retries(Plane plane) {
    this.plane = plane;
  }

  /**
   * The first answer to a request with a key, else what {@code commit} answers.
   *
   * @throws Refusal if the key belongs to another request
   */
  CompletionStage<Answer> answer(
      Request request, Function<Optional<Key>, CompletionStage<Answer>> commit) {
    if (request.dryRun() || request.header(HEADER).isEmpty()) {
      return commit.apply(Optional.empty());
    }
    Key key = key(request, request.header(HEADER).get());
    UnderWay mine = new UnderWay(key.digest(), new CompletableFuture<>());
    UnderWay other = underWay.putIfAbsent(key.name(), mine);
    if (other != null) {
      check(request, key, other.digest());
      return other.answer().thenApply(answer -> answer.with(REPLAYED, "true"));
    }
    try {
      Optional<KeptAnswer> kept = plane.answer(key.name());
      kept.ifPresent(answer -> check(request, key, answer.digest()));
      CompletionStage<Answer> answer =
          kept.isPresent()
              ? CompletableFuture.completedStage(replay(kept.get().answer()))
              : commit.apply(Optional.of(key));
      return answer.whenComplete((done, failure) -> end(key, mine, done, failure));
    } catch (RuntimeException e) {
      end(key, mine, null, e);
      throw e;
    }
  }

  private void end(Key key, UnderWay mine, Answer done, Throwable failure) {
    underWay.remove(key.name(), mine);
    if (failure == null) {
      mine.answer().complete(done);
    } else {
      mine.answer().completeExceptionally(failure);
    }
  }

  private static void check(Request request, Key key, String digest) {
    if (!digest.equals(key.digest())) {
      throw new Refusal(
          Refusal.Kind.KEY_REUSED,
          HEADER,
          request.header(HEADER).orElseThrow(),
          "a key of its own for each request; this one came with another request before");
    }
  }

  private static Key key(Request request, String key) {
    Buffer body = request.bodyBytes();
    return new Key(
        sha256(request.caller() + "\n" + key),
        sha256(
            "%s\n%s\n"
                .formatted(
                    request.line(), Hashing.sha256().hashBytes(body.getBytes()).toString())));
  }

  private static String sha256(String text) {
    return Hashing.sha256().hashString(text, StandardCharsets.UTF_8).toString();
  }

  /**
   * An answer as it is kept: packed, and if it still does not fit, without its lists of moves and
   * shares, of which a service of 65,535 backends has megabytes.
   */
  static byte[] keep(Answer answer) {
    byte[] whole = pack(answer, "true");
    if (whole.length <= Note.ANSWER_MAX) {
      return whole;
    }
    JsonObject body = answer.body().toJsonObject();
    body.put("moves", new JsonArray()).put("shares", new JsonArray());
    return pack(
        new Answer(answer.status(), answer.mediaType(), body.toBuffer(), answer.headers()),
        ABRIDGED);
  }

  private static byte[] pack(Answer answer, String replayed) {
    JsonObject headers = new JsonObject();
    answer.with(REPLAYED, replayed).headers().forEach(headers::put);
    JsonObject kept =
        new JsonObject()
            .put("status", answer.status())
            .put("mediaType", answer.mediaType())
            .put("headers", headers)
            .put("body", answer.body().toString());
    return Zstd.compress(kept.toBuffer().getBytes(), ZSTD_LEVEL);
  }

  static Answer replay(byte[] packed) {
    long size = Zstd.getFrameContentSize(packed);
    if (size < 0 || size > UNPACKED_MAX) {
      throw new IllegalStateException("a kept answer says that it has %d bytes".formatted(size));
    }
    JsonObject kept = new JsonObject(Buffer.buffer(Zstd.decompress(packed, (int) size)));
    Map<String, String> headers = new TreeMap<>();
    kept.getJsonObject("headers")
        .forEach(header -> headers.put(header.getKey(), header.getValue().toString()));
    return new Answer(
        kept.getInteger("status"),
        kept.getString("mediaType"),
        Buffer.buffer(kept.getString("body")),
        headers);
  }
}
