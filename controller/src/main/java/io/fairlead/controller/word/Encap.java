// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.word;

/** How muxes wrap a service's packets (protocol/README.md §2). */
public enum Encap implements Word {
  GUE,
  IPIP;

  @Override
  public String toString() {
    return word();
  }
}
