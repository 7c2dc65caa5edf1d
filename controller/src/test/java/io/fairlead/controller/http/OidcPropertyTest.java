// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.CharRange;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.StringLength;
import org.jose4j.jwk.PublicJsonWebKey;
import org.jose4j.jwt.JwtClaims;

/** No token that the issuer did not sign is accepted, and none makes the check fail. */
class OidcPropertyTest {
  private static final PublicJsonWebKey KEY = OidcTest.ec("ec1");
  private static final Oidc OIDC = oidc();
  private static final String GOOD = Issuer.sign(Issuer.claims(OidcTest.NOW), KEY, "ES256");

  private static Oidc oidc() {
    try {
      Path directory = Files.createTempDirectory("oidc");
      Oidc oidc =
          OidcTest.oidc(directory, new AtomicLong(), new SimpleMeterRegistry(), Issuer.jwks(KEY));
      for (String file : List.of("keys.json", "oidc.yaml")) {
        Files.delete(directory.resolve(file));
      }
      Files.delete(directory);
      return oidc;
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** What is signed are the characters. A signature's last one has bits that mean nothing. */
  @Property(tries = 2000)
  void aTokenWithOneOtherCharacterIsNotAccepted(
      @ForAll @IntRange(max = 2000) int at, @ForAll @CharRange(from = '!', to = '~') char put) {
    int index = at % GOOD.length();
    String token = GOOD.substring(0, index) + put + GOOD.substring(index + 1);
    if (OIDC.check(token) instanceof Oidc.Accepted && !token.equals(GOOD)) {
      int signature = GOOD.lastIndexOf('.') + 1;
      assertThat(index).isEqualTo(GOOD.length() - 1);
      assertThat(decoded(token.substring(signature))).isEqualTo(decoded(GOOD.substring(signature)));
    }
  }

  private static byte[] decoded(String base64) {
    return Base64.getUrlDecoder().decode(base64);
  }

  @Property(tries = 1000)
  void anythingIsAnswered(@ForAll @StringLength(max = 200) String text) {
    assertThat(OIDC.check(text)).isInstanceOf(Oidc.Refused.class);
    String encoded = Base64.getUrlEncoder().encodeToString(text.getBytes());
    assertThat(OIDC.check(encoded + ".e30.AA")).isInstanceOf(Oidc.Refused.class);
  }

  @Provide
  Arbitrary<Object> values() {
    Arbitrary<Object> simple =
        Arbitraries.oneOf(
            Arbitraries.strings().ofMaxLength(200).asGeneric(),
            Arbitraries.longs().asGeneric(),
            Arbitraries.doubles().asGeneric(),
            Arbitraries.of(true, false).asGeneric(),
            Arbitraries.of("web-team", "viewers", "fairlead.admin", "fairlead", Issuer.NAME)
                .asGeneric());
    return Arbitraries.oneOf(
        simple,
        simple.list().ofMaxSize(4).asGeneric(),
        Arbitraries.maps(Arbitraries.of("roles", "x", ""), simple).ofMaxSize(3).asGeneric());
  }

  /** Signed claims of any type: accepted only with what makes a token good. */
  @Property(tries = 1000)
  void claimsOfAnyType(
      @ForAll("names") String name, @ForAll("values") Object value, @ForAll("names") String gone) {
    JwtClaims claims = Issuer.claims(OidcTest.NOW);
    claims.setClaim(name, value);
    claims.unsetClaim(gone);
    Oidc.Verdict verdict = OIDC.check(Issuer.sign(claims, KEY, "ES256"));
    Map<String, Object> sent = claims.getClaimsMap();
    if (verdict instanceof Oidc.Accepted accepted) {
      assertThat(sent).containsKeys("iss", "aud", "exp", "sub");
      assertThat(sent.get("iss")).isEqualTo(Issuer.NAME);
      assertThat(accepted.caller().name()).matches("oidc:[!-~]{1,128}");
      assertThat(accepted.caller().grants()).isNotEmpty();
    } else {
      assertThat(((Oidc.Refused) verdict).problem().detail())
          .contains("; allowed: ")
          .matches("[ -~]*");
    }
  }

  @Provide
  Arbitrary<String> names() {
    return Arbitraries.of(
        "iss",
        "aud",
        "exp",
        "nbf",
        "iat",
        "sub",
        "jti",
        "typ",
        "groups",
        "scope",
        "realm_access",
        "x");
  }
}
