// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import com.google.common.collect.Streams;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.words.Word;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * What a mux says that it can serve (protocol/README.md §4). What is absent it does not restrict.
 *
 * @param encap words of encapsulations
 * @param steering words of steering methods
 * @param buckets of one service, at most
 */
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record MuxServes(
    Optional<List<String>> encap, Optional<List<String>> steering, Optional<Integer> buckets) {
  private static final String WORDS = "a list of words";

  /**
   * What a mux's node says of it.
   *
   * @throws IOException with field, value and what is allowed
   */
  static MuxServes of(JsonNode node) throws IOException {
    if (!node.isObject()) {
      throw refused("serves", node, "an object");
    }
    return new MuxServes(words(node, "encap"), words(node, "steering"), buckets(node));
  }

  /** Why the mux can't serve a service, if it says so. */
  Optional<String> refusal(ServiceConfig config) {
    return missing("encap", config.encap(), encap)
        .or(() -> missing("steering", config.steering(), steering))
        .or(
            () ->
                buckets
                    .filter(most -> config.buckets() > most)
                    .map(
                        most ->
                            "buckets is %d; it serves at most %d"
                                .formatted(config.buckets(), most)));
  }

  private static Optional<String> missing(String field, Word word, Optional<List<String>> served) {
    return served
        .filter(words -> !words.contains(word.word()))
        .map(words -> "%s is %s; it serves %s".formatted(field, word.word(), listed(words)));
  }

  private static String listed(List<String> words) {
    return words.isEmpty() ? "none" : String.join(", ", words);
  }

  private static Optional<List<String>> words(JsonNode node, String field) throws IOException {
    JsonNode words = node.path(field);
    if (words.isMissingNode()) {
      return Optional.empty();
    }
    if (!words.isArray() || !Streams.stream(words).allMatch(JsonNode::isTextual)) {
      throw refused("serves." + field, words, WORDS);
    }
    return Optional.of(Streams.stream(words).map(JsonNode::textValue).toList());
  }

  private static Optional<Integer> buckets(JsonNode node) throws IOException {
    JsonNode most = node.path("buckets");
    if (most.isMissingNode()) {
      return Optional.empty();
    }
    if (!most.canConvertToInt() || !most.isIntegralNumber() || most.intValue() < 0) {
      throw refused("serves.buckets", most, "a whole number from 0");
    }
    return Optional.of(most.intValue());
  }

  private static IOException refused(String field, JsonNode value, String allowed) {
    String text = value.toString();
    String shown = text.length() > 100 ? text.substring(0, 100) + "..." : text;
    return new IOException("%s is %s; allowed: %s".formatted(field, shown, allowed));
  }
}
