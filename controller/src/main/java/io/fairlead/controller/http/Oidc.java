// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.resources.plane.Refusal;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jose4j.jwa.AlgorithmConstraints;
import org.jose4j.jwa.AlgorithmConstraints.ConstraintType;
import org.jose4j.jwk.EllipticCurveJsonWebKey;
import org.jose4j.jwk.PublicJsonWebKey;
import org.jose4j.jws.JsonWebSignature;
import org.jose4j.jwt.JwtClaims;
import org.jose4j.jwt.MalformedClaimException;
import org.jose4j.jwt.NumericDate;
import org.jose4j.jwt.consumer.ErrorCodes;
import org.jose4j.jwt.consumer.InvalidJwtException;
import org.jose4j.jwt.consumer.JwtConsumer;
import org.jose4j.jwt.consumer.JwtConsumerBuilder;
import org.jose4j.jwt.consumer.JwtContext;
import org.jose4j.lang.JoseException;

/**
 * Callers by JWT (RFC 7519) of an OIDC issuer: signed by one of its keys with an asymmetric
 * algorithm, for this audience, not past its end, and an access token by its type. Claims give the
 * roles, as {@link OidcSettings} says. A token's own {@code jwk}, {@code jku}, {@code x5c} and
 * {@code x5u} count for nothing.
 */
final class Oidc {
  /** Asymmetric ones; {@code none} and HMAC, whose key would be public, are not among them. */
  static final List<String> ALGORITHMS =
      List.of(
          "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA");

  private static final Map<String, String> CURVES =
      Map.of("ES256", "P-256", "ES384", "P-384", "ES512", "P-521");
  private static final String PREFIX = "oidc:";

  /** A header, RFC 7515, section 4.1.9. Keycloak has a claim of the same name: Bearer, ID, ... */
  private static final String TYPE = "typ";

  private static final String BEARER = "Bearer";

  /** OpenID Connect Core 1.0, sections 3.1.3.6 and 3.3.2.11. */
  private static final List<String> ID_TOKEN_CLAIMS = List.of("at_hash", "c_hash");

  /** RFC 7515, section 7.1. The library also reads other forms of base64. */
  private static final Pattern COMPACT = Pattern.compile("[\\w-]+\\.[\\w-]+\\.[\\w-]*");

  private static final Pattern NAME = Pattern.compile("[\\p{Graph}&&[^,\"]]{1,128}");
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final int SHOWN_MAX = 100;
  private static final String[] PERMITTED = ALGORITHMS.toArray(String[]::new);

  /** What a token is worth. */
  sealed interface Verdict {}

  record Accepted(Caller caller) implements Verdict {}

  /**
   * @param kind unauthorized; forbidden if the token counts, for nothing; unavailable if nothing is
   *     said of it, since the issuer's keys are unknown
   * @param field of the token that is wrong, also a metric's label
   * @param value empty if it is missing
   */
  record Refused(Problem.Kind kind, String field, Optional<String> value, String allowed)
      implements Verdict {
    Problem problem() {
      return kind == Problem.Kind.UNAVAILABLE
          ? Problem.of(Refusal.unavailable(field, value.orElse("unknown"), allowed))
          : Problem.of(kind, field, value, allowed);
    }
  }

  /** One of a key that is not known: {@link #refresh} may help. */
  record Unknown(Refused otherwise) implements Verdict {}

  private final OidcSettings settings;
  private final OidcKeys keys;
  private final InstantSource clock;
  private final MeterRegistry metrics;

  /**
   * @param executor that fetches keys
   * @param before whose keys count until others are fetched, if they are of the same source
   */
  static Oidc of(
      OidcSettings settings, Executor executor, Optional<Oidc> before, MeterRegistry metrics) {
    OidcKeys keys =
        new OidcKeys(settings, executor, () -> System.nanoTime() / NANOS_PER_MILLI, metrics);
    before
        .filter(other -> other.settings.keys().equals(settings.keys()))
        .ifPresent(other -> keys.startWith(other.keys.known()));
    return new Oidc(settings, keys, InstantSource.system(), metrics);
  }

  Oidc(OidcSettings settings, OidcKeys keys, InstantSource clock, MeterRegistry metrics) {
    this.settings = settings;
    this.keys = keys;
    this.clock = clock;
    this.metrics = metrics;
  }

  String issuer() {
    return settings.issuer();
  }

  Stream<Path> files() {
    return settings.files();
  }

  /** To be called every few seconds; never waits. */
  void renew() {
    keys.renew();
  }

  /** Completes once there may be more keys; never fails. */
  CompletableFuture<Void> refresh() {
    return keys.more().handle((known, failure) -> null);
  }

  /** Whether {@code token} has the form of a JWT, which tells nothing of its content. */
  static boolean isJwt(String token) {
    return token.chars().filter(c -> c == '.').count() == 2;
  }

  /** Counts what became of a request's token. */
  void count(Verdict verdict) {
    String result = verdict instanceof Refused refused ? refused.field() : "accepted";
    metrics.counter("fairlead.controller.oidc.tokens", "result", result).increment();
  }

