// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.vertx.core.http.HttpServerResponse;

/**
 * What each answer tells browsers, whatever the answer: not to guess its type, and not to run it as
 * a page, not even in a frame. Some answers carry text of others: names, muxes' pages.
 */
final class ProtectiveHeaders {
  static final String POLICY = "Content-Security-Policy";

  private ProtectiveHeaders() {}

  /** Sets them, in place of those that are there. */
  static void set(HttpServerResponse response) {
    response
        .putHeader(POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox")
        .putHeader("X-Content-Type-Options", "nosniff")
        .putHeader("X-Frame-Options", "DENY")
        .putHeader("Referrer-Policy", "no-referrer")
        .putHeader("Cross-Origin-Resource-Policy", "same-origin");
  }
}
