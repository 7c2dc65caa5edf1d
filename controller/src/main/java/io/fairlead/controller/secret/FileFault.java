// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.secret;

import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

/** Why a folder or file cannot be made; the message of such an exception is the file alone. */
public final class FileFault {
  private FileFault() {}

  public static String of(FileSystemException e) {
    String file = e.getFile();
    if (e instanceof NoSuchFileException) {
      return file + " cannot be created: no such file or directory";
    }
    if (e instanceof AccessDeniedException) {
      return file + " cannot be written: permission denied";
    }
    if (e instanceof FileAlreadyExistsException) {
      return file + " is not a folder";
    }
    return "%s: %s".formatted(file, e.getReason() == null ? e.toString() : e.getReason());
  }
}