  /** With the keys that are known now. */
  Verdict check(String token) {
    Optional<String> sent;
    Optional<String> kid;
    if (!COMPACT.matcher(token).matches()) {
      return malformed();
    }
    try {
      JsonWebSignature signed = new JsonWebSignature();
      signed.setCompactSerialization(token);
      sent = Optional.ofNullable(signed.getAlgorithmHeaderValue());
      kid = Optional.ofNullable(signed.getKeyIdHeaderValue());
    } catch (JoseException | RuntimeException e) {
      return malformed();
    }
    if (sent.filter(ALGORITHMS::contains).isEmpty()) {
      return refused("alg", sent, String.join(", ", ALGORITHMS));
    }
    String algorithm = sent.get();
    OidcKeys.Known known = keys.known();
    List<PublicJsonWebKey> fitting =
        known.of(kid).stream().filter(key -> isFor(key, algorithm)).toList();
    if (fitting.isEmpty()) {
      return new Unknown(unknown(known, kid, algorithm));
    }
    if (fitting.size() > 1) {
      return refused("kid", kid, "the id of a single key for %s".formatted(algorithm));
    }
    return verdict(token, fitting.get(0));
  }

  private Refused malformed() {
    return refused("token", "it is malformed", "a JWT of three parts in base64url");
  }

  private Refused unknown(OidcKeys.Known known, Optional<String> kid, String algorithm) {
    if (known.failure().isPresent()) {
      return new Refused(
          Problem.Kind.UNAVAILABLE,
          "jwks",
          Optional.of(settings.keys() + ": " + shown(known.failure().get())),
          "to try again, when the issuer's keys can be fetched");
    }
    return refused(
        "kid", kid, "a key for %s of the issuer's set at %s".formatted(algorithm, settings.keys()));
  }

  /** RFC 7517, section 4.4, and the key types that RFC 7518, section 3.1, asks for. */
  private static boolean isFor(PublicJsonWebKey key, String algorithm) {
    String type =
        switch (algorithm.substring(0, 2)) {
          case "RS", "PS" -> "RSA";
          case "ES" -> "EC";
          default -> "OKP";
        };
    return key.getKeyType().equals(type)
        && (key.getAlgorithm() == null || key.getAlgorithm().equals(algorithm))
        && (!(key instanceof EllipticCurveJsonWebKey curve)
            || curve.getCurveName().equals(CURVES.get(algorithm)));
  }

  private Verdict verdict(String token, PublicJsonWebKey key) {
    Instant now = clock.instant();
    JwtConsumer consumer =
        new JwtConsumerBuilder()
            .setJwsAlgorithmConstraints(new AlgorithmConstraints(ConstraintType.PERMIT, PERMITTED))
            .setVerificationKey(key.getPublicKey())
            .setRequireExpirationTime()
            .setRequireSubject()
            .setExpectedIssuer(settings.issuer())
            .setExpectedAudience(settings.audiences().toArray(String[]::new))
            .setAllowedClockSkewInSeconds(settings.leewaySeconds())
            .setEvaluationTime(NumericDate.fromSeconds(now.getEpochSecond()))
            .build();
    try {
      JwtContext found = consumer.process(token);
      Optional<Refused> other = otherKind(found);
      return other.isPresent() ? other.get() : caller(found.getJwtClaims());
    } catch (InvalidJwtException e) {
      return refused(e, now);
    } catch (MalformedClaimException | RuntimeException e) {
      return refused("token", "it is malformed", "claims of the types of RFC 7519");
    }
  }

  /**
   * An issuer signs other tokens by the same keys, for the same client: that it is none of these.
   */
  private Optional<Refused> otherKind(JwtContext found) {
    Optional<Object> sent =
        Optional.ofNullable(found.getJoseObjects().get(0).getHeaders().getObjectHeaderValue(TYPE));
    String type =
        sent.map(header -> header instanceof String text ? OidcSettings.type(text) : "")
            .orElse(OidcSettings.NO_TYPE);
    if (!settings.types().contains(type)) {
      return Optional.of(
          refused(
              TYPE,
              sent.map(String::valueOf),
              String.join(", ", settings.types()) + ", the typ of --oidc"));
    }
    JwtClaims claims = found.getJwtClaims();
    return Stream.concat(
            ID_TOKEN_CLAIMS.stream().filter(claims::hasClaim),
            Stream.of(TYPE).filter(claims::hasClaim).filter(claim -> !isBearer(claims)))
        .findFirst()
        .map(
            claim ->
                refused(
                    TYPE,
                    "a token with the claim %s: %s".formatted(claim, claims.getClaimValue(claim)),
                    "an access token"));
  }

  private static boolean isBearer(JwtClaims claims) {
    return BEARER.equals(claims.getClaimValue(TYPE));
  }

