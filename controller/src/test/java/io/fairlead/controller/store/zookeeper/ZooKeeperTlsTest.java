// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import static org.assertj.core.api.Assertions.as;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.leader.ControllerOptions;
import io.fairlead.controller.secret.SecretFile;
import io.fairlead.controller.store.Tree;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A client against real servers with TLS, which ask for certificates. */
class ZooKeeperTlsTest {
  private static final int CONNECT_SECONDS = 60;

  /** Of an attempt that must fail: several of the client's own. */
  private static final int REFUSED_SECONDS = 1;

  @TempDir private Path directory;

  @Test
  void onlyWhoIsRightMeetsTheServer() throws Exception {
    authority("authority");
    authority("stranger");
    sign("server", "authority", "IP:127.0.0.1", 30);
    sign("elsewhere", "authority", "DNS:zk1.example", 30);
    sign("expired", "authority", "IP:127.0.0.1", -1);
    sign("client", "authority", "DNS:client", 30);
    sign("unknown", "stranger", "DNS:client", 30);
    sign("old", "authority", "DNS:client", -1);
    try (Server server = new Server("server");
        Server elsewhere = new Server("elsewhere");
        Server expired = new Server("expired")) {
      server.await();
      assertThat(connects(server, tls("authority", "client"), CONNECT_SECONDS)).isTrue();
      assertThat(faults(server.port, tls("authority", "client"))).isEmpty();
      assertThat(connects(server, Optional.empty(), REFUSED_SECONDS)).as("no TLS").isFalse();

      assertRefused(server, tls("stranger", "client"), "is not signed by an authority of", "pem");
      assertRefused(server, tls("authority"), "refuse", "certificate is missing");
      assertRefused(server, tls("authority", "unknown"), "refuse", "unknown.both");
      assertRefused(server, tls("authority", "old"), "refuse", "old.both");
      assertThat(faults(server.plainPort, tls("authority", "client")))
          .singleElement(as(STRING))
          .contains("secureClientPort");

      takesAnotherCertificate(server);
      elsewhere.await();
      assertRefused(elsewhere, tls("authority", "client"), "does not name '127.0.0.1'");
      expired.await();
      assertRefused(expired, tls("authority", "client"), "is not valid now", "NotAfter");
    }
    assertThat(faults(FreePorts.next(), tls("authority", "client")))
        .singleElement(as(STRING))
        .contains("connection refused");
  }

