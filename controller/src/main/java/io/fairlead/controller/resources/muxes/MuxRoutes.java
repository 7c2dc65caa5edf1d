// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.http.Write;
import io.fairlead.controller.resources.plane.Result;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** The muxes that are added, by ascending id. */
public record MuxRoutes(MuxList muxes, RandomGenerator random) implements Resource {
  private static final String ID = "id";

  private record Asked(Optional<Boolean> rotate) {}

  private record Removed(String id) {}

  @Override
  public void register(Routes routes) {
    routes.list(
        "listMuxes",
        request ->
            request
                .optional("service")
                .map(name -> muxes.all().stream().map(mux -> mux.only(name)).toList())
                .orElseGet(muxes::all),
        MuxView::id,
        String::valueOf);
    routes.write("putMux", this::put);
    routes.write("deleteMux", this::delete);
  }

  private Write put(Request request) {
    boolean renews = request.body(Asked.class).rotate().orElse(false);
    MuxLogins logins = MuxLogins.draw(request.pathText(ID), muxes.readersLogin(), random);
    return new Write(
            options -> muxes.addMux(logins.added(), renews, options),
            result -> answer(result, result.dryRun() ? logins.hidden() : logins))
        .keeping(result -> answer(result, logins.hidden()));
  }

  private Write delete(Request request) {
    String id = request.pathText(ID);
    return new Write(
        options -> muxes.removeMux(id, request.flag("force"), options),
        result -> Answer.ok(new Removed(id)));
  }

  private static Answer answer(Result result, MuxLogins logins) {
    Answer answer = Answer.ok(logins).with("Cache-Control", "no-store");
    return result.created() && !result.dryRun() ? answer.with(201) : answer;
  }
}
