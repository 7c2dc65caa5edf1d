// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** A proxy between a test and a real object, of which it changes a few methods. */
public final class Proxied {
  private Proxied() {}

  /** All calls of the interface's methods go to {@code handler}. */
  public static <T> T by(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(Proxied.class.getClassLoader(), new Class<?>[] {type}, handler));
  }

  /** What the real object returns or throws. */
  public static Object call(Object real, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(real, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
