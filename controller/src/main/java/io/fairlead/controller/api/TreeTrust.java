// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import io.fairlead.controller.plane.Refusal;

/**
 * Whether hosts that nodes in ZooKeeper name are acted on: the leader, other controllers, muxes and
 * probes. If anyone may write these nodes, a stranger's host could receive callers' tokens, or be
 * asked in their name. Everything that sends something to such a host, or tells others to, asks
 * this.
 */
public record TreeTrust(boolean isTrusted) {
  /**
   * @throws Refusal if they are not
   */
  public void check() {
    if (!isTrusted) {
      throw refusal("nothing was asked");
    }
  }

  /**
   * @param consequence of the refusal
   */
  Refusal refusal(String consequence) {
    return new Refusal(
        Refusal.Kind.UNAVAILABLE,
        "--zookeeper-auth",
        "is not set, so anyone who can write to ZooKeeper could name a host of theirs as a"
            + " controller's or mux's, and receive tokens",
        "--tokens and --oidc together with --zookeeper-auth, or to send the request to the host"
            + " itself; "
            + consequence);
  }
}
