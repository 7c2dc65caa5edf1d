// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.Arrays;

/**
 * What the servers know: which connections each has. One that is taken out of the pool keeps those
 * it has.
 *
 * <p>{@code load} is the truth, packets that reached each server, which only a method with perfect
 * knowledge may read.
 */
final class Servers {
  static final int NONE = -1;

  final long[] load = new long[Scenario.SERVERS];
  private final byte[] home;
  private final int[] opened;
  private final boolean[] isOut = new boolean[Scenario.SERVERS];
  private int[] pool;

  Servers(int connections) {
    home = new byte[connections];
    opened = new int[connections];
    Arrays.fill(home, (byte) NONE);
    refresh();
  }

  /** The server of an open connection. */
  int home(int flow) {
    return home[flow];
  }

  void open(int flow, int server, int slot) {
    if (home[flow] != NONE || server < 0 || server >= Scenario.SERVERS) {
      throw new IllegalStateException(
          "connection %d, opened at %d and %d".formatted(flow, home[flow], server));
    }
    home[flow] = (byte) server;
    opened[flow] = slot;
  }

  void close(int flow) {
    home[flow] = NONE;
  }

  /** When the connection was opened. */
  int opened(int flow) {
    return opened[flow];
  }

  /** Servers that get new connections. */
  int[] pool() {
    return pool;
  }

  boolean isOut(int server) {
    return isOut[server];
  }

  void set(int server, boolean out) {
    isOut[server] = out;
    refresh();
  }

  private void refresh() {
    int[] in = new int[Scenario.SERVERS];
    int n = 0;
    for (int server = 0; server < in.length; server++) {
      if (!isOut[server]) {
        in[n++] = server;
      }
    }
    pool = Arrays.copyOf(in, n);
  }
}
