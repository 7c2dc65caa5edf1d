// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.http.WireCheck.MalformedException;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The head of a request, line by line, as strict as RFC 9112 lets it be, and stricter: HTTP/1.1
 * alone, a path as target, {@code chunked} as the only transfer coding, and what says who calls and
 * how long the body is only once.
 */
final class RequestHead {
  /** The decoder reads a size as int. */
  static final int CHUNK_DIGITS_MAX = 7;

  private static final Pattern FIRST =
      Pattern.compile("(?<method>[!#$%&'*+.^_`|~0-9A-Za-z-]+) (?<target>/[!-~&&[^#]]*) HTTP/1\\.1");

  private static final Pattern WRONG_ESCAPE = Pattern.compile("%(?![0-9A-Fa-f]{2})|%00");

  /** Possessive: blanks match both parts, and to try each way to divide them costs a square. */
  private static final Pattern HEADER =
      Pattern.compile(
          "(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]++):[ \t]*+(?<value>[\t -~\\x80-\\xff]*+)");

  private static final Pattern HOST = Pattern.compile("[0-9A-Za-z._~%:\\[\\]-]+");
  private static final Pattern LENGTH = Pattern.compile("0|[1-9][0-9]{0,14}");
  private static final Pattern CHUNK =
      Pattern.compile("[0-9A-Fa-f]{1,%d}".formatted(CHUNK_DIGITS_MAX));
  private static final String HOST_NAME = "host";
  private static final String LENGTH_NAME = "content-length";
  private static final String CODING_NAME = "transfer-encoding";

  /** Of which two readers could take different ones. */
  private static final Set<String> ONCE =
      Set.of(
          HOST_NAME, LENGTH_NAME, CODING_NAME, "authorization", "content-type", "content-encoding");

  private final Set<String> seen = new HashSet<>();
  private long length;

  /**
   * @param line the first one
   */
  RequestHead(String line) {
    check(FIRST, line, "the first line is not a method, a path and HTTP/1.1, with single spaces");
    if (WRONG_ESCAPE.matcher(line).find()) {
      throw new MalformedException("the path has a % without two hex digits, or %00");
    }
  }

  void header(String line) {
    var matcher = HEADER.matcher(line);
    if (!matcher.matches()) {
      throw new MalformedException(
          "a header is not a name, a colon and a value without control characters, on one line");
    }
    String name = matcher.group("name").toLowerCase(Locale.ROOT);
    String value = matcher.group("value").strip();
    if (ONCE.contains(name) && !seen.add(name)) {
      throw new MalformedException("it has %s twice".formatted(name));
    }
    switch (name) {
      case HOST_NAME -> check(HOST, value, "Host is not a name or address with or without a port");
      case LENGTH_NAME -> {
        check(LENGTH, value, "Content-Length is not a number of at most 15 digits");
        length = Long.parseLong(value);
      }
      case CODING_NAME -> {
        if (!value.equalsIgnoreCase("chunked")) {
          throw new MalformedException("Transfer-Encoding is not chunked");
        }
      }
      case "expect" -> {
        if (!value.equalsIgnoreCase("100-continue")) {
          throw new MalformedException("Expect is not 100-continue");
        }
      }
      default -> {}
    }
  }

  /** After its last line. */
  void end() {
    if (!seen.contains(HOST_NAME)) {
      throw new MalformedException("it has no Host");
    }
    if (isChunked() && seen.contains(LENGTH_NAME)) {
      throw new MalformedException("it has Content-Length beside Transfer-Encoding");
    }
  }

  /** Of the body, if it is not in chunks. */
  long length() {
    return length;
  }

  boolean isChunked() {
    return seen.contains(CODING_NAME);
  }

  /** Of the chunk that begins with this line. */
  static long chunkSize(String line) {
    check(CHUNK, line, "a chunk does not begin by its size in hex digits alone");
    return Long.parseLong(line, 16);
  }

  private static void check(Pattern allowed, String text, String otherwise) {
    if (!allowed.matcher(text).matches()) {
      throw new MalformedException(otherwise);
    }
  }
}
