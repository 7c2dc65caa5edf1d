// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.micrometer.core.instrument.MeterRegistry;
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
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
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
  private static final long FETCHER_SECONDS = 10;
  private static final Set<String> TLS_VERSIONS = Set.of("TLSv1.2", "TLSv1.3");

  private final Security security;
  private final MeterRegistry metrics;

  /** Fetches an issuer's keys, one fetch at a time. */
  private final ThreadPoolExecutor fetcher =
      new ThreadPoolExecutor(
          1,
          1,
          FETCHER_SECONDS,
          TimeUnit.SECONDS,
          new LinkedBlockingQueue<>(),
          SecurityFiles::thread);

  private volatile Callers callers;

  @GuardedBy("this")
  private List<Path> watched;

  @GuardedBy("this")
  private List<FileTime> seen;

  /**
   * @throws IllegalArgumentException naming the file
   */
  SecurityFiles(Security security, MeterRegistry metrics) {
    this.security = security;
    this.metrics = metrics;
    fetcher.allowCoreThreadTimeOut(true);
    this.watched =
        paths(security.oidc().map(OidcSettings::read).stream().flatMap(OidcSettings::files));
    this.seen = times(watched);
    this.callers = new Callers(security.tokens().map(Tokens::read), issuer(Optional.empty()));
  }

  Callers callers() {
    return callers;
  }

  private Optional<Oidc> issuer(Optional<Oidc> before) {
    Optional<Oidc> issuer =
        security.oidc().map(path -> Oidc.of(OidcSettings.read(path), fetcher, before, metrics));
    issuer.ifPresent(Oidc::renew);
    return issuer;
  }

  private static Thread thread(Runnable run) {
    Thread thread = new Thread(run, "oidc");
    thread.setDaemon(true);
    return thread;
  }

  void protect(HttpServerOptions options) {
    if (security.tls().isPresent()) {
      options.setSsl(true).setUseAlpn(false).setEnabledSecureTransportProtocols(TLS_VERSIONS);
      options.setKeyCertOptions(certificate());
      agents().ifPresent(trust -> options.setClientAuth(ClientAuth.REQUEST).setTrustOptions(trust));
    }
  }

  /** Starts to poll the files for changes; returns the timer, to be stopped before the threads. */
  long watch(Vertx vertx, HttpServer http) {
    return vertx.setPeriodic(LOOK_MILLIS, timer -> vertx.executeBlocking(() -> look(http)));
  }

  private synchronized boolean look(HttpServer http) {
    callers.oidc().ifPresent(Oidc::renew);
    List<FileTime> now = times(watched);
    if (now.equals(seen)) {
      return false;
    }
    seen = now;
    try {
      callers = new Callers(security.tokens().map(Tokens::read), issuer(callers.oidc()));
      List<Path> next = paths(callers.oidc().stream().flatMap(Oidc::files));
      if (!next.equals(watched)) {
        watched = next;
        seen = times(next);
      }
    } catch (IllegalArgumentException e) {
      LOG.error("who may call stays as it was: {}", e.getMessage());
    }
    if (security.tls().isPresent()) {
      ServerSSLOptions options = new ServerSSLOptions().setUseAlpn(false);
      options.setEnabledSecureTransportProtocols(TLS_VERSIONS).setKeyCertOptions(certificate());
      agents().ifPresent(trust -> options.setClientAuth(ClientAuth.REQUEST).setTrustOptions(trust));
      http.updateSSLOptions(options, true)
          .onSuccess(done -> LOG.info("the API's files are read again"))
          .onFailure(e -> LOG.error("the certificate stays as it was: {}", e.getMessage()));
    } else {
      LOG.info("who may call the API is read again");
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

  private List<Path> paths(Stream<Path> ofIssuer) {
    List<Path> paths = new ArrayList<>();
    for (Security.Tls tls : security.tls().stream().toList()) {
      paths.add(tls.certificate());
      paths.add(tls.key().path());
      tls.agents().ifPresent(paths::add);
    }
    security.tokens().ifPresent(file -> paths.add(file.path()));
    ofIssuer.forEach(paths::add);
    return paths;
  }

  private static List<FileTime> times(List<Path> paths) {
    return paths.stream().map(SecurityFiles::time).toList();
  }

  private static FileTime time(Path path) {
    try {
      return Files.getLastModifiedTime(path);
    } catch (IOException e) {
      return FileTime.fromMillis(0); // between two versions of it
    }
  }
}
