// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.zookeeper.ZooKeeperAddress;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.io.IOException;
import java.util.Optional;

/** Controllers on ZooKeeper, as {@code Main} opens them. */
public final class Controllers {
  private Controllers() {}

  /** {@link #prepare} and start, without an address for others. */
  public static FairleadController open(ControllerOptions options) throws IOException {
    FairleadController controller = prepare(options);
    controller.start(Optional.empty());
    return controller;
  }

  public static FairleadController prepare(ControllerOptions options) throws IOException {
    return new FairleadController(
        options,
        ZooKeeperStore.open(
            ZooKeeperAddress.parse(options.zookeeper()),
            options.zookeeperListen(),
            new Tree(options.root()),
            options.access(),
            options.tls()));
  }
}
