// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import java.util.concurrent.ThreadFactory;

/** Threads that do not keep the process alive, with names that identify them in thread dumps. */
public final class DaemonThreads {
  private DaemonThreads() {}

  public static ThreadFactory named(String work) {
    return new ThreadFactoryBuilder().setDaemon(true).setNameFormat(work + "-%d").build();
  }
}
