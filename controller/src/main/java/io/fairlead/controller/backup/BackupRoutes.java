// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.backup;

import io.fairlead.controller.api.Answer;
import io.fairlead.controller.api.Resource;
import io.fairlead.controller.api.Routes;
import io.fairlead.controller.plane.Origin;
import io.vertx.core.buffer.Buffer;
import java.util.function.Function;

/** Everything needed to rebuild the cluster, hash keys included. */
public record BackupRoutes(Function<Origin, byte[]> backup) implements Resource {
  @Override
  public void register(Routes routes) {
    routes.read(
        "getBackup",
        request -> Answer.ok("application/json", Buffer.buffer(backup.apply(request.origin()))));
  }
}
