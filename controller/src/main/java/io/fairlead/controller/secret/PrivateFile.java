// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.secret;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;

/** A file that only its owner can read. */
public final class PrivateFile {
  private PrivateFile() {}

  /** Replaces it at once, never half, and on the disk when this returns. */
  public static void replace(Path file, byte[] content) throws IOException {
    Path folder = file.toAbsolutePath().getParent();
    Path aside =
        Files.createTempFile(
            folder,
            file.getFileName().toString(),
            ".new",
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    try {
      Files.write(aside, content);
      try (FileChannel channel = FileChannel.open(aside, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
      Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(aside);
    }
  }
}
