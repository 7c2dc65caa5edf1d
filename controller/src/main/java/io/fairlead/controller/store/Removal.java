// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.google.common.collect.Lists;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

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
   * Deletes these nodes and everything below them, children first, as far as they exist.
   *
   * @param check part of every step, so that none takes place once it fails
   */
  void run(Epoch epoch, List<String> roots, Operation check) throws Exception {
    List<String> paths = Lists.reverse(collect(roots));
    for (int at = 0; at < paths.size(); at += DELETES_AT_ONCE) {
      List<Operation> ops = new ArrayList<>(List.of(check));
      for (String each : paths.subList(at, Math.min(at + DELETES_AT_ONCE, paths.size()))) {
        ops.add(Operation.delete(each));
      }
      write.once(epoch, ops);
    }
  }

  /**
   * All that exist of these and below them, level by level. Another controller may remove some
   * meanwhile: then the step fails, and there is nothing left to delete.
   */
  private List<String> collect(List<String> roots) throws Exception {
    List<String> paths = new ArrayList<>();
    List<String> level = roots;
    while (!level.isEmpty()) {
      List<Optional<List<String>>> children = store.children(level);
      List<String> below = new ArrayList<>();
      for (int i = 0; i < level.size(); i++) {
        if (children.get(i).isPresent()) {
          String path = level.get(i);
          paths.add(path);
          children.get(i).get().forEach(child -> below.add(path + "/" + child));
        }
      }
      level = below;
    }
    return paths;
  }
}
