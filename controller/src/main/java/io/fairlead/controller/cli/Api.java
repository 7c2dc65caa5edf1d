// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.secret.Authority;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** The controller's REST API from the client's side. */
public final class Api {
  public static final ObjectMapper JSON = new ObjectMapper();

  private static final int OK = 200;
  private static final int UNAVAILABLE = 503;
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(60);

  private final URI base;
  private final Optional<String> token;
  private final HttpClient http;

  /**
   * {@code version} is the entity tag, empty without one; {@code text} the body as it came, {@code
   * json} the same parsed.
   */
  public record Reply(int status, String version, String text, JsonNode json) {}

  /** A problem document; its message is the document's detail. */
  public static final class RefusedException extends RuntimeException {
    private final int status;

    public RefusedException(String message) {
      this(message, 0);
    }

    RefusedException(String message, int status) {
      super(message);
      this.status = status;
    }

    /** Whether the same request may succeed later: the controller cannot serve it now. */
    public boolean isForNow() {
      return status == UNAVAILABLE;
    }
  }

  public static final class UnreachableException extends RuntimeException {
    UnreachableException(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /**
   * @param token goes with every request
   * @param authority certificate authorities to trust, PEM; the system's if empty
   * @throws IllegalArgumentException naming {@code url} or {@code authority} and what is allowed
   */
  public Api(String url, Optional<String> token, Optional<Path> authority) {
    URI uri;
    try {
      uri = URI.create(url.endsWith("/") ? url.substring(0, url.length() - 1) : url);
    } catch (IllegalArgumentException e) {
      throw badUrl(url, e);
    }
    boolean isHttp = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
    if (!isHttp || uri.getHost() == null) {
      throw badUrl(url, null);
    }
    base = uri;
    this.token = token;
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECT_TIMEOUT);
    if (authority.isPresent() || "http".equals(uri.getScheme())) {
      builder.sslContext(
          authority.map(path -> Authority.trust("--cacert", path)).orElseGet(PlainContext::new));
    }
    http = builder.build();
  }

  public static ObjectNode object() {
    return JSON.createObjectNode();
  }

  public Reply get(String path) {
    return send("GET", path, "");
  }

  /** An answer that is no JSON. */
  public String text(String path) {
    return answered(
        () -> {
          HttpResponse<String> response =
              http.send(request(path).GET().build(), HttpResponse.BodyHandlers.ofString());
          if (response.statusCode() != OK) {
            reply(response);
            throw notOurs(response, null);
          }
          return response.body();
        });
  }

  /**
   * Lines of a stream of events, until {@code isEnd} says so of one, the last, or the stream ends.
   *
   * @param after the id of the last event that the caller has; empty for those from now on
   */
  public List<String> lines(String path, String after, Predicate<String> isEnd) {
    HttpRequest.Builder request = request(path);
    if (!after.isEmpty()) {
      request.header("Last-Event-ID", after);
    }
    return answered(
        () -> {
          HttpResponse<InputStream> response =
              http.send(request.GET().build(), HttpResponse.BodyHandlers.ofInputStream());
          List<String> lines = new ArrayList<>();
          try (BufferedReader reader =
              new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
            if (response.statusCode() != OK) {
              throw new RefusedException(
                  JSON.readTree(reader).path("detail").asText(), response.statusCode());
            }
            String line = reader.readLine();
            while (line != null) {
              lines.add(line);
              line = isEnd.test(line) ? null : reader.readLine();
            }
          }
          return lines;
        });
  }

  private HttpRequest.Builder request(String path) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(base + path)).timeout(ANSWER_TIMEOUT);
    token.ifPresent(secret -> request.header("Authorization", "Bearer " + secret));
    return request;
  }

  private interface Call<T> {
    T call() throws IOException, InterruptedException;
  }

  private <T> T answered(Call<T> call) {
    try {
      return call.call();
    } catch (IOException e) {
      throw new UnreachableException(
          "the controller at %s cannot be reached: %s".formatted(base, reason(e)), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UnreachableException("interrupted while waiting for " + base, e);
    }
  }

  /** An empty {@code body} sends none. */
  public Reply send(String method, String path, String body) {
    HttpRequest.Builder request = request(path);
    if (body.isEmpty()) {
      request.method(method, HttpRequest.BodyPublishers.noBody());
    } else {
      request
          .header("Content-Type", "application/json")
          .method(method, HttpRequest.BodyPublishers.ofString(body));
    }
    return answered(() -> reply(http.send(request.build(), HttpResponse.BodyHandlers.ofString())));
  }

  /**
   * Follows {@code path} until the connection ends.
   *
   * @param after the id of the last event that the caller has; empty for those from now on
   * @param events is given the stream once, and takes events until it has none
   * @throws RefusedException if the controller refuses
   * @throws UnreachableException if there was no connection, or its end was not of our making
   */
  public void follow(String path, String after, Consumer<EventStream> events) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path));
    token.ifPresent(secret -> request.header("Authorization", "Bearer " + secret));
    if (!after.isEmpty()) {
      request.header("Last-Event-ID", after);
    }
    EventStream stream = new EventStream();
    var answer =
        http.sendAsync(
            request.build(),
            head ->
                head.statusCode() == OK
                    ? BodySubscribers.fromLineSubscriber(
                        stream, given -> "", StandardCharsets.UTF_8, null)
                    : BodySubscribers.ofString(StandardCharsets.UTF_8));
    // The end of a good answer comes to the stream behind its last line.
    answer.whenComplete(
        (response, broken) -> {
          if (broken != null || response.statusCode() != OK) {
            stream.end();
          }
        });
    events.accept(stream);
    try {
      HttpResponse<String> response = answer.get(1, TimeUnit.SECONDS);
      if (response.statusCode() != OK) {
        reply(response);
        throw notOurs(response, null);
      }
    } catch (ExecutionException e) {
      String why = e.getCause() instanceof IOException broken ? reason(broken) : e.toString();
      throw new UnreachableException(
          "the controller at %s cannot be reached: %s".formatted(base, why), e);
    } catch (TimeoutException e) {
      throw new UnreachableException("the controller at %s says nothing".formatted(base), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UnreachableException("interrupted while waiting for " + base, e);
    }
  }

  /** Java's client does not say what it could not connect to, nor why. */
  private String reason(IOException e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof UnresolvedAddressException || cause instanceof UnknownHostException) {
        return "the host '%s' is unknown".formatted(base.getHost());
      }
    }
    return e.getMessage() == null ? "connection refused" : e.getMessage();
  }

  private Reply reply(HttpResponse<String> response) {
    try {
      JsonNode json = JSON.readTree(response.body());
      String type = response.headers().firstValue("Content-Type").orElse("");
      if (type.startsWith("application/problem+json")) {
        throw new RefusedException(json.path("detail").asText(), response.statusCode());
      }
      if (type.startsWith("application/json")) {
        String version = response.headers().firstValue("ETag").orElse("");
        return new Reply(response.statusCode(), version, response.body(), json);
      }
    } catch (JsonProcessingException e) {
      throw notOurs(response, e);
    }
    throw notOurs(response, null);
  }

  private UnreachableException notOurs(HttpResponse<String> response, Throwable cause) {
    return new UnreachableException(
        "the server at %s is not a Fairlead controller: status %d without JSON"
            .formatted(base, response.statusCode()),
        cause);
  }

  private static IllegalArgumentException badUrl(String url, Throwable cause) {
    return new IllegalArgumentException(
        "--api '%s' is refused; allowed: http://HOST:PORT or https://HOST:PORT".formatted(url),
        cause);
  }
}
