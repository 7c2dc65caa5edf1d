// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.vertx.core.Future;

/** A group of the API's operations, such as those on services. */
public interface Resource {
  /** Gives each of its operations a handler, by the operation's id in the contract. */
  void register(Routes routes);

  /**
   * Ends answers that would otherwise stay open, such as streams; completes once the resource no
   * longer uses the event loop.
   */
  default Future<Void> close() {
    return Future.succeededFuture();
  }
}
