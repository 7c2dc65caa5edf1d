// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.net.PemKeyCertOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jose4j.jwk.JsonWebKeySet;
import org.jose4j.jwk.PublicJsonWebKey;
import org.jose4j.jws.JsonWebSignature;
import org.jose4j.jwt.JwtClaims;
import org.jose4j.jwt.NumericDate;
import org.jose4j.lang.JoseException;

/** An OIDC issuer for tests: an HTTPS server that gives a JWKS, and the settings that name it. */
final class Issuer implements AutoCloseable {
  static final String NAME = "https://login.example.org/ops";

  private final Path directory;
  private final Vertx vertx = Vertx.vertx();
  private final Certificate certificate;
  private final HttpServer server;
  private final AtomicInteger fetches = new AtomicInteger();
  private volatile String answer = "";
  private volatile int status = 200;
  private volatile boolean isSlow;

  Issuer(Path directory) {
    this.directory = directory;
    certificate = Certificate.make(directory, "issuer");
    PemKeyCertOptions keys =
        new PemKeyCertOptions()
            .setCertPath(certificate.pem().toString())
            .setKeyPath(certificate.key().toString());
    server =
        vertx
            .createHttpServer(new HttpServerOptions().setSsl(true).setKeyCertOptions(keys))
            .requestHandler(
                request -> {
                  fetches.incrementAndGet();
                  answer(request.response().setStatusCode(status));
                })
            .listen(0, "127.0.0.1")
            .toCompletionStage()
            .toCompletableFuture()
            .join();
  }

  private void answer(HttpServerResponse response) {
    if (isSlow) {
      long timer = vertx.setPeriodic(1, 100, tick -> response.write(" "));
      response.setChunked(true).closeHandler(gone -> vertx.cancelTimer(timer));
    } else {
      response.end(answer);
    }
  }

  /** From now on answers come byte by byte, and do not end. */
  void slow() {
    isSlow = true;
  }

  void forget() {
    fetches.set(0);
  }

  int fetches() {
    return fetches.get();
  }

  void answer(int nextStatus, String body) {
    status = nextStatus;
    isSlow = false;
    answer = body;
  }

  void keys(PublicJsonWebKey... keys) {
    answer(200, jwks(keys));
  }

  /** Without the private halves. */
  static String jwks(PublicJsonWebKey... keys) {
    return new JsonWebKeySet(List.of(keys)).toJson();
  }

  String url() {
    return "https://127.0.0.1:%d/keys".formatted(server.actualPort());
  }

  /**
   * @param roles lines below {@code roles:}
   */
  Path settings(String roles) throws IOException {
    return write(
        directory.resolve("oidc.yaml"),
        """
        issuer: %s
        audience: [fairlead, other]
        jwks: %s
        ca: %s
        leewaySeconds: 2
        roles:
        %s
        """
            .formatted(NAME, url(), certificate.pem(), roles.indent(2)));
  }

  static Path write(Path path, String text) throws IOException {
    Path next = Files.writeString(path.resolveSibling(path.getFileName() + ".next"), text);
    return Files.move(next, path, StandardCopyOption.REPLACE_EXISTING);
  }

  /** Good ones, for ten minutes. */
  static JwtClaims claims(Instant now) {
    JwtClaims claims = new JwtClaims();
    claims.setIssuer(NAME);
    claims.setAudience("fairlead");
    claims.setSubject("ann");
    claims.setIssuedAt(NumericDate.fromSeconds(now.getEpochSecond() - 60));
    claims.setExpirationTime(NumericDate.fromSeconds(now.getEpochSecond() + 600));
    claims.setStringListClaim("groups", "web-team", "staff");
    return claims;
  }

  /** An access token, as of RFC 9068. */
  static String sign(JwtClaims claims, PublicJsonWebKey key, String algorithm) {
    return sign("at+jwt", claims, key, algorithm);
  }

  /**
   * @param type in the header, null for none
   */
  static String sign(Object type, JwtClaims claims, PublicJsonWebKey key, String algorithm) {
    JsonWebSignature jws = new JsonWebSignature();
    jws.setPayload(claims.toJson());
    jws.setKey(key.getPrivateKey());
    jws.setAlgorithmHeaderValue(algorithm);
    if (type != null) {
      jws.setHeader("typ", type);
    }
    if (key.getKeyId() != null) {
      jws.setKeyIdHeaderValue(key.getKeyId());
    }
    try {
      return jws.getCompactSerialization();
    } catch (JoseException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    vertx.close().toCompletionStage().toCompletableFuture().join();
  }
}
