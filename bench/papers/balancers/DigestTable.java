// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * SilkRoad's way (SIGCOMM '17): one choice by hash modulo the pool, and a table of connections by
 * 16 bits of digest, four in a row, each in one of two rows. A SYN whose digest is there already is
 * put into an exact table, and so is what finds no room. Entries are there at once; in a switch its
 * processor adds them, and a filter bridges that time.
 */
final class DigestTable implements Balancer {
  /**
   * Of a connection: 16 of digest, 6 of the pool's version, 6 beside, since four of them take 112
   * bits.
   */
  static final int BITS = 28;

  private static final int WAYS = 4;
  private static final int EMPTY = -1;
  private final Servers servers;
  private final Mux[] muxes;

  /** Of one mux. */
  private static final class Mux {
    final int[] cells; // digest << 8 | server
    final Map<Integer, Integer> exact = new HashMap<>();
    int collided;
    int full;

    Mux(int rows) {
      cells = new int[rows * WAYS];
      Arrays.fill(cells, EMPTY);
    }

    private int row(long hash, int which) {
      return WAYS * Mix.below(cells.length / WAYS, hash, 20 + which);
    }

    /** Where the digest is, or EMPTY. */
    int find(long hash) {
      int digest = Mix.below(1 << 16, hash, 22);
      for (int which = 0; which < 2; which++) {
        int row = row(hash, which);
        for (int way = row; way < row + WAYS; way++) {
          if (cells[way] != EMPTY && cells[way] >> 8 == digest) {
            return way;
          }
        }
      }
      return EMPTY;
    }

    void add(int flow, long hash, int server) {
      if (find(hash) != EMPTY) {
        collided++;
        exact.put(flow, server);
        return;
      }
      for (int which = 0; which < 2; which++) {
        int row = row(hash, which);
        for (int way = row; way < row + WAYS; way++) {
          if (cells[way] == EMPTY) {
            cells[way] = Mix.below(1 << 16, hash, 22) << 8 | server;
            return;
          }
        }
      }
      full++;
      exact.put(flow, server);
    }
  }

  DigestTable(Servers servers, int muxes, int rows) {
    this.servers = servers;
    this.muxes = new Mux[muxes];
    Arrays.setAll(this.muxes, mux -> new Mux(rows));
  }

  @Override
  public int open(int mux, int flow, long hash) {
    int server = byPool(hash);
    muxes[mux].add(flow, hash, server);
    return server;
  }

  @Override
  public int send(int mux, int flow, long hash, int packets) {
    Integer exact = muxes[mux].exact.isEmpty() ? null : muxes[mux].exact.get(flow);
    if (exact != null) {
      return exact;
    }
    int at = muxes[mux].find(hash);
    return at == EMPTY ? byPool(hash) : muxes[mux].cells[at] & 0xff;
  }

  @Override
  public void close(int mux, int flow, long hash) {
    if (muxes[mux].exact.remove(flow) == null) {
      int at = muxes[mux].find(hash);
      if (at != EMPTY) {
        muxes[mux].cells[at] = EMPTY;
      }
    }
  }

  @Override
  public void report(Map<String, Double> figures) {
    double collided = 0;
    double full = 0;
    for (Mux mux : muxes) {
      collided += mux.collided;
      full += mux.full;
    }
    figures.put("collided", collided);
    figures.put("full", full);
  }

  private int byPool(long hash) {
    int[] pool = servers.pool();
    return pool[Integer.remainderUnsigned((int) hash, pool.length)];
  }
}
