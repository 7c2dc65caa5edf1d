// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.words;

/** What is the load of a backend, with steering {@code maat}. */
public enum MaatLoad implements Word {
  PACKETS,
  BYTES,
  CONNECTIONS,
  /** What agents report of their servers; all others are counted by each mux. */
  AGENTS;

  @Override
  public String toString() {
    return word();
  }
}
