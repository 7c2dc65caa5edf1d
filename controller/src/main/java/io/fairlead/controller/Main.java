// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.cli.Version;
import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Security;
import io.fairlead.controller.leader.ControllerOptions;
import io.fairlead.controller.leader.FairleadController;
import io.fairlead.controller.resources.inspect.MuxAccess;
import io.fairlead.controller.resources.plane.Health;
import io.fairlead.controller.secret.SecretFile;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.repository.Backup;
import io.fairlead.controller.store.zookeeper.ZooKeeperAddress;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import io.fairlead.controller.store.zookeeper.ZooKeeperTls;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code fairlead-controller}: reads its flags, opens the control plane and the API, and waits. */
@Command(
    name = "fairlead-controller",
    description =
        "Controls a Fairlead cluster: keeps its services in ZooKeeper and serves the API.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairlead-controller --zookeeper embedded:/var/lib/fairlead",
      "  fairlead-controller --zookeeper zk1:2281,zk2:2281 --zookeeper-tls-ca ca.pem \\",
      "    --listen 10.1.0.5:8080 --tls-cert controller.pem --tls-key controller.key",
      "",
      "Every flag can be set in the environment as FAIRLEAD_CONTROLLER_<NAME>, with",
      "underscores for dashes; the flag wins. Without --tokens and --oidc the",
      "controller creates an admin token at its first start. fairleadctl finds it",
      "on the same host."
    },
    versionProvider = Version.class,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"1:could not start", "2:bad usage", "143:stopped by SIGTERM"})
public class Main implements Callable<Integer> {
  private static final String ROOT = "/fairlead";
  private static final Duration LEADER_POLL = Duration.ofMillis(100);
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** Java's own are 30 s and, of a name that is not known, 10 s. */
  private static final String NAME_SECONDS = "1";

  @Option(
      names = "--zookeeper",
      required = true,
      paramLabel = "WHERE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_ZOOKEEPER}",
      description =
          "ZooKeeper's servers, HOST:PORT,...; or embedded:DIR to run one in this process, with its"
              + " data in DIR")
  private String zookeeper;

