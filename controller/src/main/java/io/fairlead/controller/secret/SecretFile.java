// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.secret;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * A file that only its owner may read, by the option that names it. Blank lines and lines that
 * start with {@code #} are skipped.
 */
public record SecretFile(String option, Path path) {
  private static final Set<PosixFilePermission> OTHERS =
      PosixFilePermissions.fromString("---rwxrwx");

  /** A line and its number. */
  public record Line(int number, String text) {}

  /**
   * @throws IllegalArgumentException naming option and file, if it is not there, cannot be read, or
   *     others than its owner could read or change it
   */
  public SecretFile check() {
    try {
      Set<PosixFilePermission> mode = Files.getPosixFilePermissions(path, new LinkOption[0]);
      if (mode.stream().anyMatch(OTHERS::contains)) {
        throw refused(
            "its mode is %s".formatted(PosixFilePermissions.toString(mode)),
            "a file that only its owner can read: chmod 600");
      }
      if (!Files.isReadable(path)) {
        throw refused("it cannot be read", "a file that this process can read");
      }
    } catch (NoSuchFileException e) {
      throw refused("there is no such file", "a file that exists");
    } catch (IOException e) {
      throw refused("it cannot be read: " + e, "a file that this process can read");
    }
    return this;
  }

  /** All lines that are not skipped, after {@link #check}. */
  public List<Line> lines() {
    check();
    List<String> all;
    try {
      all = Files.readAllLines(path, StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw refused("it cannot be read: " + e, "a file of UTF-8 text");
    }
    List<Line> lines = new ArrayList<>();
    for (int i = 0; i < all.size(); i++) {
      String text = all.get(i).strip();
      if (!text.isEmpty() && !text.startsWith("#")) {
        lines.add(new Line(i + 1, text));
      }
    }
    return lines;
  }

  /** Never contains the file's content. */
  public IllegalArgumentException refused(String why, String allowed) {
    return new IllegalArgumentException(
        "%s '%s' is refused: %s; allowed: %s".formatted(option, path, why, allowed));
  }
}
