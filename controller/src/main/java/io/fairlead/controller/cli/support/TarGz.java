// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli.support;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;
import java.util.SortedMap;
import java.util.zip.GZIPOutputStream;

/**
 * Files as a compressed tar (POSIX.1-1988, ustar) in the order of their names: the same files at
 * the same time are the same bytes.
 */
final class TarGz {
  private static final int BLOCK = 512;
  private static final int NAME_MAX = 100;
  private static final int SUM_AT = 148;
  private static final int SUM_LENGTH = 8;

  private TarGz() {}

  /**
   * @throws IllegalArgumentException if a name has more than 100 bytes
   */
  static byte[] pack(SortedMap<String, byte[]> files, Instant time) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (OutputStream tar = new GZIPOutputStream(packed)) {
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        byte[] content = file.getValue();
        tar.write(header(file.getKey(), content.length, time));
        tar.write(content);
        tar.write(new byte[(BLOCK - content.length % BLOCK) % BLOCK]);
      }
      tar.write(new byte[2 * BLOCK]);
    }
    return packed.toByteArray();
  }

  private static byte[] header(String name, int length, Instant time) {
    byte[] header = new byte[BLOCK];
    if (name.getBytes(StandardCharsets.UTF_8).length > NAME_MAX) {
      throw new IllegalArgumentException("'%s' is too long for a tar".formatted(name));
    }
    put(header, 0, name);
    put(header, 100, "0000600\0");
    put(header, 108, "0000000\0");
    put(header, 116, "0000000\0");
    put(header, 124, "%011o\0".formatted(length));
    put(header, 136, "%011o\0".formatted(time.getEpochSecond()));
    put(header, SUM_AT, " ".repeat(SUM_LENGTH));
    put(header, 156, "0");
    put(header, 257, "ustar\00000");
    int sum = 0;
    for (byte each : header) {
      sum += each & 0xff;
    }
    put(header, SUM_AT, "%06o\0 ".formatted(sum));
    return header;
  }

  private static void put(byte[] header, int at, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    System.arraycopy(bytes, 0, header, at, bytes.length);
  }
}
