// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.ArrayList;
import java.util.List;

/** Deletes subtrees in fenced steps. */
final class Removal {
  private static final int DELETES_AT_ONCE = 500;

  private final Store store;
  private final FencedWrite write;

  Removal(Store store, FencedWrite write) {
    this.store = store;
    this.write = write;
  }

  /**
   * Deletes {@code path} and everything below it, children first; does nothing if it does not
   * exist.
   *
   * @param check part of every step, so that none takes place once it fails
   */
  void run(Epoch epoch, String path, Operation check) throws Exception {
    List<String> paths = new ArrayList<>();
    collect(path, paths);
    for (int at = 0; at < paths.size(); at += DELETES_AT_ONCE) {
      List<Operation> ops = new ArrayList<>(List.of(check));
      for (String each : paths.subList(at, Math.min(at + DELETES_AT_ONCE, paths.size()))) {
        ops.add(Operation.delete(each));
      }
      write.once(epoch, ops);
    }
  }

  private void collect(String path, List<String> paths) throws Exception {
    try {
      for (String child : store.children(path)) {
        collect(path + "/" + child, paths);
      }
      paths.add(path);
    } catch (NodeException.Absent e) {
      // Another controller removed it first, or it never existed: there is nothing left to delete.
    }
  }
}
