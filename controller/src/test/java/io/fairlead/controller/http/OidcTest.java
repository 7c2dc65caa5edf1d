// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jose4j.jwe.ContentEncryptionAlgorithmIdentifiers;
import org.jose4j.jwe.JsonWebEncryption;
import org.jose4j.jwe.KeyManagementAlgorithmIdentifiers;
import org.jose4j.jwk.EcJwkGenerator;
import org.jose4j.jwk.OctetKeyPairJsonWebKey;
import org.jose4j.jwk.OkpJwkGenerator;
import org.jose4j.jwk.PublicJsonWebKey;
import org.jose4j.jwk.RsaJwkGenerator;
import org.jose4j.jws.JsonWebSignature;
import org.jose4j.jwt.JwtClaims;
import org.jose4j.jwt.NumericDate;
import org.jose4j.keys.EllipticCurves;
import org.jose4j.keys.HmacKey;
import org.jose4j.lang.JoseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which JWTs count, and for what; with keys drawn here and a clock that stands. */
class OidcTest {
  static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
  static final PublicJsonWebKey RSA = rsa("rsa1", 2048);
  private static final PublicJsonWebKey OTHER = rsa("other", 2048);
  private static final PublicJsonWebKey EC = ec("ec1");

  @TempDir private Path directory;
  private final AtomicLong millis = new AtomicLong();
  private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();

  static PublicJsonWebKey rsa(String id, int bits) {
    try {
      return named(RsaJwkGenerator.generateJwk(bits), id);
    } catch (JoseException e) {
      throw new IllegalStateException(e);
    }
  }

