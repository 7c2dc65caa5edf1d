// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.leader.MemoryController;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;

/** A test of the API on a port of its own, with a controller on a store in memory. */
public abstract class ServedApi {
  @AutoClose protected final MemoryController controller = new MemoryController(settings());
  protected ApiServer server;
  protected ApiClient client;

  /** Those of the cluster at first. */
  protected ClusterSettings settings() {
    return MemoryController.ANY_VIP;
  }

  /** What answers in place of the usual resources. */
  protected List<Resource> resources() {
    return List.of();
  }

  @BeforeEach
  final void serve() throws IOException {
    server = controller.serve(Security.NONE, resources(), controller.get().metrics());
    client = new ApiClient(server.listen());
  }

  /** Where the API is. */
  protected final String url() {
    return "http://" + server.listen();
  }

  @AfterEach
  final void end() {
    server.close();
  }
}
