// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.words;

/** What is hashed: the whole 5-tuple, or the addresses alone. */
public enum Affinity implements Word {
  CONNECTION,
  CLIENT;

  @Override
  public String toString() {
    return word();
  }
}
