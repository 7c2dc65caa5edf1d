// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.store.NodeException;
import java.util.concurrent.TimeoutException;
import org.apache.zookeeper.KeeperException;

/** ZooKeeper's errors in the words of the store. */
final class ZooKeeperFaults {
  private ZooKeeperFaults() {}

  static NodeException of(Throwable e) {
    if (e instanceof RuntimeException defect) {
      throw defect;
    }
    if (e instanceof TimeoutException) {
      return of(new KeeperException.OperationTimeoutException());
    }
    if (!(e instanceof KeeperException keeper)) {
      return new NodeException(e.getClass().getSimpleName(), String.valueOf(e), e);
    }
    String reason = keeper.code().toString();
    String message = keeper.getMessage();
    return switch (keeper.code()) {
      case NONODE -> new NodeException.Absent(reason, message, e);
      case NODEEXISTS -> new NodeException.Exists(reason, message, e);
      case BADVERSION -> new NodeException.Changed(reason, message, e);
      case NOTEMPTY -> new NodeException.NotEmpty(reason, message, e);
      case NOAUTH -> new NodeException.Hidden(reason, message, e);
      default -> new NodeException(reason, message, e);
    };
  }
}
