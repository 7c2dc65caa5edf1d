// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.http.ApiClient.Reply;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonObject;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Checks answers against the contract. An answer outside its operations (an unknown path, a method
 * that the path does not have) must be a problem document.
 */
final class Answers {
  private static final String PROBLEM = "application/problem+json";

  /** Undocumented: our own defects. */
  private static final int INTERNAL = 500;

  private final Contract contract;
  private final Set<String> answered = new TreeSet<>();

  Answers(Contract contract) {
    this.contract = contract;
  }

  /** The operations that have answered with success. */
  Set<String> answered() {
    return answered;
  }

  void check(String method, String uri, Reply reply) {
    String path = uri.split("[?]", 2)[0];
    String mediaType = reply.header("Content-Type").split(";")[0];
    Optional<JsonObject> operation = operation(method, path);
    String what = "%s %s -> %d %s".formatted(method, uri, reply.status(), reply.body());
    if (operation.isEmpty() || reply.status() == INTERNAL) {
      assertThat(reply.status()).as(what).isGreaterThanOrEqualTo(400);
      assertThat(mediaType).as(what).isEqualTo(PROBLEM);
      Schemas.assertConforms(contract, "Problem", reply.json());
      return;
    }
    JsonObject responses = operation.get().getJsonObject("responses");
    assertThat(responses.fieldNames()).as(what).contains(Integer.toString(reply.status()));
    JsonObject response =
        contract.resolve(responses.getJsonObject(Integer.toString(reply.status())));
    checkHeaders(what, response, reply);
    JsonObject content = response.getJsonObject("content");
    if (content == null) {
      assertThat(reply.body()).as(what).isEmpty();
    } else {
      assertThat(content.fieldNames()).as(what).contains(mediaType);
      if (mediaType.endsWith("json")) {
        Schemas.assertConforms(
            contract,
            content.getJsonObject(mediaType).getJsonObject("schema"),
            Json.decodeValue(reply.body()));
      }
    }
    if (reply.status() < 400) {
      answered.add(operation.get().getString("operationId"));
    }
  }

  /** A tag where one is documented, and no undocumented tag, location or page. */
  private void checkHeaders(String what, JsonObject response, Reply reply) {
    JsonObject documented = response.getJsonObject("headers", new JsonObject());
    for (String name : Set.of("ETag", "Link", "Location")) {
      if (!reply.header(name).isEmpty()) {
        assertThat(documented.fieldNames()).as(what).contains(name);
      }
    }
    if (documented.containsKey("ETag")) {
      assertThat(reply.header("ETag")).as(what).matches("\"[!#-~]+\"");
    }
    if (documented.containsKey("Location")) {
      assertThat(reply.header("Location")).as(what).startsWith("/v1/");
    }
  }

  /** The most literal path wins, as in the router. */
  private Optional<JsonObject> operation(String method, String path) {
    for (Map.Entry<String, Object> entry : contract.document().getJsonObject("paths")) {
      String template = entry.getKey().replaceAll("[{][a-z]+[}]", "[^/]+");
      if (Pattern.matches(template, path)) {
        JsonObject operations = (JsonObject) entry.getValue();
        return Optional.ofNullable(operations.getJsonObject(method.toLowerCase(Locale.ROOT)));
      }
    }
    return Optional.empty();
  }
}
