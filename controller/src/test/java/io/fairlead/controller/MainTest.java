// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A start that cannot succeed: the flag, its value and what is allowed, and nothing left behind.
 */
class MainTest {
  private record Run(int exit, String err) {}

  @TempDir private Path directory;

  private Run run(String... args) {
    StringWriter err = new StringWriter();
    List<String> all = new ArrayList<>(List.of(args));
    if (all.stream().noneMatch(arg -> arg.startsWith("--secrets="))) {
      all.add("--secrets=" + directory.resolve("secrets"));
    }
    int exit =
        Main.commandLine().setErr(new PrintWriter(err, true)).execute(all.toArray(String[]::new));
    return new Run(exit, err.toString());
  }

  /** No secrets of a controller that has not run. */
  @AfterEach
  void nothingWasDrawn() {
    for (String name : List.of("tokens", "admin-token", "zookeeper-auth")) {
      assertThat(directory.resolve("secrets").resolve(name)).doesNotExist();
    }
  }

  @Test
  void aFolderForSecretsThatCannotBeMadeIsNamed() {
    Run run = run("--zookeeper=localhost:2181", "--secrets=/proc/nope/secrets");
    assertThat(run.exit()).isEqualTo(1);
    assertThat(run.err())
        .isEqualTo(
            "fairlead-controller: the secrets cannot be kept in /proc/nope/secrets: /proc/nope"
                + " cannot be created: no such file or directory; allowed: a folder that this user"
                + " can create and write, given by --secrets\n");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'' | Missing required option: '--zookeeper=WHERE'",
        "--zookeeper=here | --zookeeper 'here' is refused; allowed: embedded:DIR or HOST:PORT",
        "--zookeeper=embedded: | --zookeeper 'embedded:' is refused; allowed: embedded:DIR",
        "--zookeeper=zk:70000 | --zookeeper 'zk:70000' is refused; allowed: embedded:DIR",
        "--zookeeper=zk:2181 --listen=8080 | --listen '8080' is refused; allowed: HOST:PORT",
        "--zookeeper=zk:2181 --zookeeper-listen=x | --zookeeper-listen 'x' is refused; allowed:",
        "--zookeeper=localhost:1 --allowed-host=lb1,a:1 | --allowed-host 'a:1' is refused; allowed:"
            + " a host",
        "--zookeeper=localhost:1 --allowed-host=lb1 --allowed-host=* | --allowed-host '*' is"
            + " refused;",
        "--zookeeper=127.0.0.1:1,zk:2 | --zookeeper '127.0.0.1:1,zk:2' is refused: logins and data"
            + " would travel in clear text beyond this machine; allowed: with --zookeeper-tls-ca, a"
            + " loopback address, or --zookeeper-clear-text on",
        "--zookeeper=embedded:d --zookeeper-listen=[::]:0 | --zookeeper-listen '[::]:0' is refused:"
            + " logins and data would travel in clear text beyond this machine; allowed: a loopback"
            + " address, or --zookeeper-clear-text on",
        "--zookeeper=localhost:1 --tokens=/t --listen=0.0.0.0:0 | --listen '0.0.0.0:0' is refused:"
            + " tokens would travel in clear text beyond this machine; allowed: with --tls-cert and"
            + " --tls-key, a loopback address, or --listen-clear-text on",
        "--zookeeper=zk:2 --zookeeper-clear-text=on --oidc=/o --listen=c1:0 | --listen 'c1:0' is",
        "--zookeeper=zk:2 --zookeeper-clear-text=yes | --zookeeper-clear-text 'yes' is refused;",
        "--zookeeper=localhost:2 --listen-clear-text=1 | --listen-clear-text '1' is refused;",
        "--zookeeper=localhost:1 --open --tokens=t | --open is given with --tokens; allowed: one of"
            + " them",
        "--zookeeper=localhost:1 --open --oidc=o | --open is given with --oidc; allowed: one of"
            + " them",
        "--zookeeper=localhost:1 --open-to-network | --open-to-network is given without --open;"
            + " allowed:",
        "--zookeeper=localhost:1 --open --listen=0.0.0.0:0 | --listen '0.0.0.0:0' is refused with"
            + " --open;",
        "--zookeeper=localhost:1 --open --listen=[::]:0 | --listen '[::]:0' is refused with --open;"
            + " allowed",
        "--zookeeper=embedded:d --open --zookeeper-listen=[::]:0 | --zookeeper-listen '[::]:0' is",
        "--zookeeper=zk:2181 --port=80 | Unknown option: '--port=80'",
      })
  void badFlagsAreNamed(String line, String sentence) {
    Run run = run(line.isEmpty() ? new String[0] : line.split(" "));
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.err()).startsWith("fairlead-controller: " + sentence);
    assertThat(run.err().lines()).hasSize(1);
  }

  /** Before anything is started. */
  @Test
  void theMuxesTokenNeedsTheirAuthorities() throws IOException {
    Path token = Files.writeString(directory.resolve("token"), "0123456789abcdef");
    Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
    Path data = directory.resolve("data");
    Run run = run("--zookeeper=embedded:" + data, "--muxes-token=" + token);
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.err())
        .startsWith("fairlead-controller: --muxes-token is given without --muxes-ca")
        .contains("allowed: both, --muxes-ca alone, or none");
    assertThat(run.err().lines()).hasSize(1);
    assertThat(data).doesNotExist();
  }

  @Test
  void aFolderThatCannotBeMadeIsNamedWithTheReason() throws IOException {
    Run proc = run("--zookeeper=embedded:/proc/nope", "--listen=127.0.0.1:" + FreePorts.next());
    assertThat(proc.exit()).isEqualTo(1);
    assertThat(proc.err())
        .startsWith(
            "fairlead-controller: the embedded ZooKeeper cannot keep its data in /proc/nope")
        .contains("/proc/nope cannot be created: no such file or directory; allowed: a folder");
    Path file = Files.createFile(directory.resolve("file"));
    Run taken = run("--zookeeper=embedded:" + file, "--listen=127.0.0.1:" + FreePorts.next());
    assertThat(taken.exit()).isEqualTo(1);
    assertThat(taken.err()).contains(file + " is not a folder; allowed: a folder");
  }

  @Test
  void aPortInUseIsNamed() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String listen = "127.0.0.1:" + taken.getLocalPort();
      Run run =
          run(
              "--zookeeper=embedded:" + directory.resolve("data"),
              "--zookeeper-listen=127.0.0.1:" + FreePorts.next(),
              "--listen=" + listen);
      assertThat(run.exit()).isEqualTo(1);
      assertThat(run.err()).contains("cannot listen on " + listen);
    }
  }

  /** The restore prints which muxes may join, or that none may. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[] | fairlead-controller WARNING: the backup has no muxes and probes, so none counts;"
            + " those that run serve on. Add each with: fairleadctl mux add ID",
        "[{'id':'mux1'},{'id':'mux2'}] | fairlead-controller restored muxes and their probes with"
            + " the logins of that time, also those removed since: mux1, mux2",
      })
  void aRestoreNamesTheMuxesThatComeBack(String muxes, String says) throws IOException {
    String backup =
        """
        {"format": 3, "cluster": "0123456789abcdef0123456789abcdef", "taken": "2026-01-01T00:00:00Z", "epoch": 1,
         "serviceIds": {"format": 1, "last": 0, "first": 1, "free": {}}, "muxes": %s, "services": []}
        """
            .formatted(muxes.replace('\'', '"'));
    Path file = Files.writeString(directory.resolve("backup.json"), backup);
    StringWriter out = new StringWriter();
    int exit =
        Main.commandLine()
            .setOut(new PrintWriter(out, true))
            .execute(
                "--open",
                "--zookeeper=embedded:" + directory.resolve("data"),
                "--zookeeper-listen=127.0.0.1:" + FreePorts.next(),
                "--restore=" + file);
    assertThat(out.toString().lines())
        .hasSize(2)
        .first()
        .asString()
        .startsWith("fairlead-controller restored cluster 0123456789abcdef0123456789abcdef of ");
    assertThat(out.toString().lines().toList().get(1)).isEqualTo(says);
    assertThat(exit).isZero();
  }
}
