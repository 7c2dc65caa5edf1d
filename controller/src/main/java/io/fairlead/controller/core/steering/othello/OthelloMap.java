// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import io.fairlead.controller.core.words.Hash;
import java.util.Arrays;

/**
 * The connections that the controller knows, by their flow hash, and the server of each (Concury,
 * §5.4: OthelloMap). Keys and servers are in arrays; an Othello gives a key's position there, and
 * the key at that position says whether it is known. The graph of that Othello is kept, because the
 * next arrays for the muxes are filled from the same one ({@link NextArrays}).
 *
 * <p>A key that would close a cycle is kept beside the graph until the next {@link #rebuild} or
 * until {@link #relink} finds room for it. So to add or remove a key takes amortised constant time
 * always, and nothing waits for a rebuild. Positions stay until the key is removed.
 *
 * <p>Not thread-safe: it has one owner, a thread.
 */
public final class OthelloMap {
  /** Keys beyond this share of what acyclic graphs bear: too many cycles. keys² = 0.8 · na · nb. */
  private static final double LOAD_MAX = 0.8;

  private static final int CAPACITY_MIN = 256;
  private static final int NONE = -1;

  private final Forest forest;
  private char[] servers;
  private int end;
  private int free = NONE;
  private int size;
  private Beside beside = new Beside();
  private int[] counts = new int[16];

  private OthelloMap(OthelloHash hash, int capacity) {
    forest = new Forest(hash, capacity);
    servers = new char[capacity];
  }

  /** With room for so many keys; more are as welcome, and demand a rebuild at some time. */
  public static OthelloMap sized(Hash hash, long seed, int keys) {
    return new OthelloMap(OthelloHash.sized(hash, seed, keys), Math.max(keys, CAPACITY_MIN));
  }

  /** With the seed and sizes of these arrays, so that the next arrays differ from them little. */
  public static OthelloMap over(OthelloArrays arrays) {
    return new OthelloMap(arrays.hash(), CAPACITY_MIN);
  }

  public OthelloHash hash() {
    return forest.hash();
  }

  public int size() {
    return size;
  }

  /** How many keys have this server. */
  public int size(int server) {
    return server < counts.length ? counts[server] : 0;
  }

  /** How many keys are beside the graph. */
  public int beside() {
    return beside.size;
  }

  /** Bytes of all arrays; more while they grow. */
  public long bytes() {
    return forest.bytes() + 2L * servers.length + 4L * beside.slots.length + 4L * counts.length;
  }

  /** keys / √(na · nb): below 1, almost all keys of a random graph close no cycle. */
  public double load() {
    return size / Math.sqrt((double) hash().na() * hash().nb());
  }

  /**
   * Whether there are too many keys for the cells. The next arrays then change every code once,
   * since they have another seed.
   */
  public boolean needsRebuild() {
    return load() * load() > LOAD_MAX;
  }

  /** The key's server, 0 if it is unknown. */
  public int server(long key) {
    int at = find(key);
    return at == NONE ? 0 : servers[at];
  }

  /**
   * Adds the key, or gives it another server.
   *
   * @return the server before, 0 if the key was unknown
   */
  public int put(long key, int server) {
    int at = find(key);
    if (at == NONE) {
      add(key, server);
      return 0;
    }
    int before = servers[at];
    move(at, server);
    return before;
  }

  /** Removes the key; returns its server, 0 if it was unknown. */
  public int remove(long key) {
    int at = find(key);
    if (at == NONE) {
      return 0;
    }
    int before = servers[at];
    removeAt(at);
    return before;
  }

  /**
   * Another seed, and cells for a quarter more keys than there are. Takes as long as to add all
   * keys: 16 million take seconds, so a service's thread never does it (package-info).
   */
  public void rebuild(long seed) {
    OthelloHash hash = OthelloHash.sized(hash().hash(), seed, size + size / 4);
    forest.rebuild(hash, end, at -> servers[at] != 0);
    beside = new Beside();
    for (int at = 0; at < end; at++) {
      if (servers[at] != 0 && !forest.isLinked(at)) {
        beside.add(at);
      }
    }
  }

