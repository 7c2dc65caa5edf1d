// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import java.util.Locale;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Marks in answers to agents (protocol/README.md §11). The next report carries the latest one back,
 * so the moment of issue is a lower bound of the moment at which the report was written. A mark
 * holds that moment, so none has to be kept.
 */
final class Marks {
  private static final Pattern MARK = Pattern.compile("([0-9a-f]{12})-([0-9a-f]{1,15})");

  private final LongSupplier nanos;
  private final String term;
  private final long start;

  /**
   * @param nanos a monotonic clock
   * @param random tells the marks of this term from those of all others
   */
  Marks(LongSupplier nanos, long random) {
    this.nanos = nanos;
    this.term = String.format(Locale.ROOT, "%012x", random >>> 16);
    this.start = nanos.getAsLong();
  }

  /** What all names of this term begin with. */
  String term() {
    return term;
  }

  String issue() {
    return "%s-%x".formatted(term, nanos.getAsLong() - start);
  }

  /** When this term issued the mark, by the clock; empty for any other text. */
  OptionalLong issued(String mark) {
    Matcher matcher = MARK.matcher(mark);
    if (!matcher.matches() || !matcher.group(1).equals(term)) {
      return OptionalLong.empty();
    }
    long at = start + Long.parseLong(matcher.group(2), 16);
    return at - nanos.getAsLong() > 0 ? OptionalLong.empty() : OptionalLong.of(at);
  }
}
