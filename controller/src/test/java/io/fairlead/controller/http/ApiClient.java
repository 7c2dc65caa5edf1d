// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;

/**
 * Plain HTTP against one server, for tests. Every answer is checked against the contract: its
 * status, media type, headers and body are those that the operation documents.
 */
public final class ApiClient {
  private final HttpClient http = HttpClient.newHttpClient();
  private final String base;
  private final String token;
  private final Answers answers = new Answers(Contract.load());

  public ApiClient(Endpoint endpoint) {
    this(endpoint, "");
  }

  /** Sends a token with every request, unless it is empty. */
  public ApiClient(Endpoint endpoint, String token) {
    this.base = "http://" + endpoint;
    this.token = token;
  }

  /** The operations that have answered with success. */
  Set<String> answered() {
    return answers.answered();
  }

  public record Reply(int status, HttpResponse<String> response) {
    public String body() {
      return response.body();
    }

    public String header(String name) {
      return response.headers().firstValue(name).orElse("");
    }

    public JsonObject json() {
      return (JsonObject) Json.decodeValue(body());
    }

    public JsonArray array() {
      return (JsonArray) Json.decodeValue(body());
    }
  }

  /** As text; of a stream that never ends, nothing. */
  private static BodySubscriber<String> body(ResponseInfo response) {
    return response.headers().firstValue("Content-Type").orElse("").equals("text/event-stream")
        ? BodySubscribers.mapping(BodySubscribers.ofInputStream(), ApiClient::hangUp)
        : BodySubscribers.ofString(StandardCharsets.UTF_8);
  }

  private static String hangUp(InputStream stream) {
    try {
      stream.close();
      return "";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public Reply get(String path) {
    return send("GET", path, "", "");
  }

  /** {@code headers}: names and values in turn. */
  public Reply get(String path, String... headers) {
    return send("GET", path, "", "", headers);
  }

  public Reply send(String method, String path, String body) {
    return send(method, path, body.isEmpty() ? "" : "application/json", body);
  }

  public Reply send(
      String method, String path, String contentType, String body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(base + path))
            .timeout(Duration.ofSeconds(30))
            .method(
                method,
                body.isEmpty()
                    ? HttpRequest.BodyPublishers.noBody()
                    : HttpRequest.BodyPublishers.ofString(body));
    if (!contentType.isEmpty()) {
      request.header("Content-Type", contentType);
    }
    if (!token.isEmpty()) {
      request.header("Authorization", "Bearer " + token);
    }
    if (headers.length > 0) {
      request.headers(headers);
    }
    try {
      HttpResponse<String> response = http.send(request.build(), ApiClient::body);
      Reply reply = new Reply(response.statusCode(), response);
      answers.check(method, path, reply);
      return reply;
    } catch (IOException e) {
      throw new IllegalStateException(method + " " + path + " failed", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(method + " " + path + " was interrupted", e);
    }
  }
}
