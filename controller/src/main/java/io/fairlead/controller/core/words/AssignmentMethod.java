// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.words;

/** How buckets are shared out among backends; the classes of package {@code assign}. */
public enum AssignmentMethod implements Word {
  BEAMER,
  MAGLEV,
  CONSISTENT,
  RENDEZVOUS,
  MODULO;

  @Override
  public String toString() {
    return word();
  }
}
