// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.nio.charset.StandardCharsets;

/**
 * The store's time: the one that it gives to a node that was just written. All controllers write
 * the same node; the answer has the time of one's own write. Muxes read that time.
 */
public record StoreTime(Store store, Tree tree, String id) {
  /** Unix milliseconds by the store's clock. */
  public long write() throws StoreException {
    try {
      return store.touch(tree.clock(), id.getBytes(StandardCharsets.UTF_8)).toEpochMilli();
    } catch (Exception e) {
      throw new StoreException("ZooKeeper's time is not known: " + e, e);
    }
  }
}
