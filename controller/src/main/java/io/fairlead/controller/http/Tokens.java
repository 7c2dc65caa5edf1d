// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.google.common.hash.HashCode;
import com.google.common.hash.Hashing;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.secret.SecretFile;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Who may call, from a file of lines {@code NAME ROLE sha256:DIGEST} or {@code NAME ROLE
 * plain:TOKEN}. The role is a {@link Grant}, or that of a server's agent, which names the server's
 * addresses: {@code server=10.2.0.7,2001:db8::7}. Several tokens may have one name, so that one can
 * be replaced by another while both are valid.
 *
 * <p>Tokens are random, not chosen by people, and have at least 16 characters, so a plain SHA-256
 * does not reveal them. They are looked up by that digest: how long it takes tells at most how the
 * digest of a guess begins, which tells nothing of a token. There may be tens of thousands, one for
 * each agent.
 */
final class Tokens {
  private static final Pattern LINE =
      Pattern.compile(
          "([A-Za-z0-9][A-Za-z0-9._@-]{0,63})\\s+(\\S+)\\s+"
              + "(?:sha256:(?<digest>[0-9a-fA-F]{64})|plain:(?<plain>[!-~]{16,512}))");
  private static final String ALLOWED =
      "lines NAME ROLE sha256:64-HEX-DIGITS or NAME ROLE plain:TOKEN, a token of 16..512"
          + " characters, a role of "
          + Grant.ALLOWED
          + ", or server=ADDRESS[,ADDRESS] of one server";
  private static final String SERVER = Role.SERVER + "=";

  /** What an agent's server has: an IPv4 address, an IPv6 address, or both. */
  static final int ADDRESSES_MAX = 2;

  private final Map<HashCode, Caller> callers;

  private Tokens(Map<HashCode, Caller> callers) {
    this.callers = callers;
  }

  /**
   * @throws IllegalArgumentException naming file and line, never its content
   */
  static Tokens read(SecretFile file) {
    Map<HashCode, Caller> callers = new HashMap<>();
    for (SecretFile.Line line : file.lines()) {
      Matcher matcher = LINE.matcher(line.text());
      Optional<Caller> caller =
          matcher.matches() ? caller(matcher.group(1), matcher.group(2)) : Optional.empty();
      if (caller.isEmpty()) {
        throw file.refused("line %d is malformed".formatted(line.number()), ALLOWED);
      }
      HashCode digest =
          matcher.group("plain") != null
              ? digest(matcher.group("plain"))
              : HashCode.fromString(matcher.group("digest").toLowerCase(Locale.ROOT));
      if (callers.put(digest, caller.get()) != null) {
        throw file.refused("line %d repeats a token".formatted(line.number()), "each token once");
      }
    }
    if (callers.isEmpty()) {
      throw file.refused("it has no token", ALLOWED);
    }
    return new Tokens(callers);
  }

  private static Optional<Caller> caller(String name, String role) {
    if (!role.startsWith(SERVER)) {
      return Grant.parse(role).map(grant -> new Caller(name, List.of(grant), Set.of()));
    }
    Set<Address> addresses = new LinkedHashSet<>();
    for (String text : role.substring(SERVER.length()).split(",", -1)) {
      Optional<Address> address = Address.parse(text).filter(Address::isUnicast);
      if (address.isEmpty() || !addresses.add(address.get())) {
        return Optional.empty();
      }
    }
    return addresses.size() <= ADDRESSES_MAX
        ? Optional.of(Caller.server(name, addresses))
        : Optional.empty();
  }

  Optional<Caller> find(String token) {
    return Optional.ofNullable(callers.get(digest(token)));
  }

  private static HashCode digest(String token) {
    return Hashing.sha256().hashString(token, StandardCharsets.UTF_8);
  }
}
