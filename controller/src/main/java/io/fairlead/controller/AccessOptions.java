// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.secret.SecretFile;
import io.fairlead.controller.secret.SecretsFolder;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.zookeeper.ZooKeeperAccess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Option;

/**
 * Who may call, and who may read and write the tree in ZooKeeper: those whom the flags' files name,
 * else who has the secrets that the controller draws at its first start, unless it is to be open.
 */
final class AccessOptions {
  private static final Logger LOG = LoggerFactory.getLogger(AccessOptions.class);

  @Option(
      names = "--tokens",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_TOKENS}",
      description =
          "Who may call: lines NAME ROLE sha256:DIGEST, the role viewer, operator, admin,"
              + " operator=SERVICE[,SERVICE], admin=SERVICE[,SERVICE] or"
              + " server=ADDRESS[,ADDRESS]. Read again when it changes")
  private Path tokens;

  @Option(
      names = "--oidc",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_OIDC}",
      description =
          "Who may call by JWTs of an OIDC issuer, YAML: issuer, audience, jwks, roles. Read again"
              + " when it changes")
  private Path oidc;

  @Option(
      names = "--zookeeper-auth",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_ZOOKEEPER_AUTH}",
      description = "Lines USER:PASSWORD, first the controllers', then the readers'")
  private Path zookeeperAuth;

  @Option(
      names = SecretsFolder.OPTION,
      paramLabel = "DIR",
      defaultValue = "${env:" + SecretsFolder.VARIABLE + "}",
      description =
          "Where the controller, at its first start, creates an admin token and ZooKeeper logins if"
              + " --tokens and --zookeeper-auth are not given. Default:"
              + " secrets in systemd's state folder, /var/lib/fairlead/controller/secrets as root,"
              + " else ~/.local/state/fairlead")
  private Path secrets;

  @Option(
      names = "--open",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_OPEN:-false}",
      description =
          "Every caller may do everything, and so may every client of ZooKeeper unless there is"
              + " --zookeeper-auth. Only with ports on loopback")
  private boolean isOpen;

  @Option(
      names = "--open-to-network",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_OPEN_TO_NETWORK:-false}",
      description = "Like --open, but ports need not be on loopback")
  private boolean isOpenToNetwork;

  private List<Path> drawn = List.of();
  private boolean isKept;

  /**
   * @param zookeeper where the embedded server listens
   * @throws IllegalArgumentException naming flags that do not go together
   */
  void check(Endpoint listen, Optional<Endpoint> zookeeper) {
    if (isOpen && (tokens != null || oidc != null)) {
      throw new IllegalArgumentException(
          "--open is given with %s; allowed: one of them"
              .formatted(tokens == null ? "--oidc" : "--tokens"));
    }
    if (isOpenToNetwork && !isOpen) {
      throw new IllegalArgumentException(
          "--open-to-network is given without --open; allowed: both, or none");
    }
    if (isOpen && !isOpenToNetwork) {
      checkLoopback("--listen", listen);
      if (zookeeperAuth == null) {
        zookeeper.ifPresent(endpoint -> checkLoopback("--zookeeper-listen", endpoint));
      }
    }
  }

  private static void checkLoopback(String flag, Endpoint endpoint) {
    InetAddress address = new InetSocketAddress(endpoint.host(), endpoint.port()).getAddress();
    if (address == null || !address.isLoopbackAddress()) {
      throw new IllegalArgumentException(
          "%s '%s' is refused with --open; allowed: a loopback address, or --open-to-network to let everyone who can reach it do everything"
              .formatted(flag, endpoint));
    }
  }

  /**
   * Draws what is missing.
   *
   * @param isApi whether the API will be served
   */
  void draw(boolean isApi) throws IOException {
    if (isOpen) {
      LOG.warn(
          "--open: everyone who reaches the API may do everything{}",
          zookeeperAuth == null ? ", and so may everyone who reaches ZooKeeper" : "");
    } else {
      drawn = folder().draw(isApi && hasOwnTokens(), zookeeperAuth == null);
    }
  }

  /**
   * From now on what was drawn may be in use.
   *
   * @return a line about it, if anything was
   */
  Optional<String> keep() {
    isKept = true;
    return drawn.isEmpty()
        ? Optional.empty()
        : Optional.of(
            "fairlead-controller made secrets in %s: %s%s"
                .formatted(
                    folder().path(),
                    drawn.stream()
                        .map(path -> path.getFileName().toString())
                        .collect(Collectors.joining(", ")),
                    drawn.contains(folder().adminToken().path())
                        ? "; fairleadctl finds the token there"
                        : ""));
  }

  /** Removes what this start has drawn and not used. */
  void discard() {
    if (!isKept) {
      drawn.forEach(file -> file.toFile().delete());
    }
  }

  Optional<SecretFile> tokens() {
    return hasOwnTokens()
        ? Optional.of(folder().tokens())
        : Optional.ofNullable(tokens).map(path -> new SecretFile("--tokens", path));
  }

  Optional<Path> oidc() {
    return Optional.ofNullable(oidc);
  }

  Optional<ZooKeeperAccess> zookeeper() {
    Optional<SecretFile> given =
        Optional.ofNullable(zookeeperAuth).map(path -> new SecretFile("--zookeeper-auth", path));
    return (isOpen ? given : given.or(() -> Optional.of(folder().logins())))
        .map(ZooKeeperAccess::read);
  }

  /** Whether the tree is protected. */
  boolean hasLogins() {
    return !isOpen || zookeeperAuth != null;
  }

  /** Whether the logins may be set on a tree that was open: only if they were given for that. */
  boolean protectsOpen() {
    return zookeeperAuth != null;
  }

  /** Lets fairleadctl on this host find the API with its token. */
  void serves(String scheme, Endpoint listen, Optional<Endpoint> advertised) throws IOException {
    if (!hasOwnTokens()) {
      return;
    }
    InetAddress address = new InetSocketAddress(listen.host(), listen.port()).getAddress();
    Set<String> hosts = new LinkedHashSet<>();
    if (address.isAnyLocalAddress()) {
      hosts.add("127.0.0.1");
    } else {
      hosts.add(listen.host());
    }
    advertised.ifPresent(other -> hosts.add(other.host()));
    if (address.isAnyLocalAddress() || address.isLoopbackAddress()) {
      hosts.add("localhost");
    }
    folder().name(hosts.stream().map(host -> scheme + new Endpoint(host, listen.port())).toList());
  }

  /** What to do about a tree that is not this controller's, in which nothing was used. */
  String advice(StoreException.NotOurs refusal) {
    isKept = false;
    String file = zookeeperAuth == null ? folder().logins().path().toString() : "" + zookeeperAuth;
    return refusal.getMessage()
        + switch (refusal.why()) {
          case OTHER_LOGINS ->
              isOpen && zookeeperAuth == null
                  ? "; allowed: --zookeeper-auth in place of --open"
                  : zookeeperAuth == null
                      ? " than those of %s; allowed: a copy of the folder %s of another controller of this cluster"
                          .formatted(file, folder().path())
                      : " than those of %s; allowed: the file of the other controllers of this cluster"
                          .formatted(file);
          case OPEN ->
              "; allowed: --zookeeper-auth with logins that all muxes and probes have, to protect"
                  + " it, or --open to leave it so";
        };
  }

  private boolean hasOwnTokens() {
    return !isOpen && tokens == null && oidc == null;
  }

  private SecretsFolder folder() {
    return secrets == null
        ? SecretsFolder.ofController(System.getenv())
        : new SecretsFolder(secrets);
  }
}
