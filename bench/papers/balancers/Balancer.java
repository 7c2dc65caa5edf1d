// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.Map;

/** A method to choose servers, with what each of its muxes remembers. */
interface Balancer {
  /** How often {@link #tick} is called: every 10 ms. */
  int TICK = Scenario.SECOND / 100;

  /** A SYN: the server that gets the connection. */
  int open(int mux, int flow, long hash);

  /** Packets after the SYN: the server that they reach in the end. */
  int send(int mux, int flow, long hash, int packets);

  /** After its FIN was sent through this mux. The servers still know the connection. */
  default void close(int mux, int flow, long hash) {}

  default void tick(int slot) {}

  /** Servers were taken out of the pool, or put back. */
  default void change(int slot) {}

  /** Figures of its own, after the run; throws if what must hold did not. */
  default void report(Map<String, Double> figures) {}
}
