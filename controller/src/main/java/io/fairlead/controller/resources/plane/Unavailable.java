// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

import io.fairlead.controller.store.StoreException;
import java.time.Duration;

/** Why a controller can do nothing for a request at this moment. */
public final class Unavailable {
  private static final String NO_CONNECTION = "has no connection with ZooKeeper";

  private Unavailable() {}

  public static Refusal notLoaded(boolean isConnected) {
    return of(
        "controller",
        isConnected ? "has not read all services yet" : NO_CONNECTION,
        "to try again in a moment");
  }

  public static Refusal notLeading(boolean isConnected) {
    return of(
        "controller", isConnected ? "does not lead" : NO_CONNECTION, "the controller that leads");
  }

  public static Refusal notConfirmed() {
    return of(
        "zookeeper",
        "cannot confirm what was committed last",
        "to try again, or to read without Cache-Control: no-cache");
  }

  /** ZooKeeper failed; the refusal says whether anything may have been written. */
  public static Refusal store(StoreException e) {
    if (e instanceof StoreException.Unknown) {
      return of(
          "zookeeper",
          e.getMessage(),
          "to check the service's generation, then to try again if it was not written");
    }
    return of("zookeeper", e.getMessage(), "to try again; nothing was written");
  }

  /**
   * @param value both clocks' times
   */
  public static Refusal clock(String value, Duration most) {
    return of(
        "clock",
        value,
        "clocks of controllers and ZooKeeper that differ by at most %d s; nothing was written"
            .formatted(most.toSeconds()));
  }

  private static Refusal of(String field, String value, String allowed) {
    return Refusal.unavailable(field, value, allowed);
  }
}
