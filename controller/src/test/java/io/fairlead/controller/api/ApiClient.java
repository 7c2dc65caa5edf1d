// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Plain HTTP against one server, for tests. */
public final class ApiClient {
  private final HttpClient http = HttpClient.newHttpClient();
  private final String base;

  public ApiClient(Endpoint endpoint) {
    this.base = "http://" + endpoint;
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

  public Reply get(String path) {
    return send("GET", path, "", "");
  }

  public Reply send(String method, String path, String body) {
    return send(method, path, body.isEmpty() ? "" : "application/json", body);
  }

  public Reply send(String method, String path, String contentType, String body) {
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
    try {
      HttpResponse<String> response =
          http.send(request.build(), HttpResponse.BodyHandlers.ofString());
      return new Reply(response.statusCode(), response);
    } catch (IOException e) {
      throw new IllegalStateException(method + " " + path + " failed", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(method + " " + path + " was interrupted", e);
    }
  }
}
