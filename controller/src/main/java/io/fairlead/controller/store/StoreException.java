// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

/** ZooKeeper holds something other than expected, or cannot be reached. */
public class StoreException extends Exception {
  public StoreException(String message) {
    super(message);
  }

  public StoreException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * Nothing was written: a controller was elected since. It may be the same one: it seeks election
   * anew when it has lost the connection to ZooKeeper.
   */
  public static final class Fenced extends StoreException {
    Fenced(String what, Epoch epoch) {
      super("%s in epoch %d: a controller was elected since".formatted(what, epoch.number()));
    }
  }

  /** It is unknown whether it was written, because ZooKeeper did not answer in time. */
  public static final class Unknown extends StoreException {
    public Unknown(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /** The data of one service in ZooKeeper are damaged. */
  public static final class Damaged extends StoreException {
    public Damaged(String message, Throwable cause) {
      super(message, cause);
    }

    public static Damaged of(String service, Exception cause) {
      return new Damaged(
          "service '%s' is damaged: %s".formatted(service, cause.getMessage()), cause);
    }
  }
}
