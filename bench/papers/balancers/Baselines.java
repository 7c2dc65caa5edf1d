// SPDX-License-Identifier: Apache-2.0
package balancers;

import io.fairlead.controller.core.words.AssignmentMethod;
import java.util.SplittableRandom;

/** Methods whose muxes remember no connection, or whose packets say it all. */
final class Baselines {
  private Baselines() {}

  /** One choice, by the hash modulo the servers in the pool, as ECMP does. */
  static final class Hash implements Balancer {
    private final Servers servers;

    Hash(Servers servers) {
      this.servers = servers;
    }

    @Override
    public int open(int mux, int flow, long hash) {
      int[] pool = servers.pool();
      return pool[Integer.remainderUnsigned((int) hash, pool.length)];
    }

    @Override
    public int send(int mux, int flow, long hash, int packets) {
      return open(mux, flow, hash);
    }
  }

  /** One choice, by Maglev's table (NSDI '16), without its table of connections. */
  static final class MaglevTable implements Balancer {
    static final int SIZE = 65_536;
    private final Servers servers;
    private final Buckets buckets;

    MaglevTable(Servers servers) {
      this.servers = servers;
      buckets = new Buckets(AssignmentMethod.MAGLEV, SIZE, servers);
    }

    @Override
    public int open(int mux, int flow, long hash) {
      return buckets.owner((int) hash & SIZE - 1);
    }

    @Override
    public int send(int mux, int flow, long hash, int packets) {
      return open(mux, flow, hash);
    }

    @Override
    public void change(int slot) {
      buckets.change(servers);
    }
  }

  /**
   * Servers in turns, each mux by its own; each packet names its server, as Cheetah's cookies do
   * (NSDI '20).
   */
  static final class RoundRobin implements Balancer {
    private final Servers servers;
    private final int[] next;

    RoundRobin(Servers servers, int muxes) {
      this.servers = servers;
      next = new int[muxes];
    }

    @Override
    public int open(int mux, int flow, long hash) {
      int[] pool = servers.pool();
      return pool[next[mux]++ % pool.length];
    }

    @Override
    public int send(int mux, int flow, long hash, int packets) {
      return servers.home(flow);
    }
  }

  /**
   * The less loaded of two at random, by the packets that have reached each until now; forgets no
   * connection.
   */
  static final class TwoChoices implements Balancer {
    private final Servers servers;
    private final SplittableRandom random;

    TwoChoices(Servers servers, long seed) {
      this.servers = servers;
      random = new SplittableRandom(seed);
    }

    @Override
    public int open(int mux, int flow, long hash) {
      int[] pool = servers.pool();
      int one = pool[random.nextInt(pool.length)];
      int other = pool[random.nextInt(pool.length)];
      return servers.load[other] < servers.load[one] ? other : one;
    }

    @Override
    public int send(int mux, int flow, long hash, int packets) {
      return servers.home(flow);
    }
  }
}
