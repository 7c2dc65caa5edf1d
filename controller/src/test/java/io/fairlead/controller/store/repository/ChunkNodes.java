// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.repository;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;

/** Bytes in chunks, read as a mux reads them. */
public final class ChunkNodes {
  private ChunkNodes() {}

  public static byte[] read(CuratorFramework client, String path) throws Exception {
    List<String> names = new ArrayList<>(client.getChildren().forPath(path));
    Collections.sort(names);
    ByteArrayOutputStream joined = new ByteArrayOutputStream();
    for (String name : names) {
      joined.write(client.getData().forPath(path + "/" + name));
    }
    return joined.toByteArray();
  }
}