  /** A client that is running reads its files again with its next connection. */
  private void takesAnotherCertificate(Server server) throws Exception {
    try (CuratorFramework client =
        ZooKeeperClient.create(
            server.address(), new Tree("/"), Optional.empty(), tls("authority", "unknown"))) {
      client.start();
      assertThat(client.blockUntilConnected(REFUSED_SECONDS, TimeUnit.SECONDS)).isFalse();
      sign("unknown", "authority", "DNS:client", 30);
      assertThat(client.blockUntilConnected(CONNECT_SECONDS, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void filesAreCheckedAtTheStart() throws Exception {
    assertThatThrownBy(() -> new ZooKeeperTls(directory.resolve("nowhere"), Optional.empty()))
        .hasMessageMatching(
            "--zookeeper-tls-ca '.*nowhere' is refused: it is not there, .*; allowed: a file .*");
    Path empty = Files.writeString(directory.resolve("empty"), "none");
    assertThatThrownBy(() -> new ZooKeeperTls(empty, Optional.empty()))
        .hasMessageContainingAll("--zookeeper-tls-ca", "empty", "allowed: PEM certificates");

    authority("authority");
    sign("client", "authority", "DNS:client", 30);
    assertThatThrownBy(() -> tls("authority", "absent")).hasMessageContaining("no such file");
    Path identity = directory.resolve("client.both");
    Files.setPosixFilePermissions(identity, PosixFilePermissions.fromString("rw-r--r--"));
    assertThatThrownBy(() -> tls("authority", "client"))
        .hasMessageContainingAll("--zookeeper-tls-identity", "rw-r--r--", "chmod 600");
    Files.setPosixFilePermissions(identity, PosixFilePermissions.fromString("rw-------"));
    Files.copy(directory.resolve("client.pem"), identity, StandardCopyOption.REPLACE_EXISTING);
    Files.setPosixFilePermissions(identity, PosixFilePermissions.fromString("rw-------"));
    assertThatThrownBy(() -> tls("authority", "client"))
        .hasMessageContainingAll("--zookeeper-tls-identity", "client.both", "PKCS #8");
    assertThatThrownBy(
            () ->
                ControllerOptions.of(
                        "embedded:data",
                        new InetSocketAddress("127.0.0.1", 0),
                        "/fairlead",
                        "c1",
                        InstantSource.system())
                    .withTls(tls("authority")))
        .hasMessageContainingAll("--zookeeper-tls-ca", "embedded:data", "HOST:PORT");
  }

  private static void assertRefused(Server server, Optional<ZooKeeperTls> tls, String... words)
      throws InterruptedException {
    assertThat(connects(server, tls, REFUSED_SECONDS)).as("%s", tls).isFalse();
    assertThat(faults(server.port, tls))
        .singleElement(as(STRING))
        .contains("ZooKeeper " + server.address())
        .contains(words);
  }

  private static List<String> faults(int port, Optional<ZooKeeperTls> tls) {
    return new ZooKeeperTlsFaults("127.0.0.1:" + port, tls.orElseThrow()).faults();
  }

  private Optional<ZooKeeperTls> tls(String authority) {
    return Optional.of(new ZooKeeperTls(directory.resolve(authority + ".pem"), Optional.empty()));
  }

  private Optional<ZooKeeperTls> tls(String authority, String client) {
    SecretFile identity =
        new SecretFile("--zookeeper-tls-identity", directory.resolve(client + ".both"));
    return Optional.of(
        new ZooKeeperTls(directory.resolve(authority + ".pem"), Optional.of(identity)));
  }

  private static boolean connects(Server server, Optional<ZooKeeperTls> tls, int seconds)
      throws InterruptedException {
    try (CuratorFramework client =
        ZooKeeperClient.create(server.address(), new Tree("/"), Optional.empty(), tls)) {
      client.start();
      return client.blockUntilConnected(seconds, TimeUnit.SECONDS);
    }
  }

  private void authority(String name) throws IOException, InterruptedException {
    openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "30",
            "-subj",
            "/CN=" + name)
        .with("-keyout", name + ".key")
        .with("-out", name + ".pem")
        .run();
  }

  /** NAME.pem, NAME.key, and both in NAME.both. */
  private void sign(String name, String authority, String names, int days)
      throws IOException, InterruptedException {
    openssl(
            "req",
            "-new",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            "/CN=" + name)
        .with("-keyout", name + ".key")
        .with("-out", name + ".csr")
        .run();
    Files.writeString(directory.resolve(name + ".ext"), "subjectAltName=" + names);
    openssl("x509", "-req", "-days", Integer.toString(days), "-CAcreateserial")
        .with("-in", name + ".csr")
        .with("-CA", authority + ".pem")
        .with("-CAkey", authority + ".key")
        .with("-extfile", name + ".ext")
        .with("-out", name + ".pem")
        .run();
    Path next = directory.resolve(name + ".next");
    Files.writeString(
        next,
        Files.readString(directory.resolve(name + ".key"))
            + Files.readString(directory.resolve(name + ".pem")));
    Files.setPosixFilePermissions(next, PosixFilePermissions.fromString("rw-------"));
    Files.move(next, directory.resolve(name + ".both"), StandardCopyOption.ATOMIC_MOVE);
  }

  private Openssl openssl(String... words) {
    return new Openssl(new ArrayList<>(List.of(words)));
  }

  private final class Openssl {
    private final List<String> words;

    private Openssl(List<String> words) {
      this.words = words;
      words.add(0, "openssl");
    }

    Openssl with(String flag, String file) {
      words.add(flag);
      words.add(directory.resolve(file).toString());
      return this;
    }

    void run() throws IOException, InterruptedException {
      Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
      String output = new String(process.getInputStream().readAllBytes());
      assertThat(process.waitFor()).as("%s: %s", words, output).isZero();
    }
  }

  /** A server of its own process: ZooKeeper keeps its TLS in system properties. */
  private final class Server implements AutoCloseable {
    final int port = FreePorts.next();
    final int plainPort = FreePorts.next();
    private final Process process;

    Server(String certificate) throws IOException {
      Path data = Files.createDirectory(directory.resolve("data-" + certificate));
      Path config = directory.resolve(certificate + ".cfg");
      Files.writeString(
          config,
          """
          dataDir=%s
          clientPort=%d
          secureClientPort=%d
          serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
          admin.enableServer=false
          ssl.keyStore.location=%s
          ssl.keyStore.type=PEM
          ssl.trustStore.location=%s
          ssl.trustStore.type=PEM
          ssl.clientAuth=need
          """
              .formatted(
                  data,
                  plainPort,
                  port,
                  directory.resolve(certificate + ".both"),
                  directory.resolve("authority.pem")));
      Path log = directory.resolve(certificate + ".log");
      process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-Xmx128m",
                  "-XX:TieredStopAtLevel=1",
                  "-cp",
                  System.getProperty("java.class.path"),
                  "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                  config.toString())
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
    }

    String address() {
      return "127.0.0.1:" + port;
    }

    void await() {
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .ignoreException(ConnectException.class)
          .until(
              () -> {
                new Socket("127.0.0.1", port).close();
                return true;
              });
    }

    @Override
    public void close() {
      process.destroyForcibly().onExit().join();
    }
  }
}
