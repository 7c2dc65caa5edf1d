// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.fairlead.controller.plane.Result;
import io.vertx.core.buffer.Buffer;
import java.util.Map;
import java.util.TreeMap;

/** What an operation answers with when it did what was asked. */
record Answer(int status, String mediaType, Buffer body, Map<String, String> headers) {
  private static final String JSON = "application/json";

  static Answer ok(Object record) {
    return new Answer(200, JSON, encode(record), Map.of());
  }

  /** Of a write that made {@code location}, or with a dry run would have. */
  static Answer created(Result result, String location) {
    return result.dryRun()
        ? ok(result)
        : new Answer(201, JSON, encode(result), Map.of("Location", location));
  }

  Answer with(String header, String value) {
    Map<String, String> more = new TreeMap<>(headers);
    more.put(header, value);
    return new Answer(status, mediaType, body, more);
  }

  static Buffer encode(Object record) {
    try {
      return Buffer.buffer(Operations.JSON.writeValueAsBytes(record));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("no JSON for " + record.getClass(), e);
    }
  }
}
