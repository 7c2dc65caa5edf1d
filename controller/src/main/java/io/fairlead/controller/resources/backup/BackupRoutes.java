// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backup;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.resources.plane.Origin;
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
