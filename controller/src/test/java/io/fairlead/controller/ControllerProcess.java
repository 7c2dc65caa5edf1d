// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.api.Endpoint;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** {@code fairlead-controller} as a process of its own, so that a test can end it in any way. */
final class ControllerProcess implements AutoCloseable {
  private static final Pattern READY =
      Pattern.compile("fairlead-controller ready on (\\S+) \\(zookeeper (\\S+), epoch ([0-9]+)\\)");
  private static final int EXIT_SECONDS = 30;

  private final Process process;
  private final Endpoint api;
  private final long epoch;

  private ControllerProcess(Process process, Endpoint api, long epoch) {
    this.process = process;
    this.api = api;
    this.epoch = epoch;
  }

  /**
   * Returns once it is ready, its data in {@code directory}, both of its ports picked by itself.
   */
  static ControllerProcess start(Path directory) throws IOException {
    Path temporary = Files.createDirectories(temporary(directory));
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Djava.io.tmpdir=" + temporary,
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            "--zookeeper-listen=127.0.0.1:0");
    builder.environment().put("FAIRLEAD_CONTROLLER_ZOOKEEPER", "embedded:" + directory);
    builder.environment().put("FAIRLEAD_CONTROLLER_LISTEN", "127.0.0.1:0");
    builder.environment().put("FAIRLEAD_CONTROLLER_ZOOKEEPER_LISTEN", "the flag wins");
    Process process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
    StringBuilder said = new StringBuilder();
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      Matcher ready = READY.matcher(line);
      if (ready.matches()) {
        return new ControllerProcess(
            process, Endpoint.parse("ready line", ready.group(1)), Long.parseLong(ready.group(3)));
      }
      said.append(line).append('\n');
      if (!line.startsWith("fairlead-controller ")) {
        throw new IOException("standard output is for the controller's own lines, not: " + line);
      }
    }
    throw new IOException("the controller ended before it was ready; it said: " + said);
  }

  /** The temporary folder of the process. */
  static Path temporary(Path directory) {
    return directory.resolve("tmp");
  }

  Endpoint api() {
    return api;
  }

  long epoch() {
    return epoch;
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
      throw new IllegalStateException("the controller does not end");
    }
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
