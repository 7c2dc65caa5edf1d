// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import java.util.Optional;

/** Who may call: by a token of the file, or by a JWT of the issuer. */
record Callers(Optional<Tokens> tokens, Optional<Oidc> oidc) {
  /** Whether every caller may do everything. */
  boolean isOpen() {
    return tokens.isEmpty() && oidc.isEmpty();
  }

  /** The caller of a token of the file. */
  Optional<Caller> listed(String token) {
    return tokens.flatMap(file -> file.find(token));
  }

  /** Who can tell more of {@code token}, if it is a JWT. */
  Optional<Oidc> issuer(String token) {
    return oidc.filter(issuer -> Oidc.isJwt(token));
  }

  String allowed() {
    return "Bearer and "
        + tokens.map(file -> "a token of this cluster").orElse("")
        + (tokens.isPresent() && oidc.isPresent() ? ", or " : "")
        + oidc.map(issuer -> "a JWT of " + issuer.issuer()).orElse("");
  }
}
