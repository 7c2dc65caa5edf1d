// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** The body of an HTTP answer, to the end that its head says (RFC 9112, sections 6 and 7). */
final class Body extends InputStream {
  private static final int LINE_MAX = 65_536;
  private static final int HEX = 16;

  private final InputStream in;
  private final boolean isChunked;
  private final boolean isUntilEnd;
  private long left;
  private boolean isFirstChunk = true;
  private boolean isOver;

  private Body(InputStream in, boolean isChunked, boolean isUntilEnd, long left) {
    this.in = in;
    this.isChunked = isChunked;
    this.isUntilEnd = isUntilEnd;
    this.left = left;
  }

  static Body chunked(InputStream in) {
    return new Body(in, true, false, 0);
  }

  static Body ofLength(InputStream in, long length) {
    return new Body(in, false, false, length);
  }

  static Body untilEnd(InputStream in) {
    return new Body(in, false, true, Long.MAX_VALUE);
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (isOver || (left == 0 && !nextChunk())) {
      isOver = true;
      return -1;
    }
    int count = in.read(bytes, offset, (int) Math.min(length, left));
    if (count < 0 && !isUntilEnd) {
      throw new EOFException("the connection ended within the answer");
    }
    isOver = count < 0;
    left -= isUntilEnd ? 0 : Math.max(count, 0);
    return count;
  }

  /** False if there is none. */
  private boolean nextChunk() throws IOException {
    if (!isChunked) {
      return false;
    }
    if (!isFirstChunk && !line(in).isEmpty()) {
      throw new IOException("the answer has a chunk that is longer than its size");
    }
    isFirstChunk = false;
    String size = line(in).split(";", 2)[0].strip();
    if (!size.matches("[0-9A-Fa-f]{1,15}")) {
      throw new IOException("the answer has a chunk of size '%s'".formatted(size));
    }
    left = Long.parseLong(size, HEX);
    while (left == 0 && !line(in).isEmpty()) {
      continue; // the trailer
    }
    return left > 0;
  }

  /** The next line, without its end. */
  static String line(InputStream in) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int next = in.read(); next != '\n'; next = in.read()) {
      if (next < 0) {
        throw new EOFException("the connection ended within the answer");
      }
      if (line.size() == LINE_MAX) {
        throw new IOException("the answer has a line of more than %d bytes".formatted(LINE_MAX));
      }
      line.write(next);
    }
    String text = line.toString(StandardCharsets.ISO_8859_1);
    return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
  }
}
