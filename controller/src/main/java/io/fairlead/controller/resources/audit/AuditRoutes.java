// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.audit;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Page;
import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.store.Journal;
import java.util.List;
import java.util.OptionalLong;

/** The records of past writes, newest first; a cursor is the last number of the page before. */
public record AuditRoutes(AuditLog log) implements Resource {
  private static final int DEFAULT_LIMIT = 100;

  @Override
  public void register(Routes routes) {
    routes.read("listAudit", this::list);
  }

  private Answer list(Request request) {
    OptionalLong before =
        request
            .cursor()
            .map(cursor -> OptionalLong.of(number(cursor)))
            .orElse(OptionalLong.empty());
    int limit = request.limit().orElse(DEFAULT_LIMIT);
    Journal.Page page = log.page(before, limit);
    List<AuditView> records =
        page.entries().stream().map(each -> new AuditView(each.number(), each.entry())).toList();
    Answer answer = Answer.tagged(request, records);
    return page.next().isEmpty()
        ? answer
        : answer.with(
            "Link", Page.link(request.path(), limit, Long.toString(page.next().getAsLong())));
  }

  private static long number(String cursor) {
    if (!cursor.matches("[0-9]{1,10}")) {
      throw Refusal.invalid("cursor", cursor, "the number of a record");
    }
    return Long.parseLong(cursor);
  }
}
