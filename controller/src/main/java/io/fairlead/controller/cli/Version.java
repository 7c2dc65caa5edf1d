// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;

/**
 * What {@code --version} prints: the command's name and the version that its build put beside it.
 */
public final class Version implements CommandLine.IVersionProvider {
  private static final String RESOURCE = "VERSION";

  @CommandLine.Spec private CommandLine.Model.CommandSpec spec;

  @Override
  public String[] getVersion() throws IOException {
    return new String[] {spec.root().name() + " " + text()};
  }

  /** Without the command's name. */
  static String text() throws IOException {
    try (InputStream in = Version.class.getResourceAsStream(RESOURCE)) {
      if (in == null) {
        throw new IOException("the program lacks its resource " + RESOURCE);
      }
      return new String(in.readAllBytes(), StandardCharsets.US_ASCII).strip();
    }
  }
}
