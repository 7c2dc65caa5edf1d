// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.leader.MemoryController;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jose4j.jwk.PublicJsonWebKey;
import org.jose4j.jwt.JwtClaims;
import org.jose4j.jwt.NumericDate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The API for callers with JWTs, whose keys come from an HTTPS server. */
class OidcAccessTest {
  @AutoClose private final MemoryController controller = new MemoryController();
  private static final PublicJsonWebKey FIRST = OidcTest.ec("first");
  private static final PublicJsonWebKey SECOND = OidcTest.ec("second");
  private static final String ROLES = "groups: {web-team: operator=web, staff: viewer}";
  private static final String WEB =
      "{\"vips\":[\"::9\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}";

  @TempDir private static Path directory;
  private static Issuer issuer;

  private final PrometheusMeterRegistry metrics =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

  @BeforeAll
  static void open() {
    issuer = new Issuer(directory);
  }

  @AfterAll
  static void close() {
    issuer.close();
  }

  @BeforeEach
  void start() {
    issuer.keys(FIRST);
    issuer.forget();
  }

  private ApiServer serve(String roles) throws IOException {
    return controller.serve(
        new Security(
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.of(issuer.settings(roles)),
            true),
        List.of(),
        metrics);
  }

  private static Reply send(
      ApiClient client, String token, String method, String path, String body) {
    return client.send(
        method,
        path,
        body.isEmpty() ? "" : "application/json",
        body,
        "Authorization",
        "Bearer " + token);
  }

  private static String token(PublicJsonWebKey key) {
    return Issuer.sign(Issuer.claims(Instant.now()), key, "ES256");
  }

  @Test
  void aJwtHasTheRolesOfItsClaimsAndItsNameIsRecorded() throws IOException {
    try (ApiServer server = serve(ROLES)) {
      ApiClient client = new ApiClient(server.listen());
      Reply anonymous = client.get("/v1/services");
      assertThat(anonymous.status()).isEqualTo(401);
      assertThat(anonymous.json().getString("allowed"))
          .isEqualTo("Bearer and a JWT of " + Issuer.NAME);
      String token = token(FIRST);
      assertThat(send(client, token, "GET", "/v1/services", "").status()).isEqualTo(200);
      Reply refused = send(client, token, "PUT", "/v1/services/web", WEB);
      assertThat(refused.status()).isEqualTo(403);
      assertThat(refused.json().getString("detail"))
          .isEqualTo("role 'operator=web viewer' is refused; allowed: admin");
      assertThat(send(client, token, "DELETE", "/v1/services/web/backends/1", "").status())
          .isEqualTo(404);
      assertThat(send(client, token, "DELETE", "/v1/services/api/backends/1", "").status())
          .isEqualTo(403);
      String id = Issuer.sign("JWT", Issuer.claims(Instant.now()), FIRST, "ES256");
      Reply idToken = send(client, id, "GET", "/v1/services", "");
      assertThat(idToken.status()).isEqualTo(401);
      assertThat(idToken.json().getString("field")).isEqualTo("typ");
      JwtClaims old = Issuer.claims(Instant.now().minusSeconds(700));
      Reply expired = send(client, Issuer.sign(old, FIRST, "ES256"), "GET", "/v1/services", "");
      assertThat(expired.status()).isEqualTo(401);
      assertThat(expired.header("WWW-Authenticate")).startsWith("Bearer");
      assertThat(expired.json().getString("field")).isEqualTo("exp");
      assertThat(metrics.counter("fairlead.controller.oidc.tokens", "result", "exp").count())
          .isEqualTo(1);
    }
  }

  /** Meanwhile a stream ends with its token, at the next heartbeat. */
  @Test
  void newSettingsCountWithoutARestart() throws IOException {
    JwtClaims claims = Issuer.claims(Instant.now());
    claims.setExpirationTime(NumericDate.fromSeconds(Instant.now().getEpochSecond() + 4));
    String brief = Issuer.sign(claims, FIRST, "ES256");
    try (ApiServer server = serve(ROLES);
        Stream stream = new Stream(server.listen(), brief)) {
      assertThat(stream.status()).isEqualTo("HTTP/1.1 200 OK");
      ApiClient client = new ApiClient(server.listen());
      String token = token(FIRST);
      assertThat(send(client, token, "PUT", "/v1/services/web", WEB).status()).isEqualTo(403);
      issuer.settings("groups: {web-team: admin=web}");
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> send(client, token, "PUT", "/v1/services/web", WEB).status() == 201);
      Reply audit = send(client, token, "GET", "/v1/audit", "");
      assertThat(audit.status()).isEqualTo(403);
      Issuer.write(directory.resolve("oidc.yaml"), "issuer: [");
      stream.readToItsEnd(Duration.ofSeconds(40));
      assertThat(send(client, token, "GET", "/v1/services", "").status())
          .as("broken settings change nothing")
          .isEqualTo(200);
    }
  }

  /** Requests with a body wait for the key, and go on with it. */
  @Test
  void anUnknownKeyIsFetchedWhileTheRequestWaits() throws IOException {
    issuer.answer(500, "");
    try (ApiServer server = serve("groups: {web-team: admin}")) {
      ApiClient client = new ApiClient(server.listen());
      await().until(() -> issuer.fetches() == 1);
      Reply early = send(client, token(FIRST), "PUT", "/v1/services/web", WEB);
      assertThat(early.status()).isEqualTo(503);
      assertThat(early.json().getString("detail"))
          .isEqualTo(
              "jwks: %s: the answer has status 500; allowed: to try again, when the issuer's keys can be"
                      .formatted(issuer.url())
                  + " fetched");
      issuer.keys(FIRST, SECOND);
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> send(client, token(SECOND), "PUT", "/v1/services/web", WEB).status() == 201);
      assertThat(issuer.fetches()).isEqualTo(2);
    }
  }
}
