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
   * again when it has lost the connection to ZooKeeper.
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

  /** The tree belongs to others than this controller; trying again does not help. */
  public static final class NotOurs extends StoreException {
    public enum Why {
      /** Only who has other logins may use it. */
      OTHER_LOGINS,
      /** It was in use before, and every client of ZooKeeper may change it. */
      OPEN
    }

    private final Why why;

    public NotOurs(String root, Why why) {
      super(
          switch (why) {
            case OTHER_LOGINS -> root + " in ZooKeeper is protected by other logins";
            case OPEN -> root + " in ZooKeeper is in use, and open to each of its clients";
          });
      this.why = why;
    }

    public Why why() {
      return why;
    }
  }

  /** Nothing was written: a mux or probe has left a node that controllers cannot delete. */
  public static final class NotDeleted extends StoreException {
    NotDeleted(String path) {
      super(
          "%s cannot be deleted: it has nodes below it, which only ZooKeeper's superuser can delete"
              .formatted(path));
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
