// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

/**
 * The version of a node, which differs after every write to it. Only a store makes one; all others
 * compare it, and name it in the next write.
 */
public final class Version {
  /** Of a node that was created and not written since. */
  public static final Version CREATED = new Version(0);

  private final int writes;

  private Version(int writes) {
    this.writes = writes;
  }

  /** For stores: of a node that was written so often since it was created. */
  public static Version after(int writes) {
    return writes == 0 ? CREATED : new Version(writes);
  }

  /** For stores. */
  public int writes() {
    return writes;
  }

  /** After one more write. */
  public Version next() {
    return new Version(writes + 1);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Version version && version.writes == writes;
  }

  @Override
  public int hashCode() {
    return writes;
  }

  @Override
  public String toString() {
    return Integer.toString(writes);
  }
}
