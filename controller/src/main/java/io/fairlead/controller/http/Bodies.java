// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import io.vertx.openapi.contract.OpenAPIContract;
import io.vertx.openapi.contract.Operation;
import java.io.ByteArrayInputStream;
import java.util.concurrent.Callable;

/** Checks the shape of a request's body before the router's validator makes objects of it. */
final class Bodies {
  /** What is longer is read on a worker thread. */
  private static final int LONG = 16 << 10;

  private final Vertx vertx;
  private final Contract contract;
  private final OpenAPIContract api;

  Bodies(Vertx vertx, Contract contract, OpenAPIContract api) {
    this.vertx = vertx;
    this.contract = contract;
    this.api = api;
  }

  /** For what is forwarded the leader does this; for what may be compressed, {@link Routes}. */
  void check(RoutingContext context) {
    HttpServerRequest request = context.request();
    Operation operation = api.findOperation(request.path(), request.method());
    Buffer body = context.body().buffer();
    if (operation.getRequestBody() == null
        || body == null
        || body.length() == 0
        || contract.isOfAgents(operation)) {
      context.next();
      return;
    }
    if (body.length() <= LONG) {
      check(operation, body);
      context.next();
      return;
    }
    Callable<Void> check =
        () -> {
          check(operation, body);
          return null;
        };
    Intake.during(context, vertx.executeBlocking(check, false))
        .onSuccess(done -> context.next())
        .onFailure(context::fail);
  }

  private void check(Operation operation, Buffer body) {
    try {
      JsonShape.check(
          contract, contract.body(operation), new ByteArrayInputStream(body.getBytes()));
    } catch (JsonProcessingException e) {
      Buffer beginning = body.getBuffer(0, Math.min(body.length(), Failures.BEGINNING));
      throw new Problem.Found(Failures.malformed(beginning, e));
    }
  }
}