  /**
   * Tries once more to add the keys beside the graph to it: of those in their way some are gone.
   */
  public void relink() {
    for (int at : beside.all()) {
      if (forest.link(at)) {
        beside.remove(at);
      }
    }
  }

  /** Positions are below this; those without a key have no server. */
  int end() {
    return end;
  }

  int serverAt(int at) {
    return servers[at];
  }

  long keyAt(int at) {
    return forest.key(at);
  }

  /** The positions of the keys beside the graph. */
  int[] besideGraph() {
    return beside.all();
  }

  Forest forest() {
    return forest;
  }

  /** The key's position, or -1. */
  int find(long key) {
    int at = forest.candidate(key);
    if (at >= 0 && at < end && forest.key(at) == key && servers[at] != 0) {
      return at;
    }
    return beside.size == 0 ? NONE : beside.find(key);
  }

  /** Adds a key that is unknown; returns its position. */
  int add(long key, int server) {
    checkServer(server);
    int at = free;
    if (at == NONE) {
      at = end++;
      if (at == servers.length) {
        grow();
      }
    } else {
      free = (int) forest.key(at);
    }
    forest.setKey(at, key);
    servers[at] = (char) server;
    count(server, 1);
    size++;
    if (!forest.link(at)) {
      beside.add(at);
    }
    return at;
  }

  /** Gives the key at this position another server. */
  void move(int at, int server) {
    checkServer(server);
    count(servers[at], -1);
    count(server, 1);
    servers[at] = (char) server;
  }

  void removeAt(int at) {
    if (forest.isLinked(at)) {
      forest.unlink(at);
    } else {
      beside.remove(at);
    }
    count(servers[at], -1);
    servers[at] = 0;
    forest.setKey(at, free);
    free = at;
    size--;
  }

  private void grow() {
    int capacity = Math.min(servers.length + (servers.length >> 1), OthelloHash.CELLS_MAX);
    if (capacity == servers.length) {
      throw new IllegalStateException("%d keys; allowed: up to %1$d".formatted(capacity));
    }
    forest.grow(capacity);
    servers = Arrays.copyOf(servers, capacity);
  }

  private void count(int server, int change) {
    if (server >= counts.length) {
      counts = Arrays.copyOf(counts, Integer.highestOneBit(server) << 1);
    }
    counts[server] += change;
  }

  private static void checkServer(int server) {
    if (server < 1 || server > Character.MAX_VALUE) {
      throw new IllegalArgumentException("server %d; allowed: 1..65535".formatted(server));
    }
  }

  /** A hash table of positions, by their keys; linear probing. */
  private final class Beside {
    private int[] slots = new int[16];
    private int size;

    int find(long key) {
      for (int slot = home(key); slots[slot] != 0; slot = slot + 1 & slots.length - 1) {
        if (forest.key(slots[slot] - 1) == key) {
          return slots[slot] - 1;
        }
      }
      return NONE;
    }

    void add(int at) {
      if (2 * ++size > slots.length) {
        int[] before = slots;
        slots = new int[2 * before.length];
        for (int each : before) {
          if (each != 0) {
            slots[gap(forest.key(each - 1))] = each;
          }
        }
      }
      slots[gap(forest.key(at))] = at + 1;
    }

    /** Moves up those behind that the gap would hide. */
    void remove(int at) {
      int mask = slots.length - 1;
      int gap = home(forest.key(at));
      while (slots[gap] != at + 1) {
        gap = gap + 1 & mask;
      }
      for (int slot = gap + 1 & mask; slots[slot] != 0; slot = slot + 1 & mask) {
        int home = home(forest.key(slots[slot] - 1));
        if ((slot - home & mask) >= (slot - gap & mask)) {
          slots[gap] = slots[slot];
          gap = slot;
        }
      }
      slots[gap] = 0;
      size--;
    }

    int[] all() {
      return Arrays.stream(slots).filter(slot -> slot != 0).map(slot -> slot - 1).toArray();
    }

    private int gap(long key) {
      int slot = home(key);
      while (slots[slot] != 0) {
        slot = slot + 1 & slots.length - 1;
      }
      return slot;
    }

    private int home(long key) {
      return (int) (Prf.mix(key) & slots.length - 1);
    }
  }
}
