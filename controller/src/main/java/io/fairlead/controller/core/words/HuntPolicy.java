// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.words;

/** Which offers of new connections a server refuses, with steering {@code hunt}. */
public enum HuntPolicy implements Word {
  /** Those beyond a threshold that adapts so that half of the offers are taken. */
  DYNAMIC,
  /** Those beyond a threshold that stays. */
  STATIC,
  /** None. */
  ALWAYS;

  @Override
  public String toString() {
    return word();
  }
}
