// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.Optional;

/** A step of {@link Store#write}. */
public sealed interface Operation {
  String path();

  /** How a node is created. */
  enum Kind {
    LASTING,
    /** It ends with this client's session. */
    EPHEMERAL,
    /** The store appends ten digits to its path, which grow with every such node of the folder. */
    NUMBERED
  }

  /**
   * @param owner the login of who may create nodes below it
   */
  record Create(String path, byte[] data, Kind kind, Optional<String> owner) implements Operation {}

  /**
   * @param version that the node must have; empty: any
   */
  record Set(String path, byte[] data, Optional<Version> version) implements Operation {}

  /**
   * @param version that the node must have; empty: any
   */
  record Delete(String path, Optional<Version> version) implements Operation {}

  /**
   * @param version that the node must have; empty: any
   */
  record Check(String path, Optional<Version> version) implements Operation {}

  static Operation create(String path) {
    return create(path, new byte[0]);
  }

  static Operation create(String path, byte[] data) {
    return create(path, data, Kind.LASTING);
  }

  static Operation create(String path, byte[] data, Kind kind) {
    return new Create(path, data, kind, Optional.empty());
  }

  static Operation set(String path, byte[] data) {
    return new Set(path, data, Optional.empty());
  }

  static Operation set(String path, Version version, byte[] data) {
    return new Set(path, data, Optional.of(version));
  }

  static Operation delete(String path) {
    return new Delete(path, Optional.empty());
  }

  static Operation delete(String path, Version version) {
    return new Delete(path, Optional.of(version));
  }

  /** Fails the write if the node is not there. */
  static Operation exists(String path) {
    return new Check(path, Optional.empty());
  }

  /** Fails the write if the node has another version. */
  static Operation unchanged(String path, Version version) {
    return new Check(path, Optional.of(version));
  }
}