  @Option(
      names = "--listen",
      paramLabel = "HOST:PORT",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_LISTEN:-127.0.0.1:8080}",
      description = "Address of the API. Default: 127.0.0.1:8080")
  private String listen;

  @Option(
      names = "--advertise",
      paramLabel = "HOST:PORT",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_ADVERTISE}",
      description = "Address at which other controllers reach this API. Default: that of --listen")
  private String advertise;

  @Option(
      names = "--allowed-host",
      paramLabel = "NAME",
      split = ",",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_ALLOWED_HOST}",
      description =
          "Accept this name in the Host header too, for a proxy or translated address. Only"
              + " --listen's and --advertise's are accepted otherwise. May be repeated")
  private List<String> allowedHosts = List.of();

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_TLS_CERT}",
      description = "The API's certificate, PEM; with --tls-key. Read again when it changes")
  private Path tlsCertificate;

  @Option(
      names = "--tls-key",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_TLS_KEY}",
      description = "The certificate's key, PEM (PKCS #8); only this user may be able to read it")
  private Path tlsKey;

  @Option(
      names = "--tls-ca",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_TLS_CA}",
      description = "Certificate authorities of the other controllers, PEM. Default: the system's")
  private Path tlsAuthorities;

  @Option(
      names = "--tls-agents-ca",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_TLS_AGENTS_CA}",
      description =
          "Certificate authorities of agents on servers, PEM; with --tls-cert. Without it agents"
              + " need tokens")
  private Path tlsAgents;

  @CommandLine.Mixin private AccessOptions access;

  @CommandLine.Mixin private ClearTextOptions clearText;

  @Option(
      names = "--zookeeper-tls-ca",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_ZOOKEEPER_TLS_CA}",
      description = "Use TLS to ZooKeeper: certificate authorities of its servers, PEM")
  private Path zookeeperTlsAuthorities;

  @Option(
      names = "--zookeeper-tls-identity",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_ZOOKEEPER_TLS_IDENTITY}",
      description =
          "Certificate for ZooKeeper servers that require one: key (PKCS #8) and certificates, PEM,"
              + " in one file that only this user can read")
  private Path zookeeperTlsIdentity;

  @Option(
      names = "--muxes-token",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_MUXES_TOKEN}",
      description =
          "Token to read from muxes that use TLS, one of their --http-tokens; with" + " --muxes-ca")
  private Path muxesToken;

  @Option(
      names = "--muxes-ca",
      paramLabel = "FILE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_MUXES_CA}",
      description =
          "Certificate authorities of muxes, PEM. Default, without --muxes-token: the system's")
  private Path muxesAuthorities;

  @Option(
      names = "--clock-check",
      paramLabel = "on|off",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_CLOCK_CHECK:-on}",
      description =
          "off: commit even if this clock and ZooKeeper's differ. For fault runs only. Default:"
              + " on")
  private String clockCheck;

  @Option(
      names = "--arrays-wait",
      paramLabel = "on|off",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_ARRAYS_WAIT:-on}",
      description =
          "off: commit arrays of steering othello without waiting for agents and muxes. For fault"
              + " runs only. Default: on")
  private String arraysWait;

  @Option(
      names = "--restore",
      paramLabel = "FILE",
      description =
          "Restore the cluster from a backup, then exit. ZooKeeper must have no services, and no"
              + " controller may run")
  private Path restore;

  @Option(
      names = "--without-mux",
      paramLabel = "ID",
      description =
          "With --restore: do not restore this mux, whatever it reports; may be" + " repeated")
  private Set<String> withoutMuxes = Set.of();

  @Option(
      names = "--zookeeper-listen",
      paramLabel = "HOST:PORT",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_ZOOKEEPER_LISTEN:-127.0.0.1:2181}",
      description = "Client port of the embedded ZooKeeper. Default: 127.0.0.1:2181")
  private String zookeeperListen;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean isHelpAsked;

  @Option(names = "--version", versionHelp = true, description = "Show the version.")
  private boolean isVersionAsked;

  @CommandLine.Spec private CommandLine.Model.CommandSpec spec;

  private MuxAccess muxes = MuxAccess.NONE;

  Main() {}

  /** What the API serves. Tests break some of it; no flag does. */
  List<Resource> resources(FairleadController controller) {
    return Resources.of(controller, controller.plane(), muxes);
  }

  /** The store that elects and writes; as {@link #resources}. */
  Store writing(Store store) {
    return store;
  }

  /** Of everything that it commits; as {@link #resources}. */
  InstantSource clock() {
    return InstantSource.system();
  }

  /** ZooKeeper prints what it purges to standard output, which is for our own lines. */
  public static void main(String[] args) {
    PrintWriter out = new PrintWriter(System.out, true);
    System.setOut(System.err);
    System.exit(commandLine().setOut(out).execute(args));
  }

  static CommandLine commandLine() {
    return commandLine(new Main());
  }

  static CommandLine commandLine(Main main) {
    return new CommandLine(main)
        .setUsageHelpAutoWidth(true)
        .setParameterExceptionHandler(
            (e, args) -> {
              e.getCommandLine().getErr().println("fairlead-controller: " + e.getMessage());
              return CommandLine.ExitCode.USAGE;
            });
  }

  @Override
  public Integer call() throws InterruptedException {
    // A name is looked up for a new connection alone, and then its address may have changed.
    java.security.Security.setProperty("networkaddress.cache.ttl", NAME_SECONDS);
    java.security.Security.setProperty("networkaddress.cache.negative.ttl", NAME_SECONDS);
    try {
      Endpoint client = Endpoint.parse("--zookeeper-listen", zookeeperListen);
      Endpoint endpoint = Endpoint.parse("--listen", listen);
      Optional<Endpoint> others =
          Optional.ofNullable(advertise)
              .map(text -> Endpoint.parse("--advertise", text))
              .or(() -> wildcard(endpoint));
      access.check(
          endpoint, zookeeper.startsWith("embedded:") ? Optional.of(client) : Optional.empty());
      Security security =
          security()
              .with(hosts(others))
              .withPrivateTree(
                  zookeeperTlsAuthorities != null
                      || ZooKeeperAddress.parse(zookeeper).isLoopback(client));
      clearText.check(zookeeper, client, endpoint, security);
      muxes = muxAccess();
      access.draw(restore == null);
      return run(client, endpoint, others, security);
    } catch (IllegalArgumentException e) {
      access.discard();
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    } catch (StoreException.NotOurs e) {
      spec.commandLine().getErr().println("fairlead-controller: " + access.advice(e));
      access.discard();
      return 1;
    } catch (IOException | StoreException e) {
      access.discard();
      spec.commandLine().getErr().println("fairlead-controller: " + e.getMessage());
      return 1;
    }
  }

  private int run(Endpoint client, Endpoint endpoint, Optional<Endpoint> others, Security security)
      throws IOException, InterruptedException, StoreException {
    Backup backup = restore == null ? null : Backup.read(restore).without(withoutMuxes);
    ControllerOptions options =
        ControllerOptions.of(
                zookeeper,
                new InetSocketAddress(client.host(), client.port()),
                ROOT,
                id(endpoint),
                clock())
            .with(access.zookeeper())
            .withProtectsOpen(access.protectsOpen())
            .withTls(zookeeperTls())
            .with(this::writing)
            .withClockCheck(isOn("--clock-check", clockCheck))
            .withArraysWait(isOn("--arrays-wait", arraysWait));
    FairleadController controller = new FairleadController(options, store(options));
    if (restore != null) {
      access.keep().ifPresent(this::say);
      restore(controller, backup);
      return 0;
    }
    ApiServer api;
    try {
      api =
          ApiServer.open(
              endpoint, security, controller.plane(), resources(controller), controller.metrics());
    } catch (IOException | IllegalArgumentException e) {
      controller.close();
      throw e;
    }
    URI url = api.url(others);
    access.serves(url.getScheme() + "://", api.listen(), others);
    access.keep().ifPresent(this::say);
    controller.start(Optional.of(url));
    Thread hook = new Thread(() -> close(api, controller), "shutdown");
    Runtime.getRuntime().addShutdownHook(hook);
    StoreException.NotOurs refusal = serve(api, url, controller);
    Runtime.getRuntime().removeShutdownHook(hook);
    close(api, controller);
    throw refusal;
  }

  /** Starts the embedded server, if asked for. */
  private static Store store(ControllerOptions options) throws IOException {
    return ZooKeeperStore.open(
        ZooKeeperAddress.parse(options.zookeeper()),
        options.zookeeperListen(),
        new Tree(options.root()),
        options.access(),
        options.tls());
  }

  private void restore(FairleadController controller, Backup backup)
      throws IOException, StoreException {
    try (controller) {
      controller.restore(backup);
      say(
          "fairlead-controller restored cluster %s of %s, services: %d (zookeeper %s)"
              .formatted(
                  backup.cluster(),
                  backup.taken(),
                  backup.services().size(),
                  controller.zookeeper()));
      say("fairlead-controller " + muxes(backup, access.zookeeper().isPresent()));
    }
  }

  /** Who counts after a restore, for the operator to compare with what should. */
  private static String muxes(Backup backup, boolean hasLogins) {
    List<AddedMux> all = backup.muxes();
    if (all.isEmpty()) {
      return "WARNING: the backup has no muxes and probes, so none counts; those that run serve on."
          + " Add each with: fairleadctl mux add ID";
    }
    String ids = all.stream().map(AddedMux::id).collect(Collectors.joining(", "));
    String without =
        all.stream()
            .filter(mux -> mux.login().isEmpty() || mux.probeLogin().isEmpty())
            .map(AddedMux::id)
            .collect(Collectors.joining(", "));
    return "restored muxes and their probes with the logins of that time, also those removed since:"
        + " "
        + ids
        + (hasLogins && !without.isEmpty()
            ? "; WARNING: without a login, so give it one with fairleadctl mux add ID --rotate: "
                + without
            : "");
  }

  static boolean isOn(String option, String value) {
    return switch (value) {
      case "on" -> true;
      case "off" -> false;
      default ->
          throw new IllegalArgumentException(
              "%s '%s' is refused; allowed: on, off".formatted(option, value));
    };
  }

  private Optional<ZooKeeperTls> zookeeperTls() {
    if (zookeeperTlsIdentity != null && zookeeperTlsAuthorities == null) {
      throw new IllegalArgumentException(
          "--zookeeper-tls-identity is given without --zookeeper-tls-ca; allowed: both, or none");
    }
    return Optional.ofNullable(zookeeperTlsAuthorities)
        .map(
            path ->
                new ZooKeeperTls(
                    path,
                    Optional.ofNullable(zookeeperTlsIdentity)
                        .map(file -> new SecretFile("--zookeeper-tls-identity", file))));
  }

  private MuxAccess muxAccess() {
    return new MuxAccess(
        Optional.ofNullable(muxesToken).map(path -> new SecretFile("--muxes-token", path)),
        Optional.ofNullable(muxesAuthorities));
  }

  /** Those besides --listen's. */
  private List<String> hosts(Optional<Endpoint> advertised) {
    return Stream.concat(advertised.map(Endpoint::host).stream(), allowedHosts.stream()).toList();
  }

  private Security security() {
    if ((tlsCertificate == null) != (tlsKey == null)) {
      throw new IllegalArgumentException(
          "--tls-cert and --tls-key are given one without the other; allowed: both, or none");
    }
    if (tlsAgents != null && tlsCertificate == null) {
      throw new IllegalArgumentException(
          "--tls-agents-ca is given without --tls-cert; allowed: both, or none");
    }
    return new Security(
        Optional.ofNullable(tlsCertificate)
            .map(
                path ->
                    new Security.Tls(
                        path, new SecretFile("--tls-key", tlsKey), Optional.ofNullable(tlsAgents))),
        Optional.ofNullable(tlsAuthorities),
        access.tokens(),
        access.oidc(),
        access.hasLogins());
  }

  /**
   * Prints when it first follows and when it first leads; the rest is in the log. Returns only if
   * it never can.
   */
  private StoreException.NotOurs serve(ApiServer api, URI url, FairleadController controller)
      throws InterruptedException {
    String where = "on %s (zookeeper %s, ".formatted(api.listen(), controller.zookeeper());
    long patience = System.nanoTime() + PATIENCE.toNanos();
    boolean isFollowing = false;
    while (!controller.awaitLeader(LEADER_POLL)) {
      if (controller.refusal().isPresent()) {
        return controller.refusal().get();
      }
      Health health = controller.plane().health();
      // One that was elected and reads the services is named as the leader, but does not lead yet.
      Optional<URI> other = health.leaderUrl().filter(leader -> !leader.equals(url));
      if (isFollowing) {
        continue;
      }
      if (controller.isServing() && other.isPresent()) {
        isFollowing = true;
        say("fairlead-controller follows %sleader %s)".formatted(where, other.get()));
      } else if (System.nanoTime() > patience) {
        patience = System.nanoTime() + PATIENCE.toNanos();
        say("fairlead-controller waits %s%s)".formatted(where, health.zookeeper()));
      }
    }
    say(
        "fairlead-controller ready %sepoch %d)"
            .formatted(where, controller.plane().health().epoch()));
    new CountDownLatch(1).await();
    throw new IllegalStateException("it waits until the process ends");
  }

  private void say(String line) {
    spec.commandLine().getOut().println(line);
    spec.commandLine().getOut().flush();
  }

  private static void close(ApiServer api, FairleadController controller) {
    api.close();
    controller.close();
  }

  /** By this machine's name, if it listens on all of its addresses. */
  private static Optional<Endpoint> wildcard(Endpoint endpoint) {
    InetAddress address = new InetSocketAddress(endpoint.host(), 0).getAddress();
    return address != null && address.isAnyLocalAddress()
        ? Optional.of(new Endpoint(hostName(), endpoint.port()))
        : Optional.empty();
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "localhost";
    }
  }

  /** The same after a restart, so that a restarted controller need not wait for its old session. */
  private String id(Endpoint endpoint) {
    return endpoint.port() == 0 && !zookeeper.startsWith("embedded:")
        ? "%s/process %d".formatted(hostName(), ProcessHandle.current().pid())
        : "%s/%s".formatted(hostName(), endpoint);
  }
}
