// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.vertx.ext.web.RoutingContext;
import io.vertx.openapi.contract.Location;
import io.vertx.openapi.contract.OpenAPIContract;
import io.vertx.openapi.contract.Operation;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Checks what the contract says and the router does not check: the spelling of the path; query
 * parameters that are unknown or repeated, since a mistyped {@code dryRun} must not commit;
 * headers; and the type of the body, before it is read.
 *
 * <p>The router also accepts other spellings of a path (a slash at the end, {@code %62ackup},
 * dots). Looked up in the contract, these give no operation or another one, so {@link Access} would
 * check the wrong role.
 */
final class Guard {
  private static final String JSON = "application/json";
  private static final int NOT_FOUND = 404;
  private static final int METHOD_NOT_ALLOWED = 405;

  private final Contract contract;
  private final OpenAPIContract api;

  Guard(Contract contract, OpenAPIContract api) {
    this.contract = contract;
    this.api = api;
  }

  void handle(RoutingContext context) {
    String path = context.request().path();
    Operation operation = api.findOperation(path, context.request().method());
    if (!path.equals(context.normalizedPath())) {
      context.fail(NOT_FOUND);
      return;
    }
    if (operation == null) {
      context.fail(methods(api, path).isPresent() ? METHOD_NOT_ALLOWED : NOT_FOUND);
      return;
    }
    Optional<Problem> problem =
        query(context, operation)
            .or(() -> headers(context, operation))
            .or(() -> mediaType(context, operation));
    if (problem.isPresent()) {
      Failures.send(context, problem.get());
    } else {
      context.next();
    }
  }

  private static Optional<Problem> query(RoutingContext context, Operation operation) {
    Set<String> known =
        operation.getParameters().stream()
            .filter(parameter -> parameter.getIn() == Location.QUERY)
            .map(parameter -> parameter.getName())
            .collect(Collectors.toCollection(TreeSet::new));
    for (String name : context.queryParams().names()) {
      List<String> values = context.queryParams().getAll(name);
      if (!known.contains(name)) {
        return Optional.of(
            Problem.of(
                Problem.Kind.INVALID,
                name,
                Optional.of(String.join(", ", values)),
                known.isEmpty()
                    ? "no query parameters"
                    : "the query parameters " + String.join(", ", known)));
      }
      if (values.size() > 1) {
        return Optional.of(
            Problem.of(
                Problem.Kind.INVALID,
                name,
                Optional.of(String.join(", ", values)),
                "this parameter once"));
      }
    }
    return Optional.empty();
  }

  /** Several headers of one name are one, separated by commas (RFC 9110, section 5.3). */
  private Optional<Problem> headers(RoutingContext context, Operation operation) {
    return contract
        .parameters(operation)
        .filter(contract::isHeader)
        .filter(parameter -> context.request().headers().contains(parameter.getString("name")))
        .flatMap(
            parameter -> {
              String name = parameter.getString("name");
              String value = String.join(", ", context.request().headers().getAll(name));
              return Violation.find(contract, name, value, parameter.getJsonObject("schema"))
                  .stream();
            })
        .findFirst()
        .map(Failures::invalid);
  }

  private static Optional<Problem> mediaType(RoutingContext context, Operation operation) {
    if (operation.getRequestBody() == null) {
      return Optional.empty();
    }
    String sent = context.request().getHeader("Content-Type");
    if (sent == null && hasNoBody(context)) {
      return Optional.empty(); // The validator says that it is missing.
    }
    return sent != null && sent.split(";", 2)[0].strip().equalsIgnoreCase(JSON)
        ? Optional.empty()
        : Optional.of(
            Problem.of(
                Problem.Kind.UNSUPPORTED_MEDIA_TYPE,
                "Content-Type",
                Optional.ofNullable(sent),
                JSON));
  }

  private static boolean hasNoBody(RoutingContext context) {
    String length = context.request().getHeader("Content-Length");
    return (length == null || length.equals("0"))
        && context.request().getHeader("Transfer-Encoding") == null;
  }

  /** The methods that the contract has for a path; empty if it does not have the path. */
  static Optional<String> methods(OpenAPIContract api, String path) {
    return Optional.ofNullable(api.findPath(path))
        .map(
            found ->
                found.getOperations().stream()
                    .map(operation -> operation.getHttpMethod().name())
                    .sorted()
                    .collect(Collectors.joining(", ")));
  }

  /** The contract's paths, for the answer to an unknown one. */
  static String paths(OpenAPIContract api) {
    return api.getPaths().stream()
        .map(path -> path.getName())
        .sorted()
        .collect(Collectors.joining(", "));
  }
}
