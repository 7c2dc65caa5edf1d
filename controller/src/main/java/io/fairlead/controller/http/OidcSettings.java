// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Whose JWTs count and for what, from the YAML file of {@code --oidc}.
 *
 * @param file from which this was read
 * @param issuer as tokens have it in {@code iss}
 * @param audiences of which a token has one in {@code aud}
 * @param keys where the issuer's JWKS is: https, or a file
 * @param authority who signs the certificate of the server of {@code keys}, PEM; the system's if
 *     empty
 * @param types that a token's header {@code typ} may have, as {@link #type} writes them; {@link
 *     #NO_TYPE} for a token without it
 * @param leewaySeconds by which the issuer's clock and this one may differ
 * @param nameClaim that names the caller in audit records
 * @param rules at least one
 */
record OidcSettings(
    Path file,
    String issuer,
    List<String> audiences,
    URI keys,
    Optional<Path> authority,
    List<String> types,
    int leewaySeconds,
    String nameClaim,
    List<Rule> rules) {
  private static final Set<String> FIELDS =
      Set.of("issuer", "audience", "jwks", "ca", "typ", "leewaySeconds", "name", "roles");

  /** The word for a token that has no {@code typ}. */
  static final String NO_TYPE = "none";

  /** RFC 9068, section 2.1: no other token of an issuer has it. */
  private static final String ACCESS_TOKEN = "at+jwt";

  private static final Pattern TYPE = Pattern.compile("[A-Za-z0-9!#$&^_.+-]{1,64}");
  private static final String MEDIA_TYPE = "application/";
  private static final int LEEWAY_SECONDS = 30;
  private static final int LEEWAY_MAX = 300;
  private static final Set<PosixFilePermission> FOREIGN =
      Set.of(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE);
  private static final YAMLMapper YAML =
      YAMLMapper.builder(
              YAMLFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  /** A token whose {@code claim} is or contains {@code value} has this role. */
  record Rule(String claim, String value, Grant grant) {}

  /**
   * @throws IllegalArgumentException naming file, field, and what is allowed
   */
  static OidcSettings read(Path file) {
    JsonNode root = root(file);
    for (Map.Entry<String, JsonNode> field : root.properties()) {
      if (!FIELDS.contains(field.getKey())) {
        throw refused(file, "the field '%s'".formatted(field.getKey()), fields());
      }
    }
    String issuer = text(file, root, "issuer", Optional.empty());
    URI keys = keys(file, text(file, root, "jwks", Optional.empty()));
    Optional<Path> authority =
        root.has("ca")
            ? Optional.of(Path.of(text(file, root, "ca", Optional.empty())))
            : Optional.empty();
    if (authority.isPresent() && keys.getScheme().equals("file")) {
      throw refused(file, "ca is given with a file of keys", "ca only with an https jwks");
    }
    authority
        .filter(path -> !Files.isReadable(path))
        .ifPresent(
            path -> {
              throw refused(file, "ca '%s' cannot be read".formatted(path), "a PEM file");
            });
    JsonNode leeway = root.path("leewaySeconds");
    if (!leeway.isMissingNode()
        && !(leeway.isInt() && leeway.intValue() >= 0 && leeway.intValue() <= LEEWAY_MAX)) {
      throw refused(file, "leewaySeconds '%s'".formatted(leeway.asText()), "0..300");
    }
    return new OidcSettings(
        file,
        issuer,
        audiences(file, root.path("audience")),
        keys,
        authority,
        types(file, root.path("typ")),
        leeway.asInt(LEEWAY_SECONDS),
        text(file, root, "name", Optional.of("sub")),
        rules(file, root.path("roles")));
  }

  /** The files that this depends on, itself among them. */
  Stream<Path> files() {
    return Stream.concat(
        Stream.of(file),
        keys.getScheme().equals("file") ? Stream.of(Path.of(keys)) : authority.stream());
  }

  private static JsonNode root(Path file) {
    try {
      Set<PosixFilePermission> mode = Files.getPosixFilePermissions(file);
      if (mode.stream().anyMatch(FOREIGN::contains)) {
        throw refused(
            file,
            "its mode is %s".formatted(PosixFilePermissions.toString(mode)),
            "a file that only its owner can write: chmod 644");
      }
      JsonNode root = YAML.readTree(Files.readString(file, StandardCharsets.UTF_8));
      if (!root.isObject()) {
        throw refused(file, "it is no YAML mapping", fields());
      }
      return root;
    } catch (JsonProcessingException e) {
      throw refused(
          file,
          "line %d: %s"
              .formatted(
                  e.getLocation() == null ? 1 : e.getLocation().getLineNr(),
                  e.getOriginalMessage().lines().findFirst().orElse("")),
          "one YAML document");
    } catch (IOException e) {
      throw refused(file, "it cannot be read: " + e, "a file that this process can read");
    }
  }

  private static String fields() {
    return "the fields " + String.join(", ", FIELDS.stream().sorted().toList());
  }

  private static String text(Path file, JsonNode root, String field, Optional<String> otherwise) {
    JsonNode value = root.path(field);
    if (value.isMissingNode() && otherwise.isPresent()) {
      return otherwise.get();
    }
    if (!value.isTextual() || value.textValue().isBlank()) {
      throw refused(
          file,
          value.isMissingNode() ? field + " is missing" : "%s '%s'".formatted(field, value),
          field + ": TEXT");
    }
    return value.textValue();
  }

  /** A media type as it is compared: in lower case, without application/ (RFC 7515, 4.1.9). */
  static String type(String text) {
    String type = text.toLowerCase(Locale.ROOT);
    return type.startsWith(MEDIA_TYPE) && type.indexOf('/', MEDIA_TYPE.length()) < 0
        ? type.substring(MEDIA_TYPE.length())
        : type;
  }

  private static List<String> types(Path file, JsonNode value) {
    if (value.isMissingNode()) {
      return List.of(ACCESS_TOKEN);
    }
    List<String> types = new ArrayList<>();
    (value.isArray() ? value : List.of(value))
        .forEach(each -> types.add(each.isTextual() ? type(each.textValue()) : ""));
    if (types.isEmpty() || !types.stream().allMatch(TYPE.asMatchPredicate())) {
      throw refused(
          file,
          "typ '%s'".formatted(value.isTextual() ? value.textValue() : value),
          "typ: at+jwt, JWT, none (for tokens without typ) or another type of access tokens, or a"
              + " list of them");
    }
    return List.copyOf(types);
  }

  private static List<String> audiences(Path file, JsonNode value) {
    List<String> audiences = new ArrayList<>();
    (value.isArray() ? value : List.of(value))
        .forEach(each -> audiences.add(each.isTextual() ? each.textValue() : ""));
    if (audiences.isEmpty() || audiences.stream().anyMatch(String::isBlank)) {
      throw refused(
          file,
          value.isMissingNode() ? "audience is missing" : "audience '%s'".formatted(value),
          "audience: TEXT, or a list of them");
    }
    return List.copyOf(audiences);
  }

  private static URI keys(Path file, String text) {
    if (text.startsWith("/")) {
      return Path.of(text).toUri();
    }
    try {
      URI uri = URI.create(text);
      if ("https".equals(uri.getScheme()) && uri.getHost() != null && uri.getUserInfo() == null) {
        return uri;
      }
    } catch (IllegalArgumentException e) {
      throw refused(file, "jwks '%s': %s".formatted(text, e.getMessage()), "an https URL or /FILE");
    }
    throw refused(file, "jwks '%s'".formatted(text), "an https URL without a user, or /FILE");
  }

  private static List<Rule> rules(Path file, JsonNode roles) {
    List<Rule> rules = new ArrayList<>();
    for (Map.Entry<String, JsonNode> claim : roles.properties()) {
      for (Map.Entry<String, JsonNode> value : claim.getValue().properties()) {
        String where = "roles.%s.%s".formatted(claim.getKey(), value.getKey());
        Grant grant =
            Grant.parse(value.getValue().asText())
                .orElseThrow(
                    () ->
                        refused(
                            file,
                            "%s '%s'".formatted(where, value.getValue().asText()),
                            Grant.ALLOWED));
        rules.add(new Rule(claim.getKey(), value.getKey(), grant));
      }
    }
    if (rules.isEmpty()) {
      throw refused(file, "roles gives no role", "roles: {CLAIM: {VALUE: ROLE}}");
    }
    return List.copyOf(rules);
  }

  private static IllegalArgumentException refused(Path file, String what, String allowed) {
    return new IllegalArgumentException(
        "--oidc '%s' is refused: %s; allowed: %s".formatted(file, what, allowed));
  }
}
