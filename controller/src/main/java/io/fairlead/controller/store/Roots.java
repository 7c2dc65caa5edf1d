// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The nodes that every tree has, created by the first controller. */
public final class Roots {
  private static final Logger LOG = LoggerFactory.getLogger(Roots.class);
  private static final int DRAWN_BYTES = 16;

  private Roots() {}

  /** The root and the nodes in it that {@link #create} creates. */
  static List<String> of(Tree tree) {
    return List.of(
        tree.root(),
        tree.format(),
        tree.cluster(),
        tree.epoch(),
        tree.fragmentSeed(),
        tree.clock(),
        tree.serviceIds(),
        tree.services(),
        tree.muxes(),
        tree.health(),
        tree.election(),
        tree.audit(),
        tree.answers());
  }

  /**
   * Creates missing nodes, in a new tree including the cluster's name and seed.
   *
   * @throws StoreException if the tree has an unknown format
   */
  public static void create(CuratorFramework client, Tree tree, Optional<ZooKeeperAccess> access)
      throws Exception {
    createIfAbsent(client, tree.format(), Tree.FORMAT);
    String format = new String(client.getData().forPath(tree.format()), StandardCharsets.US_ASCII);
    if (!format.equals(Tree.FORMAT)) {
      throw new StoreException(
          "%s is '%s'; allowed: '%s'".formatted(tree.format(), format, Tree.FORMAT));
    }
    createIfAbsent(client, tree.cluster(), draw());
    createIfAbsent(client, tree.epoch(), "0");
    createIfAbsent(client, tree.fragmentSeed(), draw());
    createIfAbsent(client, tree.clock(), "");
    createIfAbsent(
        client,
        tree.serviceIds(),
        new String(NodeJson.write(ServiceIds.NONE), StandardCharsets.US_ASCII));
    createIfAbsent(client, tree.services(), "");
    createIfAbsent(client, tree.muxes(), "");
    createIfAbsent(client, tree.health(), "");
    createIfAbsent(client, tree.election(), "");
    createIfAbsent(client, tree.audit(), "");
    createIfAbsent(client, tree.answers(), "");
    if (access.isPresent()) {
      access.get().protect(client, tree);
    }
  }

  /**
   * @throws StoreException if a restore was started and is not finished
   */
  static void checkWhole(CuratorFramework client, Tree tree) throws Exception {
    if (client.checkExists().forPath(tree.restoring()) != null) {
      throw new StoreException(
          tree.restoring() + " exists: a restore is under way; if it was interrupted, repeat it");
    }
  }

  static void createIfAbsent(CuratorFramework client, String path, String data) throws Exception {
    try {
      client
          .create()
          .creatingParentsIfNeeded()
          .forPath(path, data.getBytes(StandardCharsets.US_ASCII));
    } catch (KeeperException.NodeExistsException e) {
      // The case at every start except the first.
      LOG.debug("{} exists", path);
    }
  }

  private static String draw() {
    byte[] drawn = new byte[DRAWN_BYTES];
    new SecureRandom().nextBytes(drawn);
    return HexFormat.of().formatHex(drawn);
  }
}
