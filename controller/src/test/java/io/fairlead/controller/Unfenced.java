// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import java.lang.reflect.InvocationHandler;
import java.util.Arrays;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.WatcherRemoveCuratorFramework;
import org.apache.curator.framework.api.ExistsBuilder;
import org.apache.curator.framework.api.transaction.CuratorMultiTransaction;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.curator.framework.api.transaction.OperationType;
import org.apache.curator.framework.listen.Listenable;
import org.apache.curator.framework.listen.StandardListenerManager;

/**
 * A client that hides a new leader: writes don't check the epoch, no watch fires when it changes,
 * and a lost session is not reported.
 */
final class Unfenced {
  private static final String EPOCH = "/epoch";
  private static final Listenable<Object> SILENT = StandardListenerManager.standard();

  private Unfenced() {}

  static CuratorFramework of(CuratorFramework real) {
    return Proxied.by(CuratorFramework.class, framework(real));
  }

  private static InvocationHandler framework(CuratorFramework real) {
    return (self, method, arguments) ->
        switch (method.getName()) {
          case "transaction" ->
              Proxied.by(CuratorMultiTransaction.class, multi(real.transaction()));
          case "checkExists" -> Proxied.by(ExistsBuilder.class, exists(real.checkExists()));
          case "getConnectionStateListenable" -> SILENT;
          case "newWatcherRemoveCuratorFramework" ->
              Proxied.by(
                  WatcherRemoveCuratorFramework.class,
                  framework(real.newWatcherRemoveCuratorFramework()));
          default -> Proxied.call(real, method, arguments);
        };
  }

  private static InvocationHandler multi(CuratorMultiTransaction real) {
    return (self, method, arguments) -> {
      if (!method.getName().equals("forOperations")) {
        return Proxied.call(real, method, arguments);
      }
      List<?> operations =
          arguments[0] instanceof List<?> list ? list : Arrays.asList((Object[]) arguments[0]);
      return real.forOperations(
          operations.stream().map(CuratorOp.class::cast).filter(each -> !isFence(each)).toList());
    };
  }

  private static InvocationHandler exists(ExistsBuilder real) {
    return (self, method, arguments) ->
        method.getName().equals("usingWatcher") ? real : Proxied.call(real, method, arguments);
  }

  private static boolean isFence(CuratorOp operation) {
    return operation.getTypeAndPath().getType() == OperationType.CHECK
        && operation.getTypeAndPath().getForPath().endsWith(EPOCH);
  }
}
