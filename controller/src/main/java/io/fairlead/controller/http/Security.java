// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.secret.SecretFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * How the API is protected.
 *
 * @param tls certificate and key of the API; without it is plain HTTP
 * @param authorities who signs the other controllers' certificates; the system's if empty
 * @param tokens see {@link Tokens}; without it and {@code oidc} every caller may do everything
 * @param oidc see {@link OidcSettings}
 * @param isTreeProtected whether ZooKeeper lets only who has a login write the nodes that name
 *     controllers and muxes
 * @param isTreePrivate whether what is said to ZooKeeper stays on this machine, or goes by TLS
 * @param hosts see {@link HostNames}; besides the one on which it listens
 */
public record Security(
    Optional<Tls> tls,
    Optional<Path> authorities,
    Optional<SecretFile> tokens,
    Optional<Path> oidc,
    boolean isTreeProtected,
    boolean isTreePrivate,
    List<String> hosts) {
  public static final Security NONE =
      new Security(Optional.empty(), Optional.empty(), Optional.empty(), false);

  /** Without other hosts. */
  public Security(
      Optional<Tls> tls,
      Optional<Path> authorities,
      Optional<SecretFile> tokens,
      Optional<Path> oidc,
      boolean isTreeProtected) {
    this(tls, authorities, tokens, oidc, isTreeProtected, true, List.of());
  }

  /** Without an OIDC issuer. */
  public Security(
      Optional<Tls> tls,
      Optional<Path> authorities,
      Optional<SecretFile> tokens,
      boolean isTreeProtected) {
    this(tls, authorities, tokens, Optional.empty(), isTreeProtected);
  }

  /**
   * @param certificate PEM, the server's first, then those that lead to the authority
   * @param agents who signs the certificates of agents; without it clients are asked for none
   */
  public record Tls(Path certificate, SecretFile key, Optional<Path> agents) {
    public Tls(Path certificate, SecretFile key) {
      this(certificate, key, Optional.empty());
    }
  }

  public Security with(List<String> newHosts) {
    return new Security(tls, authorities, tokens, oidc, isTreeProtected, isTreePrivate, newHosts);
  }

  public Security withPrivateTree(boolean isPrivate) {
    return new Security(tls, authorities, tokens, oidc, isTreeProtected, isPrivate, hosts);
  }

  /** Whether every caller may do everything. */
  public boolean isOpen() {
    return tokens.isEmpty() && oidc.isEmpty();
  }

  /**
   * @throws IllegalArgumentException naming the option of a file that is not there, or of a host
   */
  public Security {
    tls.ifPresent(
        files -> {
          checkReadable("--tls-cert", files.certificate());
          files.key().check();
          files.agents().ifPresent(path -> checkReadable("--tls-agents-ca", path));
        });
    authorities.ifPresent(path -> checkReadable("--tls-ca", path));
    hosts.forEach(host -> HostNames.check("--allowed-host", host));
    hosts = List.copyOf(hosts);
  }

  private static void checkReadable(String option, Path path) {
    if (!Files.isRegularFile(path) || !Files.isReadable(path)) {
      throw new IllegalArgumentException(
          "%s '%s' is refused: it cannot be read; allowed: a PEM file".formatted(option, path));
    }
  }
}
