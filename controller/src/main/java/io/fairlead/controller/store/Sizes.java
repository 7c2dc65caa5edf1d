// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

/**
 * How much one request to ZooKeeper may hold.
 *
 * @param stepMax bytes of a generation or snapshot that is written in one step. With the rest of
 *     the request (paths, the configuration, the note of a write with its answer in base64) it
 *     stays below 900 KB.
 * @param chunkMax bytes of a node
 */
public record Sizes(int stepMax, int chunkMax) {
  public static final Sizes DEFAULT = new Sizes(700 * 1024, 512 * 1024);
}
