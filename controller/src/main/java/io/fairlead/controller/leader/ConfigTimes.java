// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.store.NodeException;
import io.fairlead.controller.store.Stat;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.repository.StoredService;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** When services' configurations were written: one request for each change of one. */
final class ConfigTimes implements HealthWork.Written {
  private static final Logger LOG = LoggerFactory.getLogger(ConfigTimes.class);

  private record Config(int id, Version version, long written) {}

  private final Store store;
  private final Tree tree;
  private final Map<String, Config> configs = new HashMap<>();

  ConfigTimes(Store store, Tree tree) {
    this.store = store;
    this.tree = tree;
  }

  /** Empty if another configuration is in the store by now, or it cannot be read. */
  @Override
  public OptionalLong millis(StoredService service) {
    String name = service.image().config().name();
    int id = service.image().config().id();
    Version version = service.state().configVersion().orElseThrow();
    Config known = configs.get(name);
    if (known == null || known.id() != id || !known.version().equals(version)) {
      try {
        Optional<Stat> stat = store.stat(tree.config(name));
        if (stat.filter(at -> at.version().equals(version)).isEmpty()) {
          return OptionalLong.empty();
        }
        known = new Config(id, version, stat.get().written().toEpochMilli());
        configs.put(name, known);
      } catch (NodeException e) {
        LOG.debug("{}: {}", tree.config(name), e.toString());
        return OptionalLong.empty();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return OptionalLong.empty();
      }
    }
    return OptionalLong.of(known.written());
  }
}
