// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.store.Operation;
import io.fairlead.controller.store.Store;
import java.util.List;
import java.util.concurrent.Executor;

/**
 * A store that hides a new leader: writes don't check the epoch, a change of it is not told, nor
 * that this controller is deposed.
 */
final class Unfenced {
  private static final String EPOCH = "/epoch";

  private Unfenced() {}

  static Store of(Store real) {
    return Proxied.by(
        Store.class,
        (self, method, arguments) ->
            switch (method.getName()) {
              case "write" -> {
                real.write(
                    ((List<?>) arguments[0])
                        .stream()
                            .map(Operation.class::cast)
                            .filter(each -> !isFence(each))
                            .toList());
                yield null;
              }
              case "follow" ->
                  real.follow(
                      (String) arguments[0],
                      ((String) arguments[0]).endsWith(EPOCH)
                          ? Store.NodeListener.NONE
                          : (Store.NodeListener) arguments[1]);
              case "stand" ->
                  real.stand(
                      (String) arguments[0],
                      (String) arguments[1],
                      (Executor) arguments[2],
                      (Runnable) arguments[3],
                      () -> {});
              default -> Proxied.call(real, method, arguments);
            });
  }

  private static boolean isFence(Operation operation) {
    return operation instanceof Operation.Check && operation.path().endsWith(EPOCH);
  }
}
