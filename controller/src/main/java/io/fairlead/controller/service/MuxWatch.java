// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.fairlead.controller.service.ControlPlane.MuxService;
import io.fairlead.controller.service.ControlPlane.MuxView;
import io.fairlead.controller.store.Tree;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The muxes, as they write their own ephemeral nodes: followed by watches, so that reading them
 * asks nobody.
 */
final class MuxWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MuxWatch.class);
  private static final int FORMAT = 1;
  private static final ObjectMapper MAPPER =
      JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();

  private record MuxNode(
      int format,
      String id,
      String version,
      String address,
      List<String> ports,
      Map<String, MuxService> services) {}

  private final String parent;
  private final CuratorCache cache;
  private final ConcurrentNavigableMap<String, MuxView> muxes = new ConcurrentSkipListMap<>();

  MuxWatch(CuratorFramework client, Tree tree) {
    parent = tree.muxes();
    cache = CuratorCache.build(client, parent);
    cache
        .listenable()
        .addListener(
            CuratorCacheListener.builder()
                .forCreates(this::seen)
                .forChanges((before, after) -> seen(after))
                .forDeletes(gone -> muxes.remove(id(gone)))
                .build());
  }

  void start() {
    cache.start();
  }

  /** By ascending id. */
  List<MuxView> muxes() {
    return List.copyOf(muxes.values());
  }

  private void seen(ChildData node) {
    if (node.getPath().equals(parent)) {
      return;
    }
    String id = id(node);
    try {
      MuxNode mux = MAPPER.readValue(node.getData(), MuxNode.class);
      if (mux.format() != FORMAT || mux.ports() == null || mux.services() == null) {
        throw new IOException("format %d".formatted(mux.format()));
      }
      muxes.put(
          id,
          new MuxView(
              id,
              mux.version(),
              mux.address(),
              List.copyOf(mux.ports()),
              Map.copyOf(mux.services())));
    } catch (IOException e) {
      LOG.warn(
          "the node of mux '{}' is not readable: {}", id, e.getMessage().lines().findFirst().get());
      muxes.remove(id);
    }
  }

  private static String id(ChildData node) {
    return node.getPath().substring(node.getPath().lastIndexOf('/') + 1);
  }

  @Override
  public void close() {
    cache.close();
  }
}
