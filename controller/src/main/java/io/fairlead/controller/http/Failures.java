// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import io.fairlead.controller.resources.plane.Refusal;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClosedException;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.HttpException;
import io.vertx.openapi.contract.OpenAPIContract;
import io.vertx.openapi.contract.Operation;
import io.vertx.openapi.validation.ValidatorException;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Turns every failure of a request into a problem document. */
final class Failures {
  private static final Logger LOG = LoggerFactory.getLogger(Failures.class);

  private static final long LINGER_MILLIS = 5000;
  private static final int UNAVAILABLE = 503;

  /** So many bytes of a body are looked at to show how it begins. */
  static final int BEGINNING = 1024;

  /** A new leader takes at most a session timeout, mostly less. */
  private static final String RETRY_AFTER_SECONDS = "2";

  private final Vertx vertx;
  private final Contract contract;
  private final OpenAPIContract api;

  Failures(Vertx vertx, Contract contract, OpenAPIContract api) {
    this.vertx = vertx;
    this.contract = contract;
    this.api = api;
  }

  /**
   * The failure of an operation. Only operations are validated, and only here may the answer come
   * later.
   */
  void handleOperation(RoutingContext context) {
    Throwable failure = context.failure();
    handle(
        context,
        failure instanceof HttpException http ? http.getStatusCode() : context.statusCode());
  }

  /** {@code status}: the router's reason, such as an unknown path or method, or a large body. */
  void handle(RoutingContext context, int status) {
    dispatch(context, status);
    Intake.routed(context);
  }

  private void dispatch(RoutingContext context, int status) {
    if (context.response().headWritten()) {
      context.response().reset();
      return;
    }
    Throwable failure = context.failure();
    while ((failure instanceof HttpException || failure instanceof CompletionException)
        && failure.getCause() != null) {
      failure = failure.getCause();
    }
    if (failure instanceof HttpClosedException) {
      return; // the caller has gone before its body was whole
    }
    if (failure instanceof Violation.Found found) {
      send(context, invalid(found.violation()));
    } else if (failure instanceof Problem.Found found) {
      send(context, found.problem());
    } else if (failure instanceof Refusal refusal) {
      send(context, Problem.of(refusal));
    } else if (failure instanceof ValidatorException invalid) {
      Intake.during(context, vertx.executeBlocking(() -> violation(context, invalid), false))
          .onSuccess(problem -> send(context, problem))
          .onFailure(e -> send(context, internal(context, e)));
    } else {
      send(context, problem(context, status, failure));
    }
  }

  /** If the body is not complete yet, it is not read, and the connection is closed. */
  static void send(RoutingContext context, Problem problem) {
    if (bodyIsUnderWay(context.request())) {
      endConnection(context);
    }
    Intake.routed(context);
    if (problem.status() == UNAVAILABLE) {
      context.response().putHeader("Retry-After", RETRY_AFTER_SECONDS);
    }
    context
        .response()
        .setStatusCode(problem.status())
        .putHeader("Content-Type", Problem.MEDIA_TYPE)
        .end(Answer.encode(problem));
  }

  /** What is not HTTP, as {@link WireCheck} has found. */
  static void invalidRequest(HttpServerRequest request) {
    Throwable cause = request.decoderResult().cause();
    Problem problem;
    if (cause instanceof TooLongHttpLineException) {
      problem = Problem.of(Problem.Kind.LINE_TOO_LONG, "the request line is too long");
    } else if (cause instanceof TooLongHttpHeaderException) {
      problem = Problem.of(Problem.Kind.HEADERS_TOO_LARGE, "the request's headers are too large");
    } else {
      problem = malformed(cause);
    }
    send(request, problem);
  }

  /** Before any route; neither the rest of the request is read nor another one. */
  static void send(HttpServerRequest request, Problem problem) {
    ProtectiveHeaders.set(request.response());
    request
        .response()
        .setStatusCode(problem.status())
        .putHeader("Content-Type", Problem.MEDIA_TYPE)
        .putHeader("Connection", "close")
        .end(Answer.encode(problem))
        .onComplete(sent -> request.connection().close());
  }

  private static boolean bodyIsUnderWay(HttpServerRequest request) {
    String length = request.getHeader("Content-Length");
    return !request.isEnded()
        && (request.headers().contains("Transfer-Encoding")
            || (length != null && !length.equals("0")));
  }

  private static Problem malformed(Throwable why) {
    return Problem.of(Problem.Kind.INVALID, "this is not an HTTP request: " + why.getMessage());
  }

  private Problem problem(RoutingContext context, int status, Throwable failure) {
    if (failure instanceof WireCheck.MalformedException) {
      context.response().putHeader("Connection", "close");
      return malformed(failure);
    }
    String path = context.request().path();
    String method = context.request().method().name();
    switch (status) {
      case 400:
        return Problem.of(
            Problem.Kind.INVALID, "path", Optional.of(Violation.text(path)), "a well-formed path");
      case 404:
        return Problem.of(
            Problem.Kind.NOT_FOUND, "path", Optional.of(Violation.text(path)), Guard.paths(api));
      case 405:
        String methods = Guard.methods(api, path).orElse("");
        context.response().putHeader("Allow", methods);
        return Problem.of(Problem.Kind.METHOD_NOT_ALLOWED, "method", Optional.of(method), methods);
      case 413:
        endConnection(context);
        int limit = contract.bodyLimit(api.findOperation(path, context.request().method()));
        return Problem.of(
            Problem.Kind.TOO_LARGE,
            "body",
            Optional.ofNullable(context.request().getHeader("Content-Length"))
                .map(length -> length + " bytes")
                .or(() -> Optional.of("more than " + limit + " bytes")),
            "at most " + limit + " bytes");
      default:
        return internal(context, failure);
    }
  }

