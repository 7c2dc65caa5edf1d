// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.secret.RandomHex;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The nodes that every tree has, created by the first controller. */
public final class Roots {
  private static final Logger LOG = LoggerFactory.getLogger(Roots.class);
  private static final int DRAWN_BYTES = 16;

  private Roots() {}

  /** The root and the nodes in it that {@link #create} creates. */
  public static List<String> of(Tree tree) {
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
  public static void create(Store store, Tree tree) throws Exception {
    createIfAbsent(store, tree.format(), Tree.FORMAT);
    String format = new String(store.read(tree.format()).data(), StandardCharsets.US_ASCII);
    if (!format.equals(Tree.FORMAT)) {
      throw new StoreException(
          "%s is '%s'; allowed: '%s'".formatted(tree.format(), format, Tree.FORMAT));
    }
    createIfAbsent(store, tree.cluster(), draw());
    createIfAbsent(store, tree.epoch(), "0");
    createIfAbsent(store, tree.fragmentSeed(), draw());
    createIfAbsent(store, tree.clock(), "");
    createIfAbsent(
        store,
        tree.serviceIds(),
        new String(NodeJson.write(ServiceIds.NONE), StandardCharsets.US_ASCII));
    createIfAbsent(store, tree.services(), "");
    createIfAbsent(store, tree.muxes(), "");
    createIfAbsent(store, tree.health(), "");
    createIfAbsent(store, tree.election(), "");
    createIfAbsent(store, tree.audit(), "");
    createIfAbsent(store, tree.answers(), "");
    store.protect();
  }

  /**
   * @throws StoreException if a restore was started and is not finished
   */
  static void checkWhole(Store store, Tree tree) throws Exception {
    if (store.stat(tree.restoring()).isPresent()) {
      throw new StoreException(
          tree.restoring() + " exists: a restore is under way; if it was interrupted, repeat it");
    }
  }

  static void createIfAbsent(Store store, String path, String data) throws Exception {
    if (!store.createIfAbsent(path, data.getBytes(StandardCharsets.US_ASCII))) {
      LOG.debug("{} exists", path); // the case at every start except the first
    }
  }

  private static String draw() {
    return RandomHex.draw(DRAWN_BYTES, new SecureRandom());
  }
}
