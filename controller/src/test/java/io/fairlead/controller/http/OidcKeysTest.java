// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jose4j.jwk.PublicJsonWebKey;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When keys are fetched from an HTTPS server, and what comes of bad answers. */
class OidcKeysTest {
  private static final PublicJsonWebKey FIRST = OidcTest.ec("first");
  private static final PublicJsonWebKey SECOND = OidcTest.ec("second");

  @TempDir private static Path directory;
  private static Issuer issuer;
  private final AtomicLong millis = new AtomicLong();
  private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();
  private OidcKeys keys;

  @BeforeAll
  static void open() {
    issuer = new Issuer(directory);
  }

  @AfterAll
  static void close() {
    issuer.close();
  }

  @BeforeEach
  void start() throws IOException {
    issuer.keys(FIRST);
    issuer.forget();
    keys = keys();
  }

  private OidcKeys keys() throws IOException {
    OidcSettings settings = OidcSettings.read(issuer.settings("groups: {web-team: operator}"));
    return new OidcKeys(settings, Runnable::run, millis::get, metrics);
  }

  private boolean knows(PublicJsonWebKey key) {
    return !keys.known().of(Optional.of(key.getKeyId())).isEmpty();
  }

  @Test
  void theFirstFetchIsAtOnceAndTheNextWhenKeysAreOld() {
    assertThat(keys.known().failure()).contains("they were not fetched yet");
    keys.renew();
    assertThat(knows(FIRST)).isTrue();
    millis.addAndGet(OidcKeys.AGE_MILLIS - 1);
    keys.renew();
    assertThat(issuer.fetches()).isEqualTo(1);
    issuer.keys(SECOND);
    millis.addAndGet(1);
    keys.renew();
    assertThat(knows(SECOND)).isTrue();
    assertThat(knows(FIRST)).as("a key that was withdrawn").isFalse();
  }

  @Test
  void unknownKeysAreFetchedOnceInAWhileHoweverManyAsk() {
    keys.renew();
    issuer.keys(FIRST, SECOND);
    for (int i = 0; i < 100; i++) {
      keys.more().join();
    }
    assertThat(issuer.fetches()).isEqualTo(1);
    millis.addAndGet(OidcKeys.PAUSE_MILLIS);
    for (int i = 0; i < 100; i++) {
      assertThat(keys.more().join().of(Optional.of("second"))).hasSize(1);
    }
    assertThat(issuer.fetches()).isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "500 | {} | the answer has status 500",
        "302 | {} | the answer has status 302",
        "200 | '' | this is no JWKS: ",
        "200 | {} | this is no JWKS: ",
        "200 | [] | this is no JWKS: ",
        "200 | {\"keys\":[]} | the JWKS has no public key that signs",
        "200 | {\"keys\":[{\"kty\":\"oct\",\"kid\":\"first\",\"k\":\"AAAA\"}]} | the JWKS has no",
        "200 | {\"keys\":7} | this is no JWKS: ",
      })
  void aBadAnswerChangesNothing(int status, String body, String why) {
    keys.renew();
    issuer.answer(status, body);
    millis.addAndGet(OidcKeys.AGE_MILLIS);
    keys.renew();
    assertThat(keys.known().failure().orElseThrow()).startsWith(why);
    assertThat(knows(FIRST)).isTrue();
    assertThat(metrics.counter("fairlead.controller.oidc.fetches", "result", "failed").count())
        .isEqualTo(1);
    issuer.keys(SECOND);
    millis.addAndGet(OidcKeys.PAUSE_MILLIS);
    keys.renew();
    assertThat(keys.known().failure()).as("sooner than after a good one").isEmpty();
    assertThat(knows(SECOND)).isTrue();
  }

  @Test
  void aLongAnswerIsCutOff() {
    issuer.answer(200, " ".repeat(2 << 20));
    keys.renew();
    assertThat(keys.known().failure()).contains("the answer has more than 1048576 bytes");
  }

  /** Every caller with an unknown key waited for it, for good. */
  @Test
  @Timeout(60)
  void anAnswerThatDoesNotEndIsCutOff() {
    keys.renew();
    issuer.slow();
    millis.addAndGet(OidcKeys.AGE_MILLIS);
    keys.renew();
    assertThat(keys.known().failure()).contains("the answer did not come whole within 5 s");
    assertThat(knows(FIRST)).isTrue();
    issuer.keys(SECOND);
    millis.addAndGet(OidcKeys.PAUSE_MILLIS);
    keys.renew();
    assertThat(knows(SECOND)).isTrue();
  }

  private static OidcSettings trusting(Path authority) throws IOException {
    OidcSettings settings = OidcSettings.read(issuer.settings("groups: {web-team: operator}"));
    return new OidcSettings(
        settings.file(),
        settings.issuer(),
        settings.audiences(),
        settings.keys(),
        Optional.of(authority),
        settings.types(),
        0,
        "sub",
        settings.rules());
  }

  @Test
  void aServerOfAnotherAuthorityIsNotTrusted() throws IOException {
    OidcSettings wrong = trusting(Certificate.make(directory, "another").pem());
    keys = new OidcKeys(wrong, Runnable::run, millis::get, metrics);
    keys.renew();
    assertThat(keys.known().failure().orElseThrow()).contains("certification path");
    assertThat(issuer.fetches()).isZero();
  }

  @Test
  void aFileWithoutAnAuthorityIsRefused() throws IOException {
    Path empty = Issuer.write(directory.resolve("empty.pem"), "");
    OidcSettings settings = trusting(empty);
    assertThatThrownBy(() -> new OidcKeys(settings, Runnable::run, millis::get, metrics))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "--oidc: ca '%s' is refused: it has no certificate; allowed: a file of certificates,"
                + " PEM",
            empty);
  }

  @Test
  void aFileOfKeysIsReadAnewToo() throws IOException {
    Oidc oidc = OidcTest.oidc(directory, millis, metrics, Issuer.jwks(FIRST));
    String token = Issuer.sign(Issuer.claims(OidcTest.NOW), SECOND, "ES256");
    assertThat(oidc.check(token)).isInstanceOf(Oidc.Unknown.class);
    Issuer.write(directory.resolve("keys.json"), Issuer.jwks(SECOND));
    millis.addAndGet(OidcKeys.PAUSE_MILLIS);
    oidc.refresh().join();
    assertThat(oidc.check(token)).isInstanceOf(Oidc.Accepted.class);
  }
}
