// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.secret.Authority;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import javax.net.ssl.SSLContext;

/** The controller's REST API from the client's side. */
public final class Api {
  private static final int OK = 200;
  private static final int UNAUTHORIZED = 401;
  private static final int UNAVAILABLE = 503;
  private static final int ANSWER_MILLIS = 60_000;

  /** The controller sends a comment every 15 s into a stream of events. */
  private static final int SILENCE_MILLIS = 45_000;

  private final URI base;
  private final Optional<String> token;
  private final Optional<SSLContext> tls;

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

    /** Whether the controller does not know who calls. */
    boolean isUnauthorized() {
      return status == UNAUTHORIZED;
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
   * @param isClearTextAllowed whether the token may go to other hosts by http
   * @throws IllegalArgumentException naming {@code url} or {@code authority} and what is allowed
   */
  public Api(
      String url, Optional<String> token, Optional<Path> authority, boolean isClearTextAllowed) {
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
    if (token.isPresent() && !isClearTextAllowed && !isPrivate(uri)) {
      throw new IllegalArgumentException(
          ("--api '%s' is refused: others on the way could read the token; allowed:"
                  + " https://HOST:PORT, http at a loopback address, or --api-clear-text on")
              .formatted(url));
    }
    base = uri;
    this.token = token;
    tls = authority.map(path -> Authority.trust("--cacert", path));
  }

  public Reply get(String path) {
    return send("GET", path, "");
  }

  /** An answer that is no JSON. */
  public String text(String path) {
    return answered("GET", path, Map.of(), "", Api::textOf);
  }

  /**
   * Lines of a stream of events, until {@code isEnd} says so of one, the last, or the stream ends.
   *
   * @param after the id of the last event that the caller has; empty for those from now on
   */
  public List<String> lines(String path, String after, Predicate<String> isEnd) {
    return answered(
        "GET",
        path,
        lastEvent(after),
        "",
        (api, answer) -> {
          if (answer.status() != OK) {
            throw api.notStreamed(answer);
          }
          List<String> lines = new ArrayList<>();
          BufferedReader reader =
              new BufferedReader(new InputStreamReader(answer.body(), StandardCharsets.UTF_8));
          String line = reader.readLine();
          while (line != null) {
            lines.add(line);
            line = isEnd.test(line) ? null : reader.readLine();
          }
          return lines;
        });
  }

  /** An empty {@code body} sends none. */
  public Reply send(String method, String path, String body) {
    Map<String, String> headers =
        body.isEmpty() ? Map.of() : Map.of("Content-Type", "application/json");
    return answered(method, path, headers, body, Api::reply);
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
    try (Exchange answer = exchange(SILENCE_MILLIS, "GET", path, lastEvent(after), "")) {
      if (answer.status() != OK) {
        throw notStreamed(answer);
      }
      EventStream stream = new EventStream(answer.body());
      events.accept(stream);
      if (stream.broken().isPresent()) {
        throw stream.broken().get();
      }
    } catch (IOException e) {
      throw unreachable(e);
    }
  }

  private static Map<String, String> lastEvent(String after) {
    return after.isEmpty() ? Map.of() : Map.of("Last-Event-ID", after);
  }

  private interface Reader<T> {
    T read(Api api, Exchange answer) throws IOException;
  }

  private <T> T answered(
      String method, String path, Map<String, String> headers, String body, Reader<T> reader) {
    try (Exchange answer = exchange(ANSWER_MILLIS, method, path, headers, body)) {
      return reader.read(this, answer);
    } catch (IOException e) {
      throw unreachable(e);
    }
  }

  private Exchange exchange(
      int silenceMillis, String method, String path, Map<String, String> headers, String body)
      throws IOException {
    Map<String, String> all = new HashMap<>(headers);
    if (token.isPresent()) {
      all.put("Authorization", "Bearer " + token.get());
    }
    return Exchange.of(URI.create(base + path), tls, silenceMillis, method, all, body);
  }

  private UnreachableException unreachable(IOException e) {
    return new UnreachableException(
        "the controller at %s cannot be reached: %s".formatted(base, reason(e)), e);
  }

  /** The same words in one case, and what Java leaves out. */
  private String reason(IOException e) {
    if (e instanceof UnknownHostException) {
      return "the host '%s' is unknown".formatted(base.getHost());
    }
    boolean isJavas = e instanceof SocketException || e instanceof SocketTimeoutException;
    String message = e.getMessage() == null ? e.toString() : e.getMessage();
    return isJavas
        ? message.substring(0, 1).toLowerCase(Locale.ROOT) + message.substring(1)
        : message;
  }

  private static String textOf(Api api, Exchange answer) throws IOException {
    if (answer.status() != OK) {
      throw api.notStreamed(answer);
    }
    return answer.text();
  }

  /** What an answer says that is neither the stream nor the text that was asked for. */
  private RuntimeException notStreamed(Exchange answer) throws IOException {
    reply(answer);
    return notOurs(answer, null);
  }

  private Reply reply(Exchange answer) throws IOException {
    String text = answer.text();
    String type = answer.header("Content-Type");
    try {
      if (type.startsWith("application/problem+json")) {
        throw new RefusedException(Json.read(text).path("detail").asText(), answer.status());
      }
      if (type.startsWith("application/json")) {
        return new Reply(answer.status(), answer.header("ETag"), text, Json.read(text));
      }
    } catch (JsonProcessingException e) {
      throw notOurs(answer, e);
    }
    throw notOurs(answer, null);
  }

  private UnreachableException notOurs(Exchange answer, Throwable cause) {
    return new UnreachableException(
        "the server at %s is not a Fairlead controller: status %d without JSON"
            .formatted(base, answer.status()),
        cause);
  }

  /** Whether what is sent to it is encrypted, or stays on this host. */
  private static boolean isPrivate(URI uri) {
    String host = uri.getHost().toLowerCase(Locale.ROOT);
    boolean isIpv6 = host.startsWith("[");
    return "https".equals(uri.getScheme())
        || new Endpoint(isIpv6 ? host.substring(1, host.length() - 1) : host, 0).isLoopback();
  }

  private static IllegalArgumentException badUrl(String url, Throwable cause) {
    return new IllegalArgumentException(
        "--api '%s' is refused; allowed: http://HOST:PORT or https://HOST:PORT".formatted(url),
        cause);
  }
}
