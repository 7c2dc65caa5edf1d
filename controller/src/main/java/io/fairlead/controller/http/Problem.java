// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.resources.plane.Refusal;
import java.util.Optional;

/** A problem document, RFC 9457: a kind, a status, one sentence, and the field that is wrong. */
record Problem(
    String type,
    String title,
    int status,
    String detail,
    Optional<String> field,
    Optional<String> value,
    Optional<String> allowed) {
  static final String MEDIA_TYPE = "application/problem+json";

  /** The table in the contract's description lists these. */
  enum Kind {
    INVALID(400, "invalid", "The request is invalid"),
    UNAUTHORIZED(401, "unauthorized", "The request needs a token"),
    FORBIDDEN(403, "forbidden", "The caller may not do this"),
    NOT_FOUND(404, "not-found", "It does not exist"),
    METHOD_NOT_ALLOWED(405, "method-not-allowed", "The path does not support this method"),
    CONFLICT(409, "conflict", "The request contradicts what exists"),
    PRECONDITION_FAILED(412, "precondition-failed", "The precondition does not hold"),
    TOO_LARGE(413, "too-large", "The request is too large"),
    LINE_TOO_LONG(414, "too-large", "The request is too large"),
    HEADERS_TOO_LARGE(431, "too-large", "The request is too large"),
    UNSUPPORTED_MEDIA_TYPE(415, "unsupported-media-type", "The body is of the wrong type"),
    MISDIRECTED(421, "misdirected", "The request is for another host"),
    KEY_REUSED(422, "idempotency-key-reused", "The key belongs to another request"),
    INTERNAL(500, "internal", "The controller failed"),
    UNAVAILABLE(503, "unavailable", "The controller cannot commit now");

    private final int status;
    private final String name;
    private final String title;

    Kind(int status, String name, String title) {
      this.status = status;
      this.name = name;
      this.title = title;
    }
  }

  /** A problem as the failure of a request. */
  static final class Found extends RuntimeException {
    private final transient Problem problem;

    Found(Problem problem) {
      super(problem.detail(), null, false, false);
      this.problem = problem;
    }

    Problem problem() {
      return problem;
    }
  }

  static Problem of(Kind kind, String detail) {
    return of(kind, detail, Optional.empty(), Optional.empty(), Optional.empty());
  }

  static Problem of(Refusal refusal) {
    Kind kind =
        switch (refusal.kind()) {
          case INVALID -> Kind.INVALID;
          case NOT_FOUND -> Kind.NOT_FOUND;
          case CONFLICT -> Kind.CONFLICT;
          case PRECONDITION -> Kind.PRECONDITION_FAILED;
          case KEY_REUSED -> Kind.KEY_REUSED;
          case FORBIDDEN -> Kind.FORBIDDEN;
          case UNAVAILABLE -> Kind.UNAVAILABLE;
        };
    String sentence =
        switch (refusal.kind()) {
          case INVALID, CONFLICT, PRECONDITION, KEY_REUSED, FORBIDDEN ->
              "%s '%s' is refused; allowed: %s";
          case NOT_FOUND -> "%s '%s' does not exist; allowed: %s";
          case UNAVAILABLE -> "%s: %s; allowed: %s";
        };
    return of(
        kind,
        sentence.formatted(refusal.field(), refusal.value(), refusal.allowed()),
        Optional.ofNullable(refusal.field()),
        Optional.ofNullable(refusal.value()),
        Optional.ofNullable(refusal.allowed()));
  }

  /** {@code value} empty: nothing was sent under that name. */
  static Problem of(Kind kind, String field, Optional<String> value, String allowed) {
    String detail =
        value
            .map(sent -> "%s '%s' is refused; allowed: %s".formatted(field, sent, allowed))
            .orElseGet(() -> "%s is missing; allowed: %s".formatted(field, allowed));
    return of(kind, detail, Optional.of(field), value, Optional.of(allowed));
  }

  Problem withDetail(String detail) {
    return new Problem(type, title, status, detail, field, value, allowed);
  }

  private static Problem of(
      Kind kind,
      String detail,
      Optional<String> field,
      Optional<String> value,
      Optional<String> allowed) {
    return new Problem(
        "urn:fairlead:problem:" + kind.name,
        kind.title,
        kind.status,
        detail,
        field,
        value,
        allowed);
  }
}