  static PublicJsonWebKey ec(String id) {
    try {
      return named(EcJwkGenerator.generateJwk(EllipticCurves.P256), id);
    } catch (JoseException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The same key under another id; under none if it is empty. */
  private static PublicJsonWebKey as(PublicJsonWebKey key, String id) {
    try {
      PublicJsonWebKey copy = PublicJsonWebKey.Factory.newPublicJwk(key.getPublicKey());
      copy.setPrivateKey(key.getPrivateKey());
      return id.isEmpty() ? copy : named(copy, id);
    } catch (JoseException e) {
      throw new IllegalStateException(e);
    }
  }

  private static PublicJsonWebKey named(PublicJsonWebKey key, String id) {
    key.setKeyId(id);
    return key;
  }

  /** Of a file of keys, fetched. */
  static Oidc oidc(Path directory, AtomicLong millis, SimpleMeterRegistry metrics, String jwks)
      throws IOException {
    return oidc(directory, millis, metrics, jwks, "");
  }

  /**
   * @param line more of the settings
   */
  static Oidc oidc(
      Path directory, AtomicLong millis, SimpleMeterRegistry metrics, String jwks, String line)
      throws IOException {
    Path keys = Issuer.write(directory.resolve("keys.json"), jwks);
    Path file =
        Issuer.write(
            directory.resolve("oidc.yaml"),
            """
            issuer: %s
            audience: [fairlead, other]
            jwks: %s
            leewaySeconds: 30
            %s
            roles:
              groups: {web-team: 'operator=web,shop', viewers: viewer}
              scope: {fairlead.admin: admin}
              realm_access.roles: {ops: operator}
              https://example.org/level: {chief: admin}
            """
                .formatted(Issuer.NAME, keys, line));
    OidcSettings settings = OidcSettings.read(file);
    OidcKeys source = new OidcKeys(settings, Runnable::run, millis::get, metrics);
    source.renew();
    return new Oidc(settings, source, () -> NOW, metrics);
  }

  private Oidc oidc(PublicJsonWebKey... keys) throws IOException {
    return oidc(directory, millis, metrics, Issuer.jwks(keys));
  }

  private static String token(Consumer<JwtClaims> change) {
    JwtClaims claims = Issuer.claims(NOW);
    change.accept(claims);
    return Issuer.sign(claims, RSA, "RS256");
  }

  private static String sentence(Oidc.Verdict verdict) {
    Oidc.Refused refused =
        verdict instanceof Oidc.Unknown unknown ? unknown.otherwise() : (Oidc.Refused) verdict;
    return refused.problem().detail();
  }

  private static String roles(Oidc.Verdict verdict) {
    return ((Oidc.Accepted) verdict).caller().roles();
  }

  @ParameterizedTest
  @ValueSource(strings = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
  void rsa(String algorithm) throws IOException {
    String token = Issuer.sign(Issuer.claims(NOW), RSA, algorithm);
    assertThat(roles(oidc(RSA, EC).check(token))).isEqualTo("operator=shop,web");
  }

  @Test
  void ellipticCurves() throws IOException, JoseException {
    PublicJsonWebKey ed =
        named(OkpJwkGenerator.generateJwk(OctetKeyPairJsonWebKey.SUBTYPE_ED25519), "ed");
    PublicJsonWebKey p521 = named(EcJwkGenerator.generateJwk(EllipticCurves.P521), "p521");
    Oidc oidc = oidc(RSA, EC, ed, p521);
    JwtClaims claims = Issuer.claims(NOW);
    assertThat(roles(oidc.check(Issuer.sign(claims, EC, "ES256")))).contains("web");
    assertThat(roles(oidc.check(Issuer.sign(claims, ed, "EdDSA")))).contains("web");
    assertThat(roles(oidc.check(Issuer.sign(claims, p521, "ES512")))).contains("web");
  }

  @Test
  void theCallerHasAPrefixSoThatNoTokenOfTheFileHasItsName() throws IOException {
    Oidc.Verdict verdict = oidc(RSA).check(token(claims -> {}));
    assertThat(((Oidc.Accepted) verdict).caller().name()).isEqualTo("oidc:ann");
  }

  @Test
  void claimsGiveRoles() throws IOException {
    Oidc oidc = oidc(RSA);
    assertThat(roles(oidc.check(token(c -> c.setStringListClaim("groups", "viewers", "web-team")))))
        .isEqualTo("operator=shop,web viewer");
    assertThat(roles(oidc.check(token(c -> c.setStringClaim("groups", "viewers")))))
        .isEqualTo("viewer");
    assertThat(
            roles(
                oidc.check(
                    token(
                        c -> {
                          c.unsetClaim("groups");
                          c.setStringClaim("scope", "openid fairlead.admin");
                        }))))
        .isEqualTo("admin");
    assertThat(
            roles(
                oidc.check(
                    token(
                        c -> {
                          c.unsetClaim("groups");
                          c.setClaim("realm_access", java.util.Map.of("roles", List.of("ops")));
                          c.setClaim("https://example.org/level", "chief");
                        }))))
        .isEqualTo("operator admin");
  }

  @Test
  void aTokenWithoutARoleIsForbidden() throws IOException {
    Oidc.Refused refused =
        (Oidc.Refused)
            oidc(RSA).check(token(c -> c.setStringListClaim("groups", "web", "web-team-2")));
    assertThat(refused.problem().status()).isEqualTo(403);
    assertThat(refused.problem().detail())
        .isEqualTo(
            "roles 'groups: web, web-team-2; https://example.org/level: ; realm_access.roles: ;"
                + " scope: ' is refused; allowed: a value to which --oidc gives a role, in groups,"
                + " https://example.org/level, realm_access.roles, scope");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "iss | https://evil.example.org | iss 'https://evil.example.org' is refused; allowed:"
            + " https://login.example.org/ops",
        "iss | | iss is missing; allowed: https://login.example.org/ops",
        "iss | https://login.example.org/ops/ | iss 'https://login.example.org/ops/' is refused",
        "aud | fairlead2 | aud 'fairlead2' is refused; allowed: fairlead, other",
        "aud | | aud is missing; allowed: fairlead, other",
        "sub | | sub is missing; allowed: a text",
        "sub | a b | name 'a b' is refused; allowed: in the claim sub 1..128 visible",
        "exp | | exp is missing; allowed: a time after now (2026-01-02T03:04:05Z, leeway 30 s)",
        "exp | soon | token 'it is malformed' is refused",
        "iat | 2000000000 | token 'it is malformed' is refused; allowed: claims of the types of RFC"
            + " 7519, iat and nbf before exp",
      })
  void claimsThatDoNotHold(String claim, String value, String sentence) throws IOException {
    String token =
        token(
            c ->
                Optional.ofNullable(value)
                    .ifPresentOrElse(
                        v -> c.setClaim(claim, v.matches("[0-9]+") ? Long.valueOf(v) : v),
                        () -> c.unsetClaim(claim)));
    assertThat(sentence(oidc(RSA).check(token))).startsWith(sentence);
  }

  /** To the second, on both sides of the leeway of 30 s. */
  @ParameterizedTest
  @CsvSource({
    "exp, -29, true",
    "exp, -30, false",
    "exp, -31, false",
    "exp, 1, true",
    "nbf, 30, true",
    "nbf, 31, false",
    "nbf, -1, true",
  })
  void timesHaveALeeway(String claim, int seconds, boolean isAccepted) throws IOException {
    Oidc.Verdict verdict =
        oidc(RSA)
            .check(
                token(
                    c ->
                        c.setNumericDateClaim(
                            claim, NumericDate.fromSeconds(NOW.getEpochSecond() + seconds))));
    assertThat(verdict instanceof Oidc.Accepted).isEqualTo(isAccepted);
    if (!isAccepted) {
      assertThat(sentence(verdict))
          .startsWith("%s '2026-01-02T03:0".formatted(claim))
          .contains("leeway 30 s");
    }
  }

  @Test
  void anotherKeyOfTheSameIdDoesNotSign() throws IOException {
    String forged = Issuer.sign(Issuer.claims(NOW), as(OTHER, "rsa1"), "RS256");
    assertThat(sentence(oidc(RSA).check(forged)))
        .isEqualTo(
            "signature 'it does not fit' is refused; allowed: that of the issuer's key which kid"
                + " names");
  }

  /** The public key as an HMAC key, unsigned tokens, and encrypted ones: the known attacks. */
  @Test
  void algorithmsAreAsymmetricOnes() throws IOException, JoseException {
    Oidc oidc = oidc(RSA);
    JsonWebSignature hmac = new JsonWebSignature();
    hmac.setPayload(Issuer.claims(NOW).toJson());
    hmac.setKey(new HmacKey(RSA.getPublicKey().getEncoded()));
    hmac.setAlgorithmHeaderValue("HS256");
    hmac.setKeyIdHeaderValue("rsa1");
    String allowed =
        "allowed: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA";
    assertThat(sentence(oidc.check(hmac.getCompactSerialization())))
        .isEqualTo("alg 'HS256' is refused; " + allowed);
    for (String none : List.of("none", "None", "NONE", "nOnE", "")) {
      String header = base64("{\"alg\":\"%s\",\"kid\":\"rsa1\"}".formatted(none));
      String payload = base64(Issuer.claims(NOW).toJson());
      for (String signature : List.of("", "AA", signatureOf(token(c -> {})))) {
        Oidc.Verdict verdict = oidc.check(header + "." + payload + "." + signature);
        assertThat(sentence(verdict)).isEqualTo("alg '%s' is refused; %s".formatted(none, allowed));
      }
    }
    String without = base64("{\"kid\":\"rsa1\"}") + "." + base64("{}") + ".AA";
    assertThat(sentence(oidc.check(without))).isEqualTo("alg is missing; " + allowed);
    JsonWebEncryption encrypted = new JsonWebEncryption();
    encrypted.setPayload(Issuer.claims(NOW).toJson());
    encrypted.setAlgorithmHeaderValue(KeyManagementAlgorithmIdentifiers.RSA_OAEP_256);
    encrypted.setEncryptionMethodHeaderParameter(ContentEncryptionAlgorithmIdentifiers.AES_128_GCM);
    encrypted.setKey(RSA.getPublicKey());
    encrypted.setKeyIdHeaderValue("rsa1");
    assertThat(Oidc.isJwt(encrypted.getCompactSerialization())).isFalse();
  }

  /** A key that comes with the token, by value or by address, is not used. */
  /** Of one signature in other forms of base64: the characters of a token are its own. */
  @ParameterizedTest
  @ValueSource(strings = {"=", "==", "!", " ", "\n", ".", ".e30"})
  void whatIsNoBase64urlIsRefused(String appended) throws IOException {
    String good = token(claims -> {});
    assertThat(oidc(RSA).check(good)).isInstanceOf(Oidc.Accepted.class);
    assertThat(sentence(oidc(RSA).check(good + appended)))
        .isEqualTo(
            "token 'it is malformed' is refused; allowed: a JWT of three parts in base64url");
    String signature = signatureOf(good).replace('-', '+').replace('_', '/');
    String other = good.substring(0, good.lastIndexOf('.') + 1) + signature;
    if (!other.equals(good)) {
      assertThat(oidc(RSA).check(other)).isInstanceOf(Oidc.Refused.class);
    }
  }

  @Test
  void keysInTheTokenCountForNothing() throws IOException, JoseException {
    PublicJsonWebKey mine = as(OTHER, "rsa1");
    JsonWebSignature jws = new JsonWebSignature();
    jws.setPayload(Issuer.claims(NOW).toJson());
    jws.setKey(mine.getPrivateKey());
    jws.setAlgorithmHeaderValue("RS256");
    jws.setKeyIdHeaderValue("rsa1");
    jws.setJwkHeader(mine);
    jws.setHeader("jku", "https://evil.example.org/keys");
    assertThat(sentence(oidc(RSA).check(jws.getCompactSerialization()))).startsWith("signature ");
    jws.setHeader("crit", List.of("jku"));
    assertThat(oidc(RSA).check(jws.getCompactSerialization())).isInstanceOf(Oidc.Refused.class);
  }

  /** A kid that is not there, one of another type or algorithm, and a token without one. */
  @Test
  void theKeyMustFitIdTypeAndAlgorithm() throws IOException, JoseException {
    PublicJsonWebKey bound = as(OTHER, "bound");
    bound.setAlgorithm("PS256");
    PublicJsonWebKey forEncryption = as(OTHER, "enc");
    forEncryption.setUse("enc");
    PublicJsonWebKey small = rsa("small", 1024);
    Oidc oidc = oidc(RSA, EC, bound, forEncryption, small);
    JwtClaims claims = Issuer.claims(NOW);
    assertThat(oidc.check(Issuer.sign(claims, bound, "PS256"))).isInstanceOf(Oidc.Accepted.class);
    List<String> unknown = new ArrayList<>();
    unknown.add(Issuer.sign(claims, bound, "RS256"));
    unknown.add(Issuer.sign(claims, forEncryption, "RS256"));
    unknown.add(Issuer.sign(claims, OTHER, "RS256"));
    unknown.add(Issuer.sign(claims, as(OTHER, "ec1"), "RS256"));
    unknown.add(Issuer.sign(claims, as(OTHER, "small"), "RS256"));
    unknown.add(
        Issuer.sign(
            claims, named(EcJwkGenerator.generateJwk(EllipticCurves.P384), "ec1"), "ES384"));
    for (String token : unknown) {
      assertThat(oidc.check(token)).isInstanceOf(Oidc.Unknown.class);
      assertThat(sentence(oidc.check(token)))
          .matches("kid '\\w+' is refused; allowed: a key for .*");
    }
  }

  /** Its key is the only one that fits. */
  @Test
  void aTokenWithoutAKid() throws IOException {
    String token = Issuer.sign(Issuer.claims(NOW), as(RSA, ""), "RS256");
    assertThat(oidc(RSA, EC).check(token)).isInstanceOf(Oidc.Accepted.class);
    assertThat(sentence(oidc(RSA, EC, OTHER).check(token)))
        .isEqualTo("kid is missing; allowed: the id of a single key for RS256");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "..",
        "a.b.c",
        "e30.e30.e30",
        "bnVsbA.e30.e30",
        "W10.e30.e30",
        "!.!.!",
        "eyJhbGciOjF9.e30.AA",
        "eyJhbGciOiJSUzI1NiIsImFsZyI6Im5vbmUifQ.e30.AA",
      })
  void whatIsNoJwt(String token) throws IOException {
    assertThat(oidc(RSA).check(token)).isInstanceOf(Oidc.Refused.class);
    assertThat(sentence(oidc(RSA).check(token))).matches("(token|alg) .*; allowed: .*");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "[]", "null", "1", "text", "{\"iss\":[]}", "{\"iss\":1,\"iss\":2}"})
  void aSignedPayloadOfSomethingElse(String payload) throws IOException, JoseException {
    JsonWebSignature jws = new JsonWebSignature();
    jws.setPayload(payload);
    jws.setKey(RSA.getPrivateKey());
    jws.setAlgorithmHeaderValue("RS256");
    jws.setKeyIdHeaderValue("rsa1");
    assertThat(oidc(RSA).check(jws.getCompactSerialization())).isInstanceOf(Oidc.Refused.class);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "issuer: | issuer '\"\"'",
        "issuer: 7 | issuer '7'",
        "audience: [] | audience '[]'",
        "audience: [a, 7] | audience '[\"a\",7]'",
        "jwks: http://login.example.org/keys | jwks 'http://login.example.org/keys' is refused",
        "jwks: https://a:b@login.example.org/ | jwks 'https://a:b@login.example.org/'",
        "jwks: keys.json | jwks 'keys.json'",
        "jwks: 'https:// x' | jwks 'https:// x'",
        "ca: /nowhere.pem | ca is given with a file of keys",
        "leewaySeconds: -1 | leewaySeconds '-1' is refused; allowed: 0..300",
        "leewaySeconds: 301 | leewaySeconds '301'",
        "leewaySeconds: 1.5 | leewaySeconds '1.5'",
        "name: [] | name '[]'",
        "roles: {} | roles gives no role",
        "roles: viewer | roles gives no role",
        "roles: {groups: {a: chief}} | roles.groups.a 'chief' is refused; allowed: viewer,"
            + " operator",
        "roles: {groups: {a: 'server=10.2.0.7'}} | roles.groups.a 'server=10.2.0.7'",
        "colour: red | the field 'colour' is refused; allowed: the fields audience, ca, issuer,",
        "issuer: {{ | line 1: ",
      })
  void settingsThatAreRefused(String line, String sentence) throws IOException {
    String field = line.substring(0, line.indexOf(':'));
    StringBuilder text = new StringBuilder(line + "\n");
    for (String good :
        List.of("issuer: a", "audience: b", "jwks: /keys", "roles: {groups: {a: viewer}}")) {
      text.append(good.startsWith(field + ":") ? "" : good + "\n");
    }
    Path file = Issuer.write(directory.resolve("oidc.yaml"), text.toString());
    assertThatThrownBy(() -> OidcSettings.read(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("--oidc '%s' is refused: ".formatted(file))
        .hasMessageContaining(sentence.replace(" is refused", ""))
        .hasMessageContaining("; allowed: ");
  }

  @Test
  void settingsThatOthersCanWriteAreRefused() throws IOException {
    Path file = Issuer.write(directory.resolve("oidc.yaml"), "issuer: a\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));
    assertThatThrownBy(() -> OidcSettings.read(file)).hasMessageContaining("its mode is rw-rw-r--");
    assertThatThrownBy(() -> OidcSettings.read(directory.resolve("none")))
        .hasMessageContaining("it cannot be read");
  }

  private static String base64(String text) {
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String signatureOf(String token) {
    return token.substring(token.lastIndexOf('.') + 1);
  }
}
