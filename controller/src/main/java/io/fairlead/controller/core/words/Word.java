// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.words;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A setting with a fixed set of values. Each is an enum constant in the program and a word in the
 * API and in ZooKeeper; words are parsed where they come in, and nowhere else.
 */
public interface Word {
  /** As in the API and in ZooKeeper. */
  @JsonValue
  default String word() {
    return ((Enum<?>) this).name().toLowerCase(Locale.ROOT);
  }

  /** The constant of {@code type} that {@code word} names, if there is one. */
  static <E extends Enum<E> & Word> Optional<E> parse(Class<E> type, String word) {
    return Arrays.stream(type.getEnumConstants())
        .filter(value -> value.word().equals(word))
        .findFirst();
  }

  /** All words of {@code type}, for error messages. */
  static <E extends Enum<E> & Word> String allowed(Class<E> type) {
    return Arrays.stream(type.getEnumConstants()).map(Word::word).collect(Collectors.joining(", "));
  }
}
