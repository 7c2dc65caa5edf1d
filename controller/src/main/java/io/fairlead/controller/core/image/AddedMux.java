// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A mux that an operator has added, and so its probe. Both logins are as ZooKeeper's access lists
 * name them, USER:DIGEST; absent in a cluster without logins.
 *
 * @param login of the mux: it alone may write the mux's node
 * @param probeLogin of the probe on its host
 */
@JsonPropertyOrder({"id", "login", "probeLogin"})
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record AddedMux(
    @JsonProperty(required = true) String id, Optional<String> login, Optional<String> probeLogin) {
  private static final Pattern ID = Pattern.compile("[0-9A-Za-z][0-9A-Za-z._-]{0,62}");
  private static final Pattern LOGIN = Pattern.compile("[0-9A-Za-z._-]{1,70}:[0-9A-Za-z+/]{27}=");

  public AddedMux {
    if (!ID.matcher(id).matches()) {
      throw new IllegalArgumentException("id '%s' is no name of a mux".formatted(id));
    }
    login = checked(login);
    probeLogin = checked(probeLogin);
  }

  /** Jackson reads an absent one as null. */
  private static Optional<String> checked(Optional<String> login) {
    if (login == null) {
      return Optional.empty();
    }
    login
        .filter(text -> !LOGIN.matcher(text).matches())
        .ifPresent(
            text -> {
              throw new IllegalArgumentException("a login is not USER:DIGEST");
            });
    return login;
  }
}
