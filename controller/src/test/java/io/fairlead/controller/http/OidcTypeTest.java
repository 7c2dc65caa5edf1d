// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jose4j.jwt.JwtClaims;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An issuer signs ID tokens, refresh tokens and more by the same keys: only access tokens count.
 */
class OidcTypeTest {
  @TempDir private Path directory;

  private Oidc oidc(String line) throws IOException {
    return OidcTest.oidc(
        directory,
        new AtomicLong(),
        new SimpleMeterRegistry(),
        Issuer.jwks(OidcTest.RSA),
        line == null ? "" : line);
  }

  private static String token(Object type, String... claims) {
    JwtClaims all = Issuer.claims(OidcTest.NOW);
    for (int i = 0; i < claims.length; i += 2) {
      all.setStringClaim(claims[i], claims[i + 1]);
    }
    return Issuer.sign(type, all, OidcTest.RSA, "RS256");
  }

  /**
   * @param sent empty for a token without the header
   * @param allowed in the refusal; empty: the token is accepted
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "               | at+jwt               |",
        "               | AT+JWT               |",
        "               | application/at+jwt   |",
        "               | application/AT+jwt   |",
        "               | JWT                  | at+jwt",
        "               |                      | at+jwt",
        "               | id+jwt               | at+jwt",
        "               | logout+jwt           | at+jwt",
        "               | secevent+jwt         | at+jwt",
        "               | dpop+jwt             | at+jwt",
        "               | at+jwt2              | at+jwt",
        "               | text/at+jwt          | at+jwt",
        "               | application/x/at+jwt | at+jwt",
        "typ: JWT       | JWT                  |",
        "typ: JWT       | application/jwt      |",
        "typ: JWT       | at+jwt               | jwt",
        "typ: [at+jwt, JWT] | at+jwt           |",
        "typ: [at+jwt, JWT] | jwt              |",
        "typ: [at+jwt, JWT] | logout+jwt       | at+jwt, jwt",
        "typ: [at+jwt, JWT] |                  | at+jwt, jwt",
        "typ: none      |                      |",
        "typ: none      | JWT                  | none",
        "typ: none      | none                 |",
      })
  void theHeaderSaysThatItIsAnAccessToken(String line, String sent, String allowed)
      throws IOException {
    Oidc.Verdict verdict = oidc(line).check(token(sent));
    if (allowed == null) {
      assertThat(verdict).isInstanceOf(Oidc.Accepted.class);
      return;
    }
    Problem problem = ((Oidc.Refused) verdict).problem();
    assertThat(problem.status()).isEqualTo(401);
    assertThat(problem.detail())
        .isEqualTo(
            "typ %s; allowed: %s, the typ of --oidc"
                .formatted(
                    sent == null ? "is missing" : "'%s' is refused".formatted(sent), allowed));
  }

  @Test
  void aHeaderThatIsNoText() throws IOException {
    for (Object odd : List.of(1, true, List.of("at+jwt"), Map.of("at+jwt", 1))) {
      assertThat(oidc(null).check(token(odd))).as("%s", odd).isInstanceOf(Oidc.Refused.class);
    }
  }

  /** Also where the header tells nothing, since the operator allows JWT. */
  @ParameterizedTest
  @CsvSource({
    "typ, Bearer, true",
    "typ, ID, false",
    "typ, Refresh, false",
    "typ, Offline, false",
    "typ, bearer, false",
    "at_hash, MTIzNDU2Nzg5MDEyMzQ1Ng, false",
    "c_hash, MTIzNDU2Nzg5MDEyMzQ1Ng, false",
    "nonce, n-0S6_WzA2Mj, true",
  })
  void claimsThatOtherTokensHave(String claim, String value, boolean isAccepted)
      throws IOException {
    for (String type : List.of("JWT", "at+jwt")) {
      Oidc.Verdict verdict = oidc("typ: [JWT, at+jwt]").check(token(type, claim, value));
      assertThat(verdict instanceof Oidc.Accepted).as(type).isEqualTo(isAccepted);
      if (!isAccepted) {
        Oidc.Refused refused = (Oidc.Refused) verdict;
        assertThat(refused.field()).isEqualTo("typ");
        assertThat(refused.problem().detail())
            .contains("with the claim %s".formatted(claim), "allowed: an access token");
      }
    }
  }

  /** A forged token learns nothing of what is allowed. */
  @Test
  void theSignatureIsCheckedFirst() throws IOException {
    String good = token("at+jwt");
    String bad = token("JWT");
    String mixed = bad.substring(0, bad.lastIndexOf('.')) + good.substring(good.lastIndexOf('.'));
    assertThat(((Oidc.Refused) oidc(null).check(mixed)).field()).isEqualTo("signature");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"typ: []", "typ: ''", "typ: 7", "typ: [JWT, 7]", "typ: {a: b}", "typ: 'a b'"})
  void settingsThatAreRefused(String line) {
    assertThatThrownBy(() -> oidc(line))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("is refused: typ ")
        .hasMessageContaining("; allowed: typ: at+jwt, JWT, none");
  }
}
