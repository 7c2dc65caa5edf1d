// SPDX-License-Identifier: Apache-2.0
package balancers;

import io.fairlead.controller.core.steering.othello.NextArrays;
import io.fairlead.controller.core.steering.othello.OthelloArrays;
import io.fairlead.controller.core.steering.othello.OthelloMap;
import io.fairlead.controller.core.steering.othello.ServerBuckets;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.core.words.Hash;

/**
 * Concury's way (SoCC '20), with the controller's own arrays: a connection's code is looked up in
 * arrays that are the same at all muxes, and each code has a server. When the pool changes, arrays
 * are built that give all known connections a code of the server they have. A server that was taken
 * out keeps one of the 4,096 codes for those it has.
 */
final class Concury implements Balancer {
  static final int CODES = 4096;
  private static final int TRIES = 40;
  private final Servers servers;
  private final long[] hashes;
  private final int reportSlots;
  private final Buckets buckets;
  private final OthelloMap first;
  private OthelloArrays arrays;
  private char[] owners;
  private long generation;

  /**
   * @param hashes of all connections of the run
   * @param reportSlots how old a connection is when it is known
   */
  Concury(Servers servers, long[] hashes, int reportSlots, long seed) {
    this.servers = servers;
    this.hashes = hashes;
    this.reportSlots = reportSlots;
    buckets = new Buckets(AssignmentMethod.BEAMER, CODES, servers);
    first = OthelloMap.sized(Hash.SIPHASH, seed, 1 << 14);
    owners = owners();
    arrays = NextArrays.fresh(first, ++generation, ServerBuckets.of(owners)).arrays();
  }

  int connections() {
    return hashes.length;
  }

  @Override
  public int open(int mux, int flow, long hash) {
    return owners[arrays.code(hash)] - 1;
  }

  @Override
  public int send(int mux, int flow, long hash, int packets) {
    return open(mux, flow, hash);
  }

  @Override
  public void change(int slot) {
    buckets.change(servers);
    char[] before = owners;
    owners = owners();
    for (int server = 0; server < Scenario.SERVERS; server++) {
      for (int code = 0; servers.isOut(server) && code < CODES; code++) {
        if (before[code] == server + 1) {
          owners[code] = (char) (server + 1);
          break;
        }
      }
    }
    for (int attempt = 0; attempt < TRIES; attempt++) {
      NextArrays next =
          NextArrays.fresh(known(slot, attempt), ++generation, ServerBuckets.of(owners));
      if (next.unplaced() == 0) {
        arrays = next.arrays();
        return;
      }
    }
    throw new IllegalStateException("no arrays fit after " + TRIES + " seeds");
  }

  /**
   * Connections that servers have reported; with the seed of the arrays before if it is the first
   * attempt.
   */
  private OthelloMap known(int slot, int attempt) {
    int count = 0;
    for (int flow = 0; flow < hashes.length; flow++) {
      count += isKnown(flow, slot) ? 1 : 0;
    }
    boolean fits = attempt == 0 && count * 5L / 4 <= 1 << 14;
    OthelloMap map =
        OthelloMap.sized(
            Hash.SIPHASH,
            fits ? first.hash().seed() : first.hash().seed() + generation,
            Math.max(1 << 14, count * 5 / 4));
    for (int flow = 0; flow < hashes.length; flow++) {
      if (isKnown(flow, slot)) {
        map.put(hashes[flow], servers.home(flow) + 1);
      }
    }
    return map;
  }

  private boolean isKnown(int flow, int slot) {
    return servers.home(flow) != Servers.NONE && servers.opened(flow) <= slot - reportSlots;
  }

  private char[] owners() {
    char[] of = new char[CODES];
    for (int code = 0; code < CODES; code++) {
      of[code] = (char) (buckets.owner(code) + 1);
    }
    return of;
  }
}
