// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What servers say about their connections: each says which it has, and which it has no longer
 * (protocol/README.md §11). A server is only believed what {@link Rule} allows. A connection that
 * two claim belongs to the one that its packets are sent to; but if the other one claimed it while
 * they were sent there, it keeps it until it says otherwise, or reports no more. Then it is the
 * other one's, whose claim is remembered ({@link Disputes}).
 *
 * <p>A whole set replaces what was known of a server without a second copy: each connection has a
 * bit, each server says which value of it means "in the set"; {@link #begin} turns that value
 * around, and {@link #end} forgets the connections that still have the other one.
 *
 * <p>The map is rebuilt once it has too many connections for its cells: the next arrays have
 * another seed then in any case.
 *
 * <p>Not thread-safe; the owner is that of the map. Whoever takes reports bounds how many
 * connections are known.
 */
public final class Claims {
  private final OthelloMap map;

  /** By position in the map. */
  private long[] marks = new long[64];

  /** By server: the value of its connections' marks, except of those not yet in its set. */
  private final BitSet marked = new BitSet();

  /** By position in the map: its server claimed it while it was the owner. */
  private final BitSet firm = new BitSet();

  /** Of the servers whose whole sets have begun: how many connections were in them so far. */
  private final Map<Integer, Integer> sets = new HashMap<>();

  private final Disputes disputes;

  public Claims(OthelloMap map) {
    this(map, Disputes.MAX);
  }

  /** With another bound of connections that several servers claim. */
  Claims(OthelloMap map, int disputes) {
    this.map = map;
    this.disputes = new Disputes(disputes);
  }

  public OthelloMap map() {
    return map;
  }

  /** How many known connections are claimed by another server too. */
  public int disputed() {
    return disputes.size();
  }

  /** Where packets of a connection reach several servers. */
  public interface Shared {
    /**
     * The code by which packets of the connection go on reaching all of these; empty if there is
     * none, or the claims are known to be wrong.
     *
     * @param isFirm whether the holder claimed the connection while it was the owner
     */
    Optional<Pins.Pin> pin(long key, int holder, boolean isFirm, Set<Integer> claimants);
  }

  /** The codes of connections that several servers claim. */
  public Pins pins(Shared shared) {
    if (disputes.isEmpty()) {
      return Pins.NONE;
    }
    Pins pins = new Pins(new HashMap<>(), new HashSet<>());
    disputes
        .claims()
        .forEach(
            (key, claimants) -> {
              int at = map.find(key);
              shared
                  .pin(key, map.serverAt(at), firm.get(at), claimants.keySet())
                  .ifPresent(pin -> pins.put(key, pin));
            });
    return pins;
  }

  /** Which server can have a connection. */
  public interface Rule {
    /** Whether packets of the connection are sent to this server, or were until lately. */
    boolean mayHave(int server, long key);

    /** The server to which packets of the connection are sent first; 0: none. */
    int owner(long key);

    /** Whether the server has said lately which connections it no longer has. */
    boolean isPrompt(int server);
  }

  /** What became of a claim. */
  public enum Outcome {
    /** The connection was unknown. */
    ADDED,
    /** It was known to be this server's. */
    KNOWN,
    /** It was known to be another's. */
    TAKEN,
    /** Refused: the server cannot have it. */
    IMPLAUSIBLE,
    /** Refused: another has it, to which its packets are sent, or were when that one said so. */
    CONTESTED
  }

  /** A server begins to report its whole set, whatever it reported of one before. */
  public void begin(int server) {
    if (sets.put(server, 0) != null) {
      for (int at = 0; at < map.end(); at++) {
        if (map.serverAt(at) == server) {
          mark(at, marked.get(server)); // those of a set that was broken off
        }
      }
    }
    marked.flip(server);
    disputes.begin(server);
  }

  /** A server says that it has this connection. */
  public Outcome open(int server, long key, Rule rule) {
    int at = map.find(key);
    int holder = at < 0 ? 0 : map.serverAt(at);
    int owner = rule.owner(key);
    if (holder == server) {
      if (isMarked(at) != marked.get(server)) {
        enter(at, server);
      }
      if (owner == server) {
        firm.set(at);
      }
      return Outcome.KNOWN;
    }
    if (!rule.mayHave(server, key)) {
      return Outcome.IMPLAUSIBLE;
    }
    if (holder == 0) {
      int added = map.add(key, server);
      enter(added, server);
      firm.set(added, owner == server);
      if (map.needsRebuild()) { // without, each further connection costs a search of large trees
        map.rebuild(Prf.at(map.hash().seed(), map.size()));
      }
      return Outcome.ADDED;
    }
    if (owner == holder || (firm.get(at) && rule.isPrompt(holder))) {
      disputes.add(key, server, true);
      return Outcome.CONTESTED;
    }
    leave(at, holder);
    disputes.remove(key, server);
    disputes.add(key, holder, isMarked(at) == marked.get(holder));
    map.move(at, server);
    enter(at, server);
    firm.set(at, owner == server);
    return Outcome.TAKEN;
  }

  /** A server says that it no longer has this connection; whether it was known to be its own. */
  public boolean close(int server, long key) {
    int at = map.find(key);
    if (at < 0 || map.serverAt(at) != server) {
      disputes.remove(key, server);
      return false;
    }
    leave(at, server);
    lose(at);
    return true;
  }

  /**
   * A server's whole set is complete.
   *
   * @return how many connections are not its own any more because the set lacks them; none if no
   *     set has begun since the server was forgotten
   */
  public int end(int server) {
    Integer seen = sets.remove(server);
    if (seen == null) {
      return 0;
    }
    disputes.end(server);
    int lacking = map.size(server) - seen;
    int left = lacking;
    for (int at = 0; left > 0; at++) {
      if (map.serverAt(at) == server && isMarked(at) != marked.get(server)) {
        lose(at);
        left--;
      }
    }
    return lacking;
  }

  /**
   * A server is gone, and its connections with it.
   *
   * @return how many they were
   */
  public int forget(int server) {
    begin(server);
    return end(server);
  }

  /** Its server has this connection no longer: whoever else claims it does, if anyone. */
  private void lose(int at) {
    long key = map.keyAt(at);
    Map.Entry<Integer, Integer> next = disputes.first(key);
    if (next == null) {
      map.removeAt(at);
      return;
    }
    int server = next.getKey();
    boolean isInSet = disputes.isLatest(server, next.getValue());
    map.move(at, server);
    firm.clear(at);
    if (isInSet) {
      enter(at, server);
    } else {
      mark(at, !marked.get(server));
    }
    disputes.remove(key, server);
  }

  /** Marks a connection that is new to this server as in its set. */
  private void enter(int at, int server) {
    mark(at, marked.get(server));
    sets.computeIfPresent(server, (any, seen) -> seen + 1);
  }

  /** A connection of this server is no longer its own. */
  private void leave(int at, int server) {
    if (isMarked(at) == marked.get(server)) {
      sets.computeIfPresent(server, (any, seen) -> seen - 1);
    }
  }

  private boolean isMarked(int at) {
    return (marks[at >> 6] >>> at & 1) != 0;
  }

  private void mark(int at, boolean to) {
    if (at >> 6 >= marks.length) {
      marks = Arrays.copyOf(marks, Math.max(2 * marks.length, (at >> 6) + 1));
    }
    marks[at >> 6] = to ? marks[at >> 6] | 1L << at : marks[at >> 6] & ~(1L << at);
  }
}
