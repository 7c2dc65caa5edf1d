// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.http.Security;
import picocli.CommandLine.Option;

/** Where nothing encrypts what is said: on this machine, elsewhere only if these flags are on. */
final class ClearTextOptions {
  @Option(
      names = "--listen-clear-text",
      paramLabel = "on|off",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_LISTEN_CLEAR_TEXT:-off}",
      description =
          "on: --listen may be an address other than loopback without --tls-cert, and tokens"
              + " travel in clear text. Default: off")
  private String listen;

  @Option(
      names = "--zookeeper-clear-text",
      paramLabel = "on|off",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_ZOOKEEPER_CLEAR_TEXT:-off}",
      description =
          "on: ZooKeeper, also the embedded one, may be at an address other than loopback without"
              + " TLS, and logins travel in clear text. Default: off")
  private String zookeeper;

  /**
   * @param where as --zookeeper has it
   * @param client where the embedded server listens
   * @throws IllegalArgumentException naming the option of an address that needs TLS
   */
  void check(String where, Endpoint client, Endpoint api, Security security) {
    boolean isZooKeeperOn = Main.isOn("--zookeeper-clear-text", zookeeper);
    boolean isListenOn = Main.isOn("--listen-clear-text", listen);
    if (!security.isTreePrivate() && !isZooKeeperOn) {
      throw where.startsWith("embedded:")
          ? refusal(
              "--zookeeper-listen '%s'".formatted(client),
              "logins and data",
              "",
              "--zookeeper-clear-text")
          : refusal(
              "--zookeeper '%s'".formatted(where),
              "logins and data",
              "with --zookeeper-tls-ca, ",
              "--zookeeper-clear-text");
    }
    if (!security.isOpen() && security.tls().isEmpty() && !api.isLoopback() && !isListenOn) {
      throw refusal(
          "--listen '%s'".formatted(api),
          "tokens",
          "with --tls-cert and --tls-key, ",
          "--listen-clear-text");
    }
  }

  private static IllegalArgumentException refusal(
      String option, String what, String remedy, String flag) {
    return new IllegalArgumentException(
        "%s is refused: %s would travel in clear text beyond this machine; allowed: %sa loopback address, or %s on"
            .formatted(option, what, remedy, flag));
  }
}
