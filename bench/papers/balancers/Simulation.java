// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * One run. A connection sends its SYN, then a burst of 83 packets each {@code pace} slots until its
 * FIN; after ten bursts, ten at once and a tenth as often, which takes a fifth of the time. A
 * connection breaks when packets reach another server than its SYN did; it is counted once, and its
 * packets go on, so that loads remain comparable. All servers have the same weight.
 */
final class Simulation {
  private static final int TOGETHER = 10; // bursts of a connection that has sent as many
  private final Scenario scenario;
  private final Traffic traffic;
  private final Servers servers;
  private final Balancer balancer;
  private final int[] left;
  private final boolean[] isBroken;
  private final boolean[] hasSeenChange;
  private final int[][] wheel; // by the slot of the next burst, modulo their number
  private final int[] waiting;
  private final long[] before = new long[Scenario.SERVERS];
  private int open;
  private int mostOpen;
  private int epoch;
  private int changes;
  private double secondsVariance;
  private int seconds;

  private Simulation(Scenario scenario, Traffic traffic, Function<Servers, Balancer> method) {
    this.scenario = scenario;
    this.traffic = traffic;
    servers = new Servers(traffic.size());
    balancer = method.apply(servers);
    left = traffic.packets.clone();
    isBroken = new boolean[traffic.size()];
    hasSeenChange = new boolean[traffic.size()];
    wheel = new int[TOGETHER * scenario.pace()][4];
    waiting = new int[wheel.length];
  }

  /** The figures of one run. */
  static Map<String, Double> run(
      Scenario scenario, Traffic traffic, Function<Servers, Balancer> method) {
    return new Simulation(scenario, traffic, method).run();
  }

  private Map<String, Double> run() {
    int next = 0;
    for (int slot = 0; next < traffic.size() || open > 0; slot++) {
      if (slot % Balancer.TICK == 0) {
        balancer.tick(slot);
      }
      events(slot);
      bursts(slot);
      for (; next < traffic.size() && traffic.start[next] == slot; next++) {
        open(next, slot);
      }
    }
    long sum = Arrays.stream(servers.load).sum();
    if (sum != traffic.total) {
      throw new IllegalStateException(
          "%d of %d packets reached a server".formatted(sum, traffic.total));
    }
    return figures();
  }

  private void events(int slot) {
    if (scenario.reshuffle() > 0 && slot > 0 && slot % scenario.reshuffle() == 0) {
      epoch++;
    }
    boolean isChange = scenario.change() > 0 && slot % scenario.change() == scenario.change() / 2;
    if (isChange && slot < scenario.opening()) {
      int server = changes / 2 * 7 % Scenario.SERVERS;
      servers.set(server, changes++ % 2 == 0); // out, and in again at the next change
      balancer.change(slot);
      for (int flow = 0; flow < traffic.size(); flow++) {
        hasSeenChange[flow] |= servers.home(flow) != Servers.NONE;
      }
    }
    if (slot > 0 && slot % Scenario.SECOND == 0 && slot <= scenario.opening()) {
      double[] of = new double[Scenario.SERVERS];
      Arrays.setAll(of, server -> servers.load[server] - before[server]);
      System.arraycopy(servers.load, 0, before, 0, before.length);
      secondsVariance += Spread.variance(of);
      seconds++;
    }
  }

  private void bursts(int slot) {
    int at = slot % wheel.length;
    int[] due = wheel[at];
    int count = waiting[at];
    waiting[at] = 0;
    for (int i = 0; i < count; i++) {
      int flow = due[i];
      int step = burst(flow);
      if (step > 0) {
        await(flow, slot + step);
      }
    }
  }

  /**
   * Never overwrites what {@link #bursts} has not read: at most one is kept for each that is read.
   */
  private void await(int flow, int slot) {
    int at = slot % wheel.length;
    if (waiting[at] == wheel[at].length) {
      wheel[at] = Arrays.copyOf(wheel[at], 2 * waiting[at]);
    }
    wheel[at][waiting[at]++] = flow;
  }

  /** Slots until the connection's next burst; 0: it was its last one. */
  private int burst(int flow) {
    int bursts = traffic.packets[flow] - left[flow] < TOGETHER * Scenario.BURST ? 1 : TOGETHER;
    int packets = Math.min(left[flow], bursts * Scenario.BURST);
    long hash = traffic.hash[flow];
    int mux = mux(hash);
    int server = balancer.send(mux, flow, hash, packets);
    servers.load[server] += packets;
    isBroken[flow] |= server != servers.home(flow);
    left[flow] -= packets;
    if (left[flow] == 0) {
      balancer.close(mux, flow, hash);
      servers.close(flow);
      open--;
      return 0;
    }
    boolean isLong = traffic.packets[flow] - left[flow] >= TOGETHER * Scenario.BURST;
    return isLong ? TOGETHER * scenario.pace() : scenario.pace();
  }

  private void open(int flow, int slot) {
    long hash = traffic.hash[flow];
    int server = balancer.open(mux(hash), flow, hash);
    servers.open(flow, server, slot);
    servers.load[server]++;
    open++;
    mostOpen = Math.max(mostOpen, open);
    await(flow, slot + scenario.pace());
  }

  private int mux(long hash) {
    return scenario.muxes() == 1 ? 0 : Mix.below(scenario.muxes(), hash, 1000 + epoch);
  }

  private Map<String, Double> figures() {
    Map<String, Double> figures = new LinkedHashMap<>();
    double[] loads = Arrays.stream(servers.load).asDoubleStream().toArray();
    figures.put("variance", Spread.variance(loads));
    figures.put("deviation", Math.sqrt(Spread.variance(loads)) / Spread.mean(loads));
    figures.put("most", Arrays.stream(loads).max().orElseThrow() / Spread.mean(loads));
    figures.put("secondsVariance", secondsVariance / Math.max(1, seconds));
    figures.put("packets", (double) traffic.total);
    figures.put("mostOpen", (double) mostOpen);
    int broken = 0;
    int seen = 0;
    int brokenOfSeen = 0;
    for (int flow = 0; flow < traffic.size(); flow++) {
      broken += isBroken[flow] ? 1 : 0;
      seen += hasSeenChange[flow] ? 1 : 0;
      brokenOfSeen += hasSeenChange[flow] && isBroken[flow] ? 1 : 0;
    }
    figures.put("broken", (double) broken);
    figures.put("brokenPart", (double) broken / traffic.size());
    if (seen > 0) {
      figures.put("seenChange", (double) seen / traffic.size());
      figures.put("brokenOfSeen", (double) brokenOfSeen / seen);
    }
    balancer.report(figures);
    return figures;
  }
}
