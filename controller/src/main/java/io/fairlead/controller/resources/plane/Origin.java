// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

import java.util.Optional;
import java.util.function.Function;

/**
 * Where a write, or a read of secrets, comes from; kept in its audit record.
 *
 * @param who the token's name, "nobody" without authentication, "controller" for the leader's own,
 *     "health" for what probes brought about
 * @param what the request in one line, such as "PUT /v1/services/web/backends/7"
 * @param body the request's body without secrets, empty if there was none or a long one
 * @param retry how to answer when the request is sent again, if it has a key for that
 */
public record Origin(String who, String what, Optional<String> body, Optional<Retry> retry) {
  /** A write whose caller is unknown, as without tokens. */
  public static final Origin ANONYMOUS =
      new Origin("nobody", "", Optional.empty(), Optional.empty());

  /** A write of the leader itself, such as one step of a rebalance. */
  public static Origin controller(String what) {
    return new Origin("controller", what, Optional.empty(), Optional.empty());
  }

  /** A write of the leader by what probes find. */
  public static Origin health(String what) {
    return new Origin("health", what, Optional.empty(), Optional.empty());
  }

  public Origin with(Optional<Retry> newRetry) {
    return new Origin(who, what, body, newRetry);
  }

  /**
   * @param key names the request among those of all clients: 64 hex digits
   * @param digest of the whole request, so that another one under the same key is noticed
   * @param answer what to keep of the answer, made before the commit; at most {@link
   *     io.fairlead.controller.store.Note#ANSWER_MAX} bytes
   */
  public record Retry(String key, String digest, Function<Result, byte[]> answer) {}
}