  /** Ends the connection with the answer to come, and says so: the client sends nothing more. */
  static void endConnection(RoutingContext context) {
    context.response().putHeader("Connection", "close");
    context.addEndHandler(sent -> closeAfterBody(context.vertx(), context.request()));
  }

  /**
   * No request can follow a body that is not read, so the connection is closed. Closing it at once
   * would reset it while the client still sends, and the client would lose the answer; so the rest
   * of the body is read and discarded for a while.
   */
  private static void closeAfterBody(Vertx vertx, HttpServerRequest request) {
    if (request.isEnded()) {
      request.connection().close();
      return;
    }
    long timer = vertx.setTimer(LINGER_MILLIS, late -> request.connection().close());
    request.handler(rest -> {}).resume();
    request
        .end()
        .onComplete(
            whole -> {
              vertx.cancelTimer(timer);
              request.connection().close();
            });
  }

  private static Problem internal(RoutingContext context, Throwable failure) {
    LOG.error("{} {} failed", context.request().method(), context.request().path(), failure);
    return Problem.of(Problem.Kind.INTERNAL, "a defect of the controller; its log says more");
  }

  /** Finds the field that the router's validator has rejected, and what its schema allows. */
  private Problem violation(RoutingContext context, ValidatorException invalid) {
    Operation operation = api.findOperation(context.request().path(), context.request().method());
    return contract
        .parameters(operation)
        .filter(parameter -> !contract.isHeader(parameter))
        .flatMap(parameter -> violation(context, parameter).stream())
        .findFirst()
        .map(Failures::invalid)
        .or(() -> bodyProblem(context, operation))
        .orElseGet(() -> Problem.of(Problem.Kind.INVALID, invalid.getMessage()));
  }

  private Optional<Violation> violation(RoutingContext context, JsonObject parameter) {
    String name = parameter.getString("name");
    JsonObject schema = contract.resolve(parameter.getJsonObject("schema"));
    String text =
        parameter.getString("in").equals("path")
            ? context.pathParam(name)
            : context.queryParams().get(name);
    if (text == null) {
      return parameter.getBoolean("required", false)
          ? Optional.of(new Violation(name, Optional.empty(), Violation.describe(contract, schema)))
          : Optional.empty();
    }
    return Violation.find(contract, name, parameterValue(text, schema.getString("type")), schema);
  }

  /** A parameter as the validator sees it: JSON unless its schema says string. */
  private static Object parameterValue(String text, String type) {
    try {
      return type.equals("string") ? text : Json.decodeValue(text);
    } catch (DecodeException e) {
      return text;
    }
  }

  private Optional<Problem> bodyProblem(RoutingContext context, Operation operation) {
    if (operation.getRequestBody() == null) {
      return Optional.empty();
    }
    JsonObject schema = contract.body(operation);
    Buffer body = context.body().buffer();
    if (body == null || body.length() == 0) {
      return Optional.of(
          invalid(new Violation("body", Optional.empty(), Violation.describe(contract, schema))));
    }
    try {
      return Violation.find(contract, "", Json.decodeValue(body), schema).map(Failures::invalid);
    } catch (DecodeException e) {
      return Optional.of(malformed(body));
    }
  }

  /** Of a body in which no JSON document was found, or more than one. */
  static Problem malformed(Buffer body) {
    try (JsonParser parser = Answer.JSON.createParser(body.getBytes())) {
      parser.nextToken();
      parser.skipChildren();
    } catch (JsonProcessingException e) {
      return malformed(body.getBuffer(0, Math.min(body.length(), BEGINNING)), e);
    } catch (IOException e) {
      throw new IllegalStateException("reading from memory failed", e);
    }
    return notOneDocument(body.getBuffer(0, Math.min(body.length(), BEGINNING)))
        .withDetail("the body continues after its JSON document");
  }

  /**
   * @param beginning of the body
   */
  static Problem malformed(Buffer beginning, JsonProcessingException e) {
    return notOneDocument(beginning)
        .withDetail(
            "the body is not JSON: %s%s"
                .formatted(
                    Optional.ofNullable(e.getLocation()) // constraints have none
                        .map(
                            at ->
                                "line %d, column %d: ".formatted(at.getLineNr(), at.getColumnNr()))
                        .orElse(""),
                    e.getOriginalMessage().replaceAll(" \\(start marker .*", "")));
  }

  private static Problem notOneDocument(Buffer beginning) {
    return Problem.of(
        Problem.Kind.INVALID,
        "body",
        Optional.of(Violation.text(beginning.toString())),
        "one JSON document");
  }

  static Problem invalid(Violation violation) {
    return Problem.of(
        Problem.Kind.INVALID, violation.field(), violation.value(), violation.allowed());
  }
}
