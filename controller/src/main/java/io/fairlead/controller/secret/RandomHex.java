// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.secret;

import java.util.HexFormat;
import java.util.random.RandomGenerator;

/** Secrets, keys and unique names, as hexadecimal digits. */
public final class RandomHex {
  private RandomHex() {}

  public static String draw(int bytes, RandomGenerator random) {
    byte[] drawn = new byte[bytes];
    random.nextBytes(drawn);
    return HexFormat.of().formatHex(drawn);
  }
}
