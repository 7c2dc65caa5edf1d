// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.secret.SecretsFolder;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** {@code fairlead-controller} as a process of its own, so that a test can end it in any way. */
final class ControllerProcess implements AutoCloseable {
  private static final Pattern READY =
      Pattern.compile("fairlead-controller ready on (\\S+) \\(zookeeper (\\S+), epoch ([0-9]+)\\)");
  private static final Pattern FOLLOWS =
      Pattern.compile(
          "fairlead-controller follows on (\\S+) \\(zookeeper (\\S+), leader (\\S+)\\)");
  private static final int EXIT_SECONDS = 30;
  private static final int FAIL_SECONDS = 120;

  private final Process process;
  private final Path log;
  private final String said;
  private final Endpoint api;
  private final long epoch;

  private ControllerProcess(Process process, Path log, String said, Endpoint api, long epoch) {
    this.process = process;
    this.log = log;
    this.said = said;
    this.api = api;
    this.epoch = epoch;
  }

  /** A start that came to nothing. */
  record Failed(int exit, String err) {}

  /** Returns once it is ready, its data in {@code directory}, on ports that are free. */
  static ControllerProcess start(Path directory) throws IOException {
    return launch(
        directory,
        Map.of(
            "FAIRLEAD_CONTROLLER_ZOOKEEPER", "embedded:" + directory,
            "FAIRLEAD_CONTROLLER_LISTEN", "127.0.0.1:0",
            "FAIRLEAD_CONTROLLER_ZOOKEEPER_LISTEN", "the flag wins"),
        List.of("--zookeeper-listen=127.0.0.1:" + FreePorts.next()),
        List.of(READY));
  }

  /** One of several on a ZooKeeper of their own; returns once it leads or follows. */
  static ControllerProcess join(Path directory, String zookeeper, String... flags)
      throws IOException {
    return join(directory, Map.of(), zookeeper, flags);
  }

  /** The same with variables of the environment. */
  static ControllerProcess join(
      Path directory, Map<String, String> environment, String zookeeper, String... flags)
      throws IOException {
    List<String> all = new ArrayList<>(List.of(flags));
    all.add("--zookeeper=" + zookeeper);
    if (Stream.of(flags).noneMatch(flag -> flag.startsWith("--listen="))) {
      all.add("--listen=127.0.0.1:0");
    }
    return launch(directory, environment, all, List.of(READY, FOLLOWS));
  }

  /** One that ends before it leads or follows. */
  static Failed fail(Path directory, String zookeeper, String... flags)
      throws IOException, InterruptedException {
    List<String> all = new ArrayList<>(List.of(flags));
    all.addAll(List.of("--zookeeper=" + zookeeper, "--listen=127.0.0.1:0"));
    Path err = Files.createTempFile(directory, "err", ".txt");
    Process process =
        builder(directory, Map.of(), all)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(err.toFile())
            .start();
    try {
      if (!process.waitFor(FAIL_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the controller goes on: " + Files.readString(err));
      }
      return new Failed(process.exitValue(), Files.readString(err));
    } finally {
      process.destroyForcibly();
    }
  }

  /** Those that it makes, and finds after a restart, unless it is given others. */
  static SecretsFolder secrets(Path directory) {
    return new SecretsFolder(directory.resolve("secrets"));
  }

  /** An admin's, of the controllers of {@code directory}. */
  static String token(Path directory) throws IOException {
    return Files.readString(secrets(directory).adminToken().path()).strip();
  }

  private static ControllerProcess launch(
      Path directory, Map<String, String> environment, List<String> flags, List<Pattern> wanted)
      throws IOException {
    Path log = Files.createTempFile(directory, "log", ".txt");
    Process process = builder(directory, environment, flags).redirectError(log.toFile()).start();
    return await(process, log, wanted);
  }

  private static ProcessBuilder builder(
      Path directory, Map<String, String> environment, List<String> flags) throws IOException {
    Path temporary = Files.createDirectories(temporary(directory));
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.add("-Djava.io.tmpdir=" + temporary);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
    command.addAll(flags);
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put(SecretsFolder.VARIABLE, secrets(directory).path().toString());
    builder.environment().putAll(environment);
    return builder;
  }

  private static ControllerProcess await(Process process, Path log, List<Pattern> wanted)
      throws IOException {
    BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
    StringBuilder said = new StringBuilder();
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      for (Pattern pattern : wanted) {
        Matcher matcher = pattern.matcher(line);
        if (matcher.matches()) {
          return new ControllerProcess(
              process,
              log,
              said.toString(),
              Endpoint.parse("ready line", matcher.group(1)),
              pattern == READY ? Long.parseLong(matcher.group(3)) : 0);
        }
      }
      said.append(line).append('\n');
      if (!line.startsWith("fairlead-controller ")) {
        throw new IOException("standard output is for the controller's own lines, not: " + line);
      }
    }
    throw new IOException(
        "the controller ended before it was ready: " + said + Files.readString(log));
  }

  /** The temporary folder of the process. */
  static Path temporary(Path directory) {
    return directory.resolve("tmp");
  }

  /** The lines before it was ready. */
  String said() {
    return said;
  }

  /** What it has logged until now. */
  String log() throws IOException {
    return Files.readString(log);
  }

  Endpoint api() {
    return api;
  }

  /** 0 if it did not lead when it was started. */
  long epoch() {
    return epoch;
  }

  /** SIGSTOP or SIGCONT. */
  void signal(String name) throws IOException, InterruptedException {
    Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start();
    if (kill.waitFor() != 0) {
      throw new IOException("kill -%s %d failed".formatted(name, process.pid()));
    }
  }

  /** SIGTERM; the exit code. */
  int terminate() throws InterruptedException {
    process.destroy();
    return exit();
  }

  /** SIGKILL; the exit code. */
  int kill() throws InterruptedException {
    process.destroyForcibly();
    return exit();
  }

  private int exit() throws InterruptedException {
    if (!process.waitFor(EXIT_SECONDS, TimeUnit.SECONDS)) {
      throw new IllegalStateException("the controller does not exit");
    }
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly();
    try {
      System.err.print(log()); // for the report of a test that fails
    } catch (IOException e) {
      System.err.println("the controller's log is lost: " + e);
    }
  }
}