  private Verdict refused(InvalidJwtException e, Instant now) {
    JwtClaims claims = e.getJwtContext() == null ? null : e.getJwtContext().getJwtClaims();
    if (claims == null || e.hasErrorCode(ErrorCodes.SIGNATURE_INVALID)) {
      return e.hasErrorCode(ErrorCodes.SIGNATURE_INVALID)
          ? refused("signature", "it does not fit", "that of the issuer's key which kid names")
          : refused("token", "it is malformed", "a signed JWT with an object of claims");
    }
    String leeway = " (%s, leeway %d s)".formatted(now, settings.leewaySeconds());
    if (e.hasErrorCode(ErrorCodes.ISSUER_MISSING) || e.hasErrorCode(ErrorCodes.ISSUER_INVALID)) {
      return refused("iss", claim(claims, "iss"), settings.issuer());
    }
    if (e.hasErrorCode(ErrorCodes.AUDIENCE_MISSING)
        || e.hasErrorCode(ErrorCodes.AUDIENCE_INVALID)) {
      return refused("aud", claim(claims, "aud"), String.join(", ", settings.audiences()));
    }
    if (e.hasErrorCode(ErrorCodes.EXPIRATION_MISSING) || e.hasErrorCode(ErrorCodes.EXPIRED)) {
      return refused("exp", time(claims, "exp"), "a time after now" + leeway);
    }
    if (e.hasErrorCode(ErrorCodes.NOT_YET_VALID)) {
      return refused("nbf", time(claims, "nbf"), "a time before now" + leeway);
    }
    if (e.hasErrorCode(ErrorCodes.ISSUED_AT_INVALID_FUTURE)) {
      return refused("iat", time(claims, "iat"), "a time before now" + leeway);
    }
    if (e.hasErrorCode(ErrorCodes.SUBJECT_MISSING)) {
      return refused("sub", Optional.empty(), "a text");
    }
    return refused(
        "token", "it is malformed", "claims of the types of RFC 7519, iat and nbf before exp");
  }

  private Verdict caller(JwtClaims claims) throws MalformedClaimException {
    Optional<String> name =
        value(claims, settings.nameClaim())
            .filter(String.class::isInstance)
            .map(String.class::cast)
            .filter(text -> NAME.matcher(text).matches());
    if (name.isEmpty()) {
      return refused(
          "name",
          claim(claims, settings.nameClaim()),
          "in the claim %s 1..128 visible characters of ASCII without comma and quotation mark"
              .formatted(settings.nameClaim()));
    }
    List<Grant> grants = new ArrayList<>();
    for (OidcSettings.Rule rule : settings.rules()) {
      if (values(claims, rule.claim()).contains(rule.value()) && !grants.contains(rule.grant())) {
        grants.add(rule.grant());
      }
    }
    if (grants.isEmpty()) {
      Set<String> asked = new TreeSet<>();
      settings.rules().forEach(rule -> asked.add(rule.claim()));
      String found =
          asked.stream()
              .map(each -> "%s: %s".formatted(each, String.join(", ", values(claims, each))))
              .collect(Collectors.joining("; "));
      return new Refused(
          Problem.Kind.FORBIDDEN,
          "roles",
          Optional.of(shown(found)),
          "a value to which --oidc gives a role, in " + String.join(", ", asked));
    }
    return new Accepted(new Caller(PREFIX + name.get(), grants, Set.of()));
  }

  /** A claim by its whole name, or else by the way to it, separated by dots. */
  private static Optional<Object> value(JwtClaims claims, String name) {
    if (claims.hasClaim(name)) {
      return Optional.ofNullable(claims.getClaimValue(name));
    }
    Object at = claims.getClaimsMap();
    for (String step : name.split("\\.")) {
      if (!(at instanceof Map<?, ?> object)) {
        return Optional.empty();
      }
      at = object.get(step);
    }
    return Optional.ofNullable(at);
  }

  /** Texts; {@code scope} is a list in one text (RFC 8693, section 4.2). */
  private static List<String> values(JwtClaims claims, String name) {
    Object value = value(claims, name).orElse(List.of());
    if (value instanceof String text) {
      return name.equals("scope") ? List.of(text.split(" ")) : List.of(text);
    }
    return value instanceof Collection<?> list
        ? list.stream().filter(String.class::isInstance).map(String.class::cast).toList()
        : List.of();
  }

  private static Optional<String> claim(JwtClaims claims, String name) {
    return value(claims, name).map(String::valueOf);
  }

  private static Optional<String> time(JwtClaims claims, String name) {
    try {
      return Optional.ofNullable(claims.getNumericDateClaimValue(name))
          .map(date -> Instant.ofEpochSecond(date.getValue()).toString());
    } catch (MalformedClaimException | RuntimeException e) {
      return claim(claims, name);
    }
  }

  private static Refused refused(String field, String value, String allowed) {
    return refused(field, Optional.of(value), allowed);
  }

  private static Refused refused(String field, Optional<String> value, String allowed) {
    return new Refused(Problem.Kind.UNAUTHORIZED, field, value.map(Oidc::shown), allowed);
  }

  /** What a stranger wrote, for an answer: short, and without control characters. */
  private static String shown(String text) {
    String plain = text.replaceAll("[^ -~]", "?");
    return plain.length() <= SHOWN_MAX ? plain : plain.substring(0, SHOWN_MAX) + "...";
  }
}
