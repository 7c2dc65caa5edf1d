// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.api.Resource;
import io.fairlead.controller.backends.BackendRoutes;
import io.fairlead.controller.writer.FairleadController;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;

/**
 * A controller that is broken on purpose, to show that checkers notice (docs/fault-injection.md).
 * It is one of the tests' classes: no package contains it. {@code FAIRLEAD_SABOTAGE} in the
 * environment says how:
 *
 * <ul>
 *   <li>{@code early-ack}: changes are acknowledged before they are committed
 *   <li>{@code fencing-off}: a replaced leader does not notice it and continues to commit
 * </ul>
 */
public final class SabotagedController extends Main {
  private static final String EARLY_ACK = "early-ack";
  private static final String FENCING_OFF = "fencing-off";

  private final String how;

  private SabotagedController(String how) {
    this.how = how;
  }

  public static void main(String[] args) {
    String how = String.valueOf(System.getenv("FAIRLEAD_SABOTAGE"));
    if (!how.equals(EARLY_ACK) && !how.equals(FENCING_OFF)) {
      System.err.printf(
          "FAIRLEAD_SABOTAGE '%s' is not known; allowed: %s, %s%n", how, EARLY_ACK, FENCING_OFF);
      System.exit(2);
    }
    PrintWriter out = new PrintWriter(System.out, true);
    System.setOut(System.err);
    System.exit(commandLine(new SabotagedController(how)).setOut(out).execute(args));
  }

  @Override
  List<Resource> resources(FairleadController controller) {
    List<Resource> resources = new ArrayList<>(Resources.of(controller));
    if (how.equals(EARLY_ACK)) {
      resources.replaceAll(
          resource ->
              resource instanceof BackendRoutes
                  ? new BackendRoutes(new EarlyAck(controller.backends()))
                  : resource);
    }
    return resources;
  }

  @Override
  CuratorFramework writing(CuratorFramework client) {
    return how.equals(FENCING_OFF) ? Unfenced.of(client) : client;
  }
}
