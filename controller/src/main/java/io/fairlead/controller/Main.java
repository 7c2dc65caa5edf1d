// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.api.ApiServer;
import io.fairlead.controller.api.Endpoint;
import io.fairlead.controller.service.FairleadController;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Clock;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
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
      "  fairlead-controller --zookeeper zk1:2181,zk2:2181,zk3:2181 --listen 10.1.0.5:8080",
      "",
      "Every flag can stand in the environment as FAIRLEAD_CONTROLLER_<NAME>, dashes",
      "as underscores; the flag wins. The API has no authentication: let it listen",
      "where only operators are."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"1:could not start", "2:bad usage", "143:stopped in order by SIGTERM"})
public final class Main implements Callable<Integer> {
  private static final String ROOT = "/fairlead";
  private static final Duration LEADER_POLL = Duration.ofSeconds(10);

  @Option(
      names = "--zookeeper",
      required = true,
      paramLabel = "WHERE",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_ZOOKEEPER}",
      description = "embedded:DIR runs ZooKeeper inside, its data in DIR; or HOST:PORT,...")
  private String zookeeper;

  @Option(
      names = "--listen",
      paramLabel = "HOST:PORT",
      defaultValue = "${env:FAIRLEAD_CONTROLLER_LISTEN:-127.0.0.1:8080}",
      description = "Where the API listens. Default: 127.0.0.1:8080")
  private String listen;

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

  @CommandLine.Spec private CommandLine.Model.CommandSpec spec;

  private Main() {}

  /** ZooKeeper prints what it purges to standard output, which is for our own lines. */
  public static void main(String[] args) {
    PrintWriter out = new PrintWriter(System.out, true);
    System.setOut(System.err);
    System.exit(commandLine().setOut(out).execute(args));
  }

  static CommandLine commandLine() {
    return new CommandLine(new Main())
        .setUsageHelpAutoWidth(true)
        .setParameterExceptionHandler(
            (e, args) -> {
              e.getCommandLine().getErr().println("fairlead-controller: " + e.getMessage());
              return CommandLine.ExitCode.USAGE;
            });
  }

  @Override
  public Integer call() throws InterruptedException {
    try {
      Endpoint client = Endpoint.parse("--zookeeper-listen", zookeeperListen);
      Endpoint endpoint = Endpoint.parse("--listen", listen);
      FairleadController controller =
          FairleadController.open(
              new FairleadController.Options(
                  zookeeper,
                  new InetSocketAddress(client.host(), client.port()),
                  ROOT,
                  id(endpoint),
                  Clock.systemUTC()));
      ApiServer api;
      try {
        api = ApiServer.open(endpoint, controller, controller.metrics());
      } catch (IOException e) {
        controller.close();
        throw e;
      }
      Runtime.getRuntime().addShutdownHook(new Thread(() -> close(api, controller), "shutdown"));
      serve(api, controller);
      return 0;
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    } catch (IOException e) {
      spec.commandLine().getErr().println("fairlead-controller: " + e.getMessage());
      return 1;
    }
  }

  /** Says when it leads, and then leaves the work to the API's and the control plane's threads. */
  private void serve(ApiServer api, FairleadController controller) throws InterruptedException {
    while (!controller.awaitLeader(LEADER_POLL)) {
      say(
          "fairlead-controller waits on %s: it does not lead yet (zookeeper %s, %s)"
              .formatted(api.listen(), controller.zookeeper(), controller.health().zookeeper()));
    }
    say(
        "fairlead-controller ready on %s (zookeeper %s, epoch %d)"
            .formatted(api.listen(), controller.zookeeper(), controller.health().epoch()));
    new CountDownLatch(1).await();
  }

  private void say(String line) {
    spec.commandLine().getOut().println(line);
    spec.commandLine().getOut().flush();
  }

  private static void close(ApiServer api, FairleadController controller) {
    api.close();
    controller.close();
  }

  /** The same after a restart, so that a restarted controller need not wait for its former life. */
  private static String id(Endpoint endpoint) {
    String host;
    try {
      host = InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      host = "localhost";
    }
    return "%s/%s".formatted(host, endpoint);
  }
}
