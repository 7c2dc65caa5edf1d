// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.whoami;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;

/** Tells callers who they are, so that a page need not offer what would be refused. */
public record WhoAmIRoutes() implements Resource {
  @Override
  public void register(Routes routes) {
    routes.read("whoAmI", request -> Answer.tagged(request, request.identity()));
  }
}
