// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.google.common.base.Throwables;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.secret.Authority;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.interfaces.RSAPublicKey;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import org.jose4j.jwk.JsonWebKey;
import org.jose4j.jwk.JsonWebKeySet;
import org.jose4j.jwk.PublicJsonWebKey;
import org.jose4j.lang.JoseException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The public keys of an issuer, from its JWKS (RFC 7517). They are fetched again when they are old,
 * and when a token names a key that is not among them; the second at most every {@link
 * #PAUSE_MILLIS}, whatever callers send. What cannot be fetched changes nothing.
 */
final class OidcKeys {
  /** Between two fetches that tokens of unknown keys ask for. */
  static final long PAUSE_MILLIS = 10_000;

  /** After this, keys that the issuer has withdrawn are gone. */
  static final long AGE_MILLIS = 300_000;

  private static final Logger LOG = LoggerFactory.getLogger(OidcKeys.class);
  private static final int BYTES_MAX = 1 << 20;
  private static final int RSA_BITS_MIN = 2048;
  private static final int OK = 200;
  private static final Duration CONNECT = Duration.ofSeconds(3);

  /** Until the answer has come whole, however steadily its bytes come. */
  private static final Duration WHOLE = Duration.ofSeconds(5);

  private final URI source;
  private final Optional<HttpClient> http;
  private final Executor executor;
  private final LongSupplier millis;
  private final MeterRegistry metrics;

  private volatile Known known = new Known(List.of(), Optional.of("they were not fetched yet"));

  @GuardedBy("this")
  private CompletableFuture<Known> running = CompletableFuture.completedFuture(known);

  @GuardedBy("this")
  private Optional<Long> started = Optional.empty();

  /**
   * @param failure why the last fetch failed, empty if it did not
   */
  record Known(List<PublicJsonWebKey> keys, Optional<String> failure) {
    /** The keys of that id; without an id all. */
    List<PublicJsonWebKey> of(Optional<String> kid) {
      return keys.stream()
          .filter(key -> kid.isEmpty() || kid.get().equals(key.getKeyId()))
          .toList();
    }
  }

  /**
   * @param executor that fetches; the caller of this class never waits
   * @param millis a clock that only goes forward
   * @throws IllegalArgumentException if the authority is no certificate
   */
  OidcKeys(OidcSettings settings, Executor executor, LongSupplier millis, MeterRegistry metrics) {
    this.source = settings.keys();
    this.executor = executor;
    this.millis = millis;
    this.metrics = metrics;
    this.http =
        source.getScheme().equals("file")
            ? Optional.empty()
            : Optional.of(client(settings.authority()));
  }

  Known known() {
    return known;
  }

  /** Until the first fetch. */
  void startWith(Known others) {
    known = others;
  }

  /** Fetches if the last fetch was long ago. To be called every few seconds. */
  void renew() {
    if (isBefore(known.failure().isPresent() ? PAUSE_MILLIS : AGE_MILLIS)) {
      fetch();
    }
  }

  /** The keys after a fetch, if one is under way or may begin; else those that are known. */
  CompletableFuture<Known> more() {
    synchronized (this) {
      if (!running.isDone()) {
        return running;
      }
    }
    return isBefore(PAUSE_MILLIS) ? fetch() : CompletableFuture.completedFuture(known);
  }

  private synchronized boolean isBefore(long pause) {
    return started.isEmpty() || millis.getAsLong() - started.get() >= pause;
  }

  private synchronized CompletableFuture<Known> fetch() {
    if (running.isDone()) {
      started = Optional.of(millis.getAsLong());
      running = CompletableFuture.supplyAsync(this::load, executor);
    }
    return running;
  }

  private Known load() {
    Known before = known;
    try {
      List<PublicJsonWebKey> keys = parse(http.isEmpty() ? file() : get(http.get()));
      known = new Known(keys, Optional.empty());
      if (before.failure().isPresent()) {
        LOG.info("{} keys from {}", keys.size(), source);
      }
    } catch (IOException e) {
      String why = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
      known = new Known(before.keys(), Optional.of(why));
      if (!before.failure().equals(known.failure())) {
        LOG.error(
            "the keys of {} cannot be fetched, {} known ones stay: {}",
            source,
            before.keys().size(),
            why);
      }
    }
    metrics
        .counter(
            "fairlead.controller.oidc.fetches",
            "result",
            known.failure().isEmpty() ? "fetched" : "failed")
        .increment();
    return known;
  }

  private String file() throws IOException {
    Path path = Path.of(source);
    if (Files.size(path) > BYTES_MAX) {
      throw new IOException("the file has more than %d bytes".formatted(BYTES_MAX));
    }
    return Files.readString(path);
  }

  private String get(HttpClient client) throws IOException {
    HttpRequest request =
        HttpRequest.newBuilder(source).header("Accept", "application/json").build();
    CompletableFuture<HttpResponse<byte[]>> exchange =
        client.sendAsync(request, head -> new LimitedBody(head.statusCode() == OK ? BYTES_MAX : 0));
    try {
      HttpResponse<byte[]> response = exchange.get(WHOLE.toMillis(), TimeUnit.MILLISECONDS);
      if (response.statusCode() != OK) {
        throw new IOException("the answer has status %d".formatted(response.statusCode()));
      }
      return new String(response.body(), StandardCharsets.UTF_8);
    } catch (TimeoutException e) {
      exchange.cancel(true);
      throw new IOException(
          "the answer did not come whole within %d s".formatted(WHOLE.toSeconds()), e);
    } catch (ExecutionException e) {
      Throwables.throwIfInstanceOf(e.getCause(), IOException.class);
      throw new IOException(e.getCause());
    } catch (InterruptedException e) {
      exchange.cancel(true);
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }

  /** Public keys that sign; what else a set has, symmetric keys among it, is left out. */
  private static List<PublicJsonWebKey> parse(String json) throws IOException {
    List<JsonWebKey> all;
    try {
      all = new JsonWebKeySet(json).getJsonWebKeys();
    } catch (JoseException | RuntimeException e) {
      throw new IOException("this is no JWKS: " + e.getMessage(), e);
    }
    List<PublicJsonWebKey> keys =
        all.stream()
            .filter(PublicJsonWebKey.class::isInstance)
            .map(PublicJsonWebKey.class::cast)
            .filter(key -> key.getUse() == null || key.getUse().equals("sig"))
            .filter(
                key ->
                    !(key.getPublicKey() instanceof RSAPublicKey rsa)
                        || rsa.getModulus().bitLength() >= RSA_BITS_MIN)
            .toList();
    if (keys.isEmpty()) {
      throw new IOException("the JWKS has no public key that signs");
    }
    return keys;
  }

  private static HttpClient client(Optional<Path> authority) {
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(CONNECT);
    authority.ifPresent(path -> builder.sslContext(Authority.trust("--oidc: ca", path)));
    return builder.build();
  }
}
