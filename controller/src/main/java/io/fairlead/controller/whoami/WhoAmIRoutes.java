// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.whoami;

import io.fairlead.controller.api.Answer;
import io.fairlead.controller.api.Resource;
import io.fairlead.controller.api.Routes;

/** Tells callers who they are, so that a page need not offer what would be refused. */
public record WhoAmIRoutes() implements Resource {
  @Override
  public void register(Routes routes) {
    routes.read("whoAmI", request -> Answer.tagged(request, request.identity()));
  }
}
