// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.inspect;

import io.fairlead.controller.secret.SecretFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * How the controller reads from muxes.
 *
 * @param token one line, which muxes have among their {@code --http-tokens}; without it none is
 *     sent
 * @param authorities who signs the certificates of muxes, required with a token: the system's would
 *     sign for anyone's host; without a token those if empty
 */
public record MuxAccess(Optional<SecretFile> token, Optional<Path> authorities) {
  public static final MuxAccess NONE = new MuxAccess(Optional.empty(), Optional.empty());

  /**
   * @throws IllegalArgumentException naming the option, if a file cannot be used
   */
  public MuxAccess {
    token.ifPresent(MuxAccess::line);
    if (token.isPresent() && authorities.isEmpty()) {
      throw new IllegalArgumentException(
          "--muxes-token is given without --muxes-ca, so any host with a certificate of the"
              + " system's authorities could receive it; allowed: both, --muxes-ca alone, or"
              + " none");
    }
    authorities.ifPresent(
        path -> {
          if (!Files.isRegularFile(path) || !Files.isReadable(path)) {
            throw new IllegalArgumentException(
                "--muxes-ca '%s' is refused: it cannot be read; allowed: a PEM file"
                    .formatted(path));
          }
        });
  }

  /** As the file has it now. */
  Optional<String> bearer() {
    return token.map(MuxAccess::line);
  }

  private static String line(SecretFile file) {
    List<SecretFile.Line> lines = file.lines();
    if (lines.size() != 1 || !lines.get(0).text().matches("[!-~]{16,256}")) {
      throw file.refused(
          "it has not one token", "one line of 16..256 visible characters, as of a mux");
    }
    return lines.get(0).text();
  }
}
