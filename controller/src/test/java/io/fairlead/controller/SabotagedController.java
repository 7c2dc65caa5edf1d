// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.http.Resource;
import io.fairlead.controller.leader.FairleadController;
import io.fairlead.controller.resources.backends.BackendRoutes;
import io.fairlead.controller.store.Store;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;

/**
 * A controller that is broken on purpose, to show that checkers notice
 * (docs/research/fault-injection.md). It is one of the tests' classes: no package contains it.
 * {@code FAIRLEAD_SABOTAGE} in the environment says how:
 *
 * <ul>
 *   <li>{@code clock-check-off}: its clock is a month behind, and it runs with {@code --clock-check
 *       off}
 *   <li>{@code early-ack}: changes are acknowledged before they are committed
 *   <li>{@code fencing-off}: a replaced leader does not notice it and continues to commit
 * </ul>
 */
public final class SabotagedController extends Main {
  private static final String CLOCK_CHECK_OFF = "clock-check-off";
  private static final String EARLY_ACK = "early-ack";
  private static final String FENCING_OFF = "fencing-off";
  private static final List<String> ALL = List.of(CLOCK_CHECK_OFF, EARLY_ACK, FENCING_OFF);
  private static final Duration CLOCK_ERROR = Duration.ofDays(-30);

  private final String how;

  private SabotagedController(String how) {
    this.how = how;
  }

  public static void main(String[] args) {
    String how = String.valueOf(System.getenv("FAIRLEAD_SABOTAGE"));
    if (!ALL.contains(how)) {
      System.err.printf(
          "FAIRLEAD_SABOTAGE '%s' is not known; allowed: %s%n", how, String.join(", ", ALL));
      System.exit(2);
    }
    PrintWriter out = new PrintWriter(System.out, true);
    System.setOut(System.err);
    List<String> words = new ArrayList<>(List.of(args));
    if (how.equals(CLOCK_CHECK_OFF)) {
      words.addAll(List.of("--clock-check", "off"));
    }
    CommandLine command = commandLine(new SabotagedController(how)).setOut(out);
    System.exit(command.execute(words.toArray(String[]::new)));
  }

  @Override
  List<Resource> resources(FairleadController controller) {
    List<Resource> resources = new ArrayList<>(Resources.of(controller));
    if (how.equals(EARLY_ACK)) {
      resources.replaceAll(
          resource ->
              resource instanceof BackendRoutes
                  ? new BackendRoutes(new EarlyAck(controller.backends()), controller.muxes())
                  : resource);
    }
    return resources;
  }

  @Override
  Store writing(Store store) {
    return how.equals(FENCING_OFF) ? Unfenced.of(store) : store;
  }

  @Override
  InstantSource clock() {
    return how.equals(CLOCK_CHECK_OFF)
        ? InstantSource.offset(super.clock(), CLOCK_ERROR)
        : super.clock();
  }
}
