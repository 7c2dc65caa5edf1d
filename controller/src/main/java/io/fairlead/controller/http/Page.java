// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A page of a list sorted by key: the entries after the cursor, up to the limit, and the cursor of
 * the next page if there is one. A cursor is a key rather than a position, so entries added or
 * removed between two pages neither repeat nor hide others.
 */
public record Page<T>(List<T> entries, Optional<String> next) {
  /**
   * @param sorted by ascending {@code key}
   * @param parse the key that a cursor names
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

  /** {@code answer} with a {@code Link} header (RFC 8288) to the next page, if there is one. */
  Answer link(Request request, Answer answer) {
    return next.map(
            cursor ->
                answer.with("Link", link(request.path(), request.limit().orElseThrow(), cursor)))
        .orElse(answer);
  }

  /** The value of a {@code Link} header to the next page of {@code path}. */
  public static String link(String path, int limit, String cursor) {
    return "<%s?limit=%d&cursor=%s>; rel=\"next\""
        .formatted(path, limit, URLEncoder.encode(cursor, StandardCharsets.UTF_8));
  }
}
