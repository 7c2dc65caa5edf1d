// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.repository;

import io.fairlead.controller.Proxied;
import java.lang.reflect.Method;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorMultiTransaction;

/**
 * A client whose process ends at one of its writes: right before ZooKeeper receives it, or after it
 * was applied and before its answer arrives. From then on nothing gets through. Every write of the
 * store is a {@code multi}, so these are all the moments at which a crash can leave different state
 * behind.
 */
final class CrashingClient {
  /** The end of the process: what runs in it cannot catch it as an exception. */
  static final class Crash extends Error {
    Crash() {
      super("crashed", null, false, false);
    }
  }

  private final CuratorFramework real;
  private final boolean isAfterwards;
  private int writesLeft;
  private boolean isDead;

  /**
   * @param writes that succeed
   * @param isAfterwards whether the next one is still applied
   */
  CrashingClient(CuratorFramework real, int writes, boolean isAfterwards) {
    this.real = real;
    this.writesLeft = writes;
    this.isAfterwards = isAfterwards;
  }

  CuratorFramework client() {
    return Proxied.by(
        CuratorFramework.class,
        (self, method, arguments) -> {
          if (isDead) {
            throw new Crash();
          }
          return method.getName().equals("transaction")
              ? Proxied.by(CuratorMultiTransaction.class, this::write)
              : Proxied.call(real, method, arguments);
        });
  }

  private Object write(Object self, Method method, Object[] arguments) throws Throwable {
    boolean isLast = writesLeft-- == 0;
    isDead = isDead || isLast;
    if (isLast && !isAfterwards) {
      throw new Crash();
    }
    Object answer = Proxied.call(real.transaction(), method, arguments);
    if (isLast) {
      throw new Crash();
    }
    return answer;
  }
}
