// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPOutputStream;

/** Reports as agents send them. */
public final class AgentRequests {
  public static final String BOOT = "000102030405060708090a0b0c0d0e0f";

  private AgentRequests() {}

  /** Of one service. */
  public static JsonObject report(
      long sequence, String servicesVersion, String address, JsonObject... services) {
    return new JsonObject()
        .put("format", 1)
        .put("boot", BOOT)
        .put("sequence", sequence)
        .put("version", "0.1.0")
        .put("mode", "events")
        .put("addresses", new JsonArray().add(address))
        .put("servicesVersion", servicesVersion)
        .put("lostEvents", 0)
        .put("services", new JsonArray(new ArrayList<>(List.of((Object[]) services))));
  }

  public static JsonObject service(String name, long established) {
    return new JsonObject()
        .put("name", name)
        .put("established", established)
        .put("halfOpen", 1)
        .put("acceptQueue", new JsonObject().put("length", 0).put("limit", 511))
        .put("opened", 4)
        .put("closed", 2);
  }

  public static byte[] gzip(String text) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
