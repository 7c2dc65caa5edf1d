// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

/** A request that a store has refused, or whose outcome is not known. */
public class NodeException extends Exception {
  private final String reason;

  /**
   * @param reason in a word
   */
  public NodeException(String reason, String message, Throwable cause) {
    super(message, cause);
    this.reason = reason;
  }

  public String reason() {
    return reason;
  }

  @Override
  public String toString() {
    return getMessage();
  }

  /** There is no such node. */
  public static final class Absent extends NodeException {
    public Absent(String path) {
      this("NONODE", "there is no node " + path, null);
    }

    public Absent(String reason, String message, Throwable cause) {
      super(reason, message, cause);
    }
  }

  /** The node is there already. */
  public static final class Exists extends NodeException {
    public Exists(String reason, String message, Throwable cause) {
      super(reason, message, cause);
    }
  }

  /** The node has another version. */
  public static final class Changed extends NodeException {
    public Changed(String reason, String message, Throwable cause) {
      super(reason, message, cause);
    }
  }

  /** The node has others below it. */
  public static final class NotEmpty extends NodeException {
    public NotEmpty(String reason, String message, Throwable cause) {
      super(reason, message, cause);
    }
  }

  /** The node's owner does not let this client read or change it. */
  public static final class Hidden extends NodeException {
    public Hidden(String reason, String message, Throwable cause) {
      super(reason, message, cause);
    }
  }
}
