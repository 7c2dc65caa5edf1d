// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.words;

/** The function from a connection to its hash (protocol/README.md §1). */
public enum Hash implements Word {
  SIPHASH,
  CRC32;

  @Override
  public String toString() {
    return word();
  }
}
