// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

/** Why a request is refused: names the field, its value and what is allowed. */
public final class Refusal extends RuntimeException {
  /** Kinds map to one HTTP status each: 400, 404, 409, 412, 422, 403, 503. */
  public enum Kind {
    INVALID,
    NOT_FOUND,
    CONFLICT,
    PRECONDITION,
    KEY_REUSED,
    FORBIDDEN,
    UNAVAILABLE
  }

  private final Kind kind;
  private final String field;
  private final String value;
  private final String allowed;

  public Refusal(Kind kind, String field, String value, String allowed) {
    super("%s '%s' is refused; allowed: %s".formatted(field, value, allowed));
    this.kind = kind;
    this.field = field;
    this.value = value;
    this.allowed = allowed;
  }

  /** Of a value that is never allowed. */
  public static Refusal invalid(String field, Object value, String allowed) {
    return new Refusal(Kind.INVALID, field, String.valueOf(value), allowed);
  }

  /** Of a value that contradicts what exists. */
  public static Refusal conflict(String field, Object value, String allowed) {
    return new Refusal(Kind.CONFLICT, field, String.valueOf(value), allowed);
  }

  /** Of a value that names nothing. */
  public static Refusal missing(String field, Object value, String allowed) {
    return new Refusal(Kind.NOT_FOUND, field, String.valueOf(value), allowed);
  }

  public static Refusal noService(String name) {
    return missing("service", name, "an existing service");
  }

  /** Of a value that the caller may not ask for. */
  public static Refusal forbidden(String field, Object value, String allowed) {
    return new Refusal(Kind.FORBIDDEN, field, String.valueOf(value), allowed);
  }

  /** Of what may succeed later. */
  public static Refusal unavailable(String field, Object value, String allowed) {
    return new Refusal(Kind.UNAVAILABLE, field, String.valueOf(value), allowed);
  }

  public Kind kind() {
    return kind;
  }

  public String field() {
    return field;
  }

  public String value() {
    return value;
  }

  public String allowed() {
    return allowed;
  }
}
