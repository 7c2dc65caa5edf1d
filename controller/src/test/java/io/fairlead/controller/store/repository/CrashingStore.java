// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.repository;

import io.fairlead.controller.Proxied;
import io.fairlead.controller.store.Store;
import java.lang.reflect.Method;

/**
 * A store whose process ends at one of its writes: right before it is received, or after it was
 * applied and before its answer arrives. From then on nothing gets through. Every write is one
 * step, so these are all the moments at which a crash can leave different state behind.
 */
final class CrashingStore {
  /** The end of the process: what runs in it cannot catch it as an exception. */
  static final class Crash extends Error {
    Crash() {
      super("crashed", null, false, false);
    }
  }

  private final Store real;
  private final boolean isAfterwards;
  private int writesLeft;
  private boolean isDead;

  /**
   * @param writes that succeed
   * @param isAfterwards whether the next one is still applied
   */
  CrashingStore(Store real, int writes, boolean isAfterwards) {
    this.real = real;
    this.writesLeft = writes;
    this.isAfterwards = isAfterwards;
  }

  Store store() {
    return Proxied.by(
        Store.class,
        (self, method, arguments) -> {
          if (isDead) {
            throw new Crash();
          }
          return method.getName().equals("write")
              ? write(method, arguments)
              : Proxied.call(real, method, arguments);
        });
  }

  private Object write(Method method, Object[] arguments) throws Throwable {
    boolean isLast = writesLeft-- == 0;
    isDead = isDead || isLast;
    if (isLast && !isAfterwards) {
      throw new Crash();
    }
    Object answer = Proxied.call(real, method, arguments);
    if (isLast) {
      throw new Crash();
    }
    return answer;
  }
}
