// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

/** A node as it was read. */
public record Node(String path, byte[] data, Stat stat) {
  public Version version() {
    return stat.version();
  }
}
