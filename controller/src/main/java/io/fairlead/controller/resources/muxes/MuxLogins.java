// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.secret.RandomHex;
import io.fairlead.controller.store.zookeeper.ZooKeeperAccess;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * What a mux that was just added is told: the lines of {@code --zookeeper-auth} of it and of its
 * probe, which are shown once and kept nowhere.
 *
 * @param needsLogin whether the cluster has logins
 * @param login the readers' and the mux's own, USER:PASSWORD; absent in a cluster without logins,
 *     in a dry run, and in an answer that is given again
 * @param probeLogin likewise of the probe
 */
@JsonInclude(JsonInclude.Include.NON_ABSENT)
record MuxLogins(
    String id,
    boolean needsLogin,
    Optional<List<String>> login,
    Optional<List<String>> probeLogin) {
  private static final int PASSWORD_BYTES = 32;

  /**
   * @param readers the readers' login; empty in a cluster without logins
   */
  static MuxLogins draw(String id, Optional<String> readers, RandomGenerator random) {
    return new MuxLogins(
        id,
        readers.isPresent(),
        readers.map(
            line ->
                List.of(line, "mux-%s:%s".formatted(id, RandomHex.draw(PASSWORD_BYTES, random)))),
        readers.map(
            line ->
                List.of(
                    line, "probe-%s:%s".formatted(id, RandomHex.draw(PASSWORD_BYTES, random)))));
  }

  /** As ZooKeeper is told of them. */
  AddedMux added() {
    return new AddedMux(id, login.map(MuxLogins::own), probeLogin.map(MuxLogins::own));
  }

  private static String own(List<String> lines) {
    return ZooKeeperAccess.digest(lines.get(1));
  }

  /** Without passwords. */
  MuxLogins hidden() {
    return new MuxLogins(id, needsLogin, Optional.empty(), Optional.empty());
  }
}
