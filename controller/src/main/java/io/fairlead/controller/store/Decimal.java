// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.nio.charset.StandardCharsets;

/** Numbers in nodes, in decimal digits. */
final class Decimal {
  private Decimal() {}

  static long read(byte[] decimal) throws StoreException {
    String text = new String(decimal, StandardCharsets.US_ASCII);
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new StoreException("'%s' is not a decimal number".formatted(text), e);
    }
  }

  static byte[] write(long number) {
    return Long.toString(number).getBytes(StandardCharsets.US_ASCII);
  }
}
