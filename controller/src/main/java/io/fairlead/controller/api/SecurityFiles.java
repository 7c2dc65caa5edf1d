// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import io.vertx.core.Vertx;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.ServerSSLOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the files of {@link Security} say, read again when one of them changes: a new certificate
 * serves the connections that come from then on, a token that is gone is refused from then on. What
 * cannot be read changes nothing, and the log says so.
 */
final class SecurityFiles {
  private static final Logger LOG = LoggerFactory.getLogger(SecurityFiles.class);
  private static final long LOOK_MILLIS = 2000;
  private static final Set<String> TLS_VERSIONS = Set.of("TLSv1.2", "TLSv1.3");

  private final Security security;
  private volatile Optional<Tokens> tokens;
  private List<FileTime> seen;

  /**
   * @throws IllegalArgumentException naming the file
   */
  SecurityFiles(Security security) {
    this.security = security;
    this.seen = times();
    this.tokens = security.tokens().map(Tokens::read);
  }

  Optional<Tokens> tokens() {
    return tokens;
  }

  void protect(HttpServerOptions options) {
    if (security.tls().isPresent()) {
      options.setSsl(true).setUseAlpn(false).setEnabledSecureTransportProtocols(TLS_VERSIONS);
      options.setKeyCertOptions(certificate());
      agents().ifPresent(trust -> options.setClientAuth(ClientAuth.REQUEST).setTrustOptions(trust));
    }
  }

  /** Starts to poll the files for changes. */
  void watch(Vertx vertx, HttpServer http) {
    vertx.setPeriodic(LOOK_MILLIS, timer -> vertx.executeBlocking(() -> look(http)));
  }

  private synchronized boolean look(HttpServer http) {
    List<FileTime> now = times();
    if (now.equals(seen)) {
      return false;
    }
    seen = now;
    try {
      tokens = security.tokens().map(Tokens::read);
    } catch (IllegalArgumentException e) {
      LOG.error("the tokens stay as they were: {}", e.getMessage());
    }
    if (security.tls().isPresent()) {
      ServerSSLOptions options = new ServerSSLOptions().setUseAlpn(false);
      options.setEnabledSecureTransportProtocols(TLS_VERSIONS).setKeyCertOptions(certificate());
      agents().ifPresent(trust -> options.setClientAuth(ClientAuth.REQUEST).setTrustOptions(trust));
      http.updateSSLOptions(options, true)
          .onSuccess(done -> LOG.info("the API's files are read again"))
          .onFailure(e -> LOG.error("the certificate stays as it was: {}", e.getMessage()));
    } else {
      LOG.info("the API's tokens are read again");
    }
    return true;
  }

  private PemKeyCertOptions certificate() {
    Security.Tls tls = security.tls().orElseThrow();
    return new PemKeyCertOptions()
        .setCertPath(tls.certificate().toString())
        .setKeyPath(tls.key().path().toString());
  }

  private Optional<PemTrustOptions> agents() {
    return security
        .tls()
        .flatMap(Security.Tls::agents)
        .map(path -> new PemTrustOptions().addCertPath(path.toString()));
  }

  private List<FileTime> times() {
    List<FileTime> times = new ArrayList<>();
    Stream.concat(
            security.tls().stream()
                .flatMap(
                    t ->
                        Stream.concat(
                            Stream.of(t.certificate(), t.key().path()), t.agents().stream())),
            security.tokens().stream().map(file -> file.path()))
        .forEach(path -> times.add(time(path)));
    return times;
  }

  private static FileTime time(Path path) {
    try {
      return Files.getLastModifiedTime(path);
    } catch (IOException e) {
      return FileTime.fromMillis(0); // between two versions of it
    }
  }
}
