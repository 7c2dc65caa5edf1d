// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** Reads protocol/vectors/*.json, the same files that the other languages are tested against. */
public final class Vectors {
  private Vectors() {}

  public static JsonNode read(String file) {
    Path path = Path.of(System.getProperty("fairlead.vectors"), file);
    try {
      JsonNode vectors = new ObjectMapper().readTree(path.toFile());
      if (vectors.get("format").asInt() != 1) {
        throw new IllegalStateException(path + ": unknown format " + vectors.get("format"));
      }
      return vectors;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * The rows of a list; an empty or missing one fails, so that no test passes by having nothing to
   * do.
   */
  public static Stream<JsonNode> rows(JsonNode vectors, String list) {
    JsonNode rows = vectors.get(list);
    if (rows == null || rows.isEmpty()) {
      throw new IllegalStateException("no rows in '" + list + "'");
    }
    return StreamSupport.stream(rows.spliterator(), false);
  }

  public static byte[] bytes(JsonNode hex) {
    return HexFormat.of().parseHex(hex.asText());
  }

  static Ring ring(JsonNode image, long committed, long closedUntil) {
    int buckets = image.get("buckets").asInt();
    char[] current = new char[buckets];
    History[] histories = new History[buckets];
    for (JsonNode run : image.get("runs")) {
      History history = History.NONE;
      for (int i = run.get("history").size() - 1; i >= 0; i--) {
        JsonNode former = run.get("history").get(i);
        history = history.with(former.get(0).asInt(), former.get(1).asLong());
      }
      int start = run.get("start").asInt();
      for (int bucket = start; bucket < start + run.get("count").asInt(); bucket++) {
        current[bucket] = (char) run.get("current").asInt();
        histories[bucket] = history;
      }
    }
    SortedMap<Integer, Backend> backends = new TreeMap<>();
    backends(image.get("backends")).forEach(backend -> backends.put(backend.id(), backend));
    return new Ring(
        image.get("service").asInt(),
        image.get("generation").asLong(),
        committed,
        closedUntil,
        backends,
        current,
        histories,
        List.of());
  }

  static long sum(JsonNode hex) {
    return Long.parseUnsignedLong(hex.asText(), 16);
  }

  static boolean isByOwner(JsonNode delta) {
    return delta.get("order").asText().equals("owner");
  }

  /** The runs of a delta by owner, in their order. */
  static OwnerRuns ownerRuns(JsonNode delta) {
    JsonNode rows = delta.get("moves");
    OwnerRuns runs = new OwnerRuns(rows.size());
    for (int run = 0; run < rows.size(); run++) {
      JsonNode row = rows.get(run);
      runs.set(
          run,
          row.get("start").asInt(),
          row.get("count").asInt(),
          (char) row.get("current").asInt(),
          (char) row.get("owner").asInt());
    }
    return runs;
  }

  static Delta delta(JsonNode delta, Ring before) {
    Runs.Builder runs = new Runs.Builder();
    if (isByOwner(delta)) {
      SortedMap<Integer, JsonNode> moves = new TreeMap<>();
      for (JsonNode run : delta.get("moves")) {
        int start = run.get("start").asInt();
        IntStream.range(0, before.buckets())
            .filter(bucket -> before.current(bucket) == run.get("owner").asInt())
            .skip(start)
            .limit(run.get("count").asInt())
            .forEach(bucket -> moves.put(bucket, run));
      }
      moves.forEach((bucket, run) -> runs.add(bucket, 1, run.get("current").asInt()));
    } else {
      add(runs, delta.get("moves"), "current");
    }
    Runs.Builder releases = new Runs.Builder();
    add(releases, delta.get("releases"), "owner");
    return new Delta(
        before.service(),
        delta.get("generation").asLong(),
        before.buckets(),
        delta.get("committed").asLong(),
        delta.get("closedUntil").asLong(),
        backends(delta.get("backends")),
        runs.build(),
        releases.build());
  }

  private static void add(Runs.Builder runs, JsonNode rows, String owner) {
    for (JsonNode run : rows) {
      runs.addSeparately(
          run.get("start").asInt(), run.get("count").asInt(), run.get(owner).asInt());
    }
  }

  private static List<Backend> backends(JsonNode list) {
    List<Backend> backends = new ArrayList<>();
    for (JsonNode backend : list) {
      backends.add(
          new Backend(
              backend.get("id").asInt(),
              Address.parse(backend.get("address").asText()).orElseThrow(),
              backend.get("weight").asInt(),
              backend.get("removed").asBoolean(),
              backend.get("dead").asBoolean(),
              backend.get("foreign").asBoolean()));
    }
    return backends;
  }
}
