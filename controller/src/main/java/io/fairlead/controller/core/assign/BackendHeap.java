// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import java.util.Arrays;

/** A binary heap of backends' ids: the first of all is on top. */
final class BackendHeap {
  interface Order {
    boolean isBefore(int id, int other);
  }

  private final Order order;
  private int[] ids = new int[16];
  private int size;

  /**
   * @param order total; it may change for the one on top alone
   */
  BackendHeap(Order order) {
    this.order = order;
  }

  boolean isEmpty() {
    return size == 0;
  }

  int top() {
    return ids[0];
  }

  void add(int id) {
    ids = size == ids.length ? Arrays.copyOf(ids, 2 * size) : ids;
    int at = size++;
    while (at > 0 && order.isBefore(id, ids[(at - 1) / 2])) {
      ids[at] = ids[(at - 1) / 2];
      at = (at - 1) / 2;
    }
    ids[at] = id;
  }

  void removeTop() {
    sink(ids[--size]);
  }

  /** The order of the one on top has changed. */
  void moveTop() {
    sink(ids[0]);
  }

  /** Puts the id, from the top, where it belongs. */
  private void sink(int id) {
    int at = 0;
    for (int below = 1; below < size; below = 2 * at + 1) {
      if (below + 1 < size && order.isBefore(ids[below + 1], ids[below])) {
        below++;
      }
      if (order.isBefore(id, ids[below])) {
        break;
      }
      ids[at] = ids[below];
      at = below;
    }
    ids[at] = id;
  }
}
