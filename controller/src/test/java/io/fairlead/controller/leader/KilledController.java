// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Requests;
import io.fairlead.controller.resources.backends.BackendView;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.io.PrintStream;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A controller in a process of its own, for {@link KillTest} to kill. It prints "loaded GENERATION"
 * with what it found, then commits the change that follows from each generation and prints
 * "committed GENERATION" once that is acknowledged, without end.
 */
final class KilledController {
  static final int BACKENDS = 8;
  static final int BUCKETS = 4096;

  private static final PrintStream OUT = System.out;

  private KilledController() {}

  /** Ends the process on any failure, which ZooKeeper's threads would otherwise keep alive. */
  public static void main(String[] arguments) {
    // As in Main: ZooKeeper prints what it purges.
    System.setOut(System.err);
    try {
      commit(arguments[0]);
    } catch (Throwable e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  private static void commit(String directory) throws Exception {
    FairleadController controller =
        Controllers.open(
            ControllerOptions.of(
                "embedded:" + directory,
                FreePorts.nextAddress(),
                "/fairlead",
                "killed",
                InstantSource.system()));
    if (!controller.awaitLeader(Duration.ofSeconds(30))) {
      throw new IllegalStateException("not elected within 30 s");
    }
    if (Shown.services(controller).isEmpty()) {
      Requests.done(
          controller
              .services()
              .createService(Requests.sized("web", "10.99.0.1", BUCKETS), WriteOptions.COMMIT));
      List<Change> all = IntStream.rangeClosed(1, BACKENDS).mapToObj(Requests::add).toList();
      Requests.done(controller.backends().change("web", all, WriteOptions.COMMIT));
    }
    long generation = Shown.service(controller, "web").orElseThrow().generation();
    say("loaded %d weights %s".formatted(generation, weights(controller)));
    while (true) {
      long next = generation + 1;
      long committed =
          Requests.done(controller.backends().change("web", changes(next), Requests.FORCE))
              .generation();
      if (committed != next) {
        throw new IllegalStateException("generation %d after %d".formatted(committed, generation));
      }
      generation = next;
      say("committed " + generation);
    }
  }

  /**
   * The change that makes {@code generation}: every backend gets a weight that only this generation
   * gives it.
   */
  static List<Change> changes(long generation) {
    return IntStream.rangeClosed(1, BACKENDS)
        .mapToObj(id -> Requests.weight(id, weight(id, generation)))
        .toList();
  }

  static int weight(int id, long generation) {
    return (int) (1 + (generation * 7919 + id * 104_729L) % 65_535);
  }

  private static List<Integer> weights(FairleadController controller) {
    return Shown.backends(controller, "web").stream().map(BackendView::weight).toList();
  }

  private static void say(String line) {
    OUT.println(line);
    OUT.flush();
  }
}
