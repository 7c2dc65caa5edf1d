// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.fairlead.controller.resources.plane.Result;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.RoutingContext;
import java.util.Map;
import java.util.TreeMap;

/** The answer to an operation that did what the request asked for. */
public record Answer(int status, String mediaType, Buffer body, Map<String, String> headers) {
  static final ObjectMapper JSON =
      JsonMapper.builder()
          .addModule(new Jdk8Module())
          .defaultPropertyInclusion(
              JsonInclude.Value.construct(
                  JsonInclude.Include.NON_ABSENT, JsonInclude.Include.NON_ABSENT))
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .build();

  private static final String MEDIA_TYPE = "application/json";
  private static final int NOT_MODIFIED = 304;

  public static Answer ok(Object record) {
    return ok(MEDIA_TYPE, encode(record));
  }

  /** With this body as it is. */
  public static Answer ok(String mediaType, Buffer body) {
    return new Answer(200, mediaType, body, Map.of());
  }

  /** To a write that made {@code location}, or with a dry run would have. */
  static Answer created(Result result, String location) {
    return result.dryRun()
        ? ok(result)
        : new Answer(201, MEDIA_TYPE, encode(result), Map.of("Location", location));
  }

  /** With a tag of its bytes, for what has no version. */
  public static Answer tagged(Request request, Object record) {
    Answer answer = ok(record);
    return answer.tagged(request, EntityTags.of(answer.body));
  }

  /** With the tag of the version that {@code record} is of. */
  static Answer tagged(Request request, Object record, String version) {
    return ok(record).tagged(request, version);
  }

  /** Without a body if the client has this version already. */
  private Answer tagged(Request request, String version) {
    boolean isKnown =
        request.header("If-None-Match").filter(h -> EntityTags.matches(h, version)).isPresent();
    Answer sent = isKnown ? new Answer(NOT_MODIFIED, mediaType, Buffer.buffer(), headers) : this;
    return sent.with("ETag", EntityTags.quote(version));
  }

  public Answer with(String header, String value) {
    Map<String, String> more = new TreeMap<>(headers);
    more.put(header, value);
    return new Answer(status, mediaType, body, more);
  }

  public Answer with(int newStatus) {
    return new Answer(newStatus, mediaType, body, headers);
  }

  void send(RoutingContext context) {
    HttpServerResponse response = context.response().setStatusCode(status);
    headers.forEach(response::putHeader);
    if (status != NOT_MODIFIED) {
      response.putHeader("Content-Type", mediaType);
    }
    response.end(body);
  }

  /** A record as the API's JSON. */
  public static Buffer encode(Object record) {
    try {
      return Buffer.buffer(JSON.writeValueAsBytes(record));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("no JSON for " + record.getClass(), e);
    }
  }
}
