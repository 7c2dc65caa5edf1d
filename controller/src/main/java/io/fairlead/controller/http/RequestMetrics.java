// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.vertx.ext.web.RoutingContext;
import io.vertx.openapi.contract.OpenAPIContract;
import io.vertx.openapi.contract.Operation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Count and duration of requests by operation and status, and the access log at debug. Requests
 * that match no operation count as "none", so that a scanner cannot add time series.
 */
final class RequestMetrics {
  private static final Logger LOG = LoggerFactory.getLogger(RequestMetrics.class);

  private final OpenAPIContract api;
  private final MeterRegistry metrics;

  RequestMetrics(OpenAPIContract api, MeterRegistry metrics) {
    this.api = api;
    this.metrics = metrics;
  }

  void handle(RoutingContext context) {
    Timer.Sample sample = Timer.start(metrics);
    Operation operation = api.findOperation(context.request().path(), context.request().method());
    String name = operation == null ? "none" : operation.getOperationId();
    context.addEndHandler(
        done -> {
          int status = context.response().getStatusCode();
          long nanoseconds =
              sample.stop(
                  Timer.builder("fairlead.controller.http.requests")
                      .description(
                          "REST requests, by operation of the API's contract and by status")
                      .tag("operation", name)
                      .tag("status", Integer.toString(status))
                      .register(metrics));
          LOG.debug(
              "{} {} {} -> {} in {} us",
              context.request().remoteAddress(),
              context.request().method(),
              context.request().uri(),
              status,
              nanoseconds / 1000);
        });
    context.next();
  }
}
