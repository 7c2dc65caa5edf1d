// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A part of a list in the order of its keys: what comes after the cursor, at most as much as was
 * asked for, and the cursor of the next part if there is one. A key is no position: entries that
 * come or go between two pages neither repeat nor hide others.
 */
record Page<T>(List<T> entries, Optional<String> next) {
  /**
   * @param sorted by ascending {@code key}
   * @param parse the key that a cursor stands for
   */
  static <T, K extends Comparable<K>> Page<T> of(
      List<T> sorted,
      Function<T, K> key,
      Optional<String> cursor,
      Function<String, K> parse,
      Optional<Integer> limit) {
    int from = 0;
    if (cursor.isPresent()) {
      K after = parse.apply(cursor.get());
      while (from < sorted.size()
          && Comparator.<K>naturalOrder().compare(key.apply(sorted.get(from)), after) <= 0) {
        from++;
      }
    }
    int to = (int) Math.min(sorted.size(), from + (long) limit.orElse(Integer.MAX_VALUE));
    Optional<String> next =
        to < sorted.size()
            ? Optional.of(String.valueOf(key.apply(sorted.get(to - 1))))
            : Optional.empty();
    return new Page<>(sorted.subList(from, to), next);
  }

  /** The value of a {@code Link} header (RFC 8288) to the next page of {@code path}. */
  Optional<String> link(String path, Optional<Integer> limit) {
    return next.map(
        cursor ->
            "<%s?limit=%d&cursor=%s>; rel=\"next\""
                .formatted(
                    path, limit.orElseThrow(), URLEncoder.encode(cursor, StandardCharsets.UTF_8)));
  }
}
