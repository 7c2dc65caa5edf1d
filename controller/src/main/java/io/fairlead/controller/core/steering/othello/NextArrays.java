// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import java.util.Collections;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongToIntFunction;

/**
 * Arrays that give each known connection a code whose bucket its server owns (Concury, §5.5). They
 * are filled from the graph of the map, which holds no cycle; so any code can be given to any
 * connection in it.
 *
 * <p>{@link #change} keeps the arrays before and changes the cells of the connections alone whose
 * code does not fit: on the smaller side of each one's tree. So almost all unknown connections keep
 * their codes, and muxes read a small patch. (Concury computes all cells again for each change of
 * the pool.) {@link #fresh} is for another seed. Cells and choices come from the seed that is
 * committed, and the generation that they are built for.
 *
 * @param changed cells that differ from the base; all of them if fresh
 * @param recoded connections that got another code
 * @param unplaced connections beside the graph whose code does not fit; another seed places them
 * @param homeless connections of servers without a bucket, by server: their code does not fit
 */
public record NextArrays(
    OthelloArrays arrays,
    int changed,
    int recoded,
    int unplaced,
    SortedMap<Integer, Integer> homeless) {
  public NextArrays {
    homeless = Collections.unmodifiableSortedMap(homeless);
  }

  /**
   * From the arrays before. Tries first to {@link OthelloMap#relink}.
   *
   * @param base of the same seed and sizes as the map
   */
  public static NextArrays change(
      OthelloMap map, OthelloArrays base, long generation, ServerBuckets buckets) {
    return change(map, base, generation, buckets, Pins.NONE);
  }

  /**
   * The same.
   *
   * @param pins of connections that several servers claim
   */
  public static NextArrays change(
      OthelloMap map, OthelloArrays base, long generation, ServerBuckets buckets, Pins pins) {
    if (!map.hash().equals(base.hash()) || buckets.buckets() != base.buckets()) {
      throw new IllegalArgumentException(
          "%s and %d buckets for %s".formatted(map.hash(), buckets.buckets(), base));
    }
    map.relink();
    OthelloHash hash = map.hash();
    Forest forest = map.forest();
    Choice choice = new Choice(buckets, pins, hash.seed(), generation);
    char[] cells = base.cells().clone();
    int recoded = 0;
    for (int at = 0; at < map.end(); at++) {
      int server = map.serverAt(at);
      if (server == 0) {
        continue;
      }
      long key = map.keyAt(at);
      int a = hash.a(key);
      int b = hash.b(key);
      int code = cells[a] ^ cells[b];
      if (choice.fits(server, key, code) || !forest.isLinked(at) || !choice.hasAny(server, key)) {
        continue;
      }
      int difference = code ^ choice.bucket(server, key);
      Forest.Side side = forest.smaller(a, b, at);
      for (int i = 0; i < side.count; i++) {
        cells[side.nodes[i]] ^= difference;
      }
      recoded++;
    }
    int changed = 0;
    for (int cell = 0; cell < cells.length; cell++) {
      changed += cells[cell] != base.cells()[cell] ? 1 : 0;
    }
    OthelloArrays arrays = new OthelloArrays(hash, generation, base.bits(), cells);
    int unplaced = unplaced(map, arrays, choice);
    return new NextArrays(arrays, changed, recoded, unplaced, choice.homeless);
  }

  /** All cells random, except for what the known connections demand. */
  public static NextArrays fresh(OthelloMap map, long generation, ServerBuckets buckets) {
    return fresh(map, generation, buckets, Pins.NONE);
  }

  /**
   * The same.
   *
   * @param pins of connections that several servers claim
   */
  public static NextArrays fresh(
      OthelloMap map, long generation, ServerBuckets buckets, Pins pins) {
    OthelloHash hash = map.hash();
    int bits = Integer.numberOfTrailingZeros(buckets.buckets());
    Choice choice = new Choice(buckets, pins, hash.seed(), generation);
    char[] cells = new char[hash.cells()];
    for (int cell = 0; cell < cells.length; cell++) {
      cells[cell] = (char) (Prf.at(hash.seed(), cell) >>> 64 - bits);
    }
    Filler filler = new Filler(map, choice, cells);
    map.forest().walk(filler);
    OthelloArrays arrays = new OthelloArrays(hash, generation, bits, cells);
    int unplaced = unplaced(map, arrays, choice);
    return new NextArrays(arrays, cells.length, filler.coded, unplaced, choice.homeless);
  }

  /**
   * Known connections whose code does not fit.
   *
   * @param needed former owners that known connections need
   * @param isSplit whether any connection needs the arrays before in any case ({@link Pins})
   */
  public record Misfits(int count, NeededOwners needed, boolean isSplit) {}

  /**
   * @param codes of the newest arrays, or the low bits of the hash before there are any
   * @param before of the arrays before, which may be the only ones that lead to a connection
   * @param pins of connections that several servers claim
   */
  public static Misfits misfits(
      OthelloMap map,
      LongToIntFunction codes,
      Optional<LongToIntFunction> before,
      ServerBuckets buckets,
      Pins pins) {
    int count = 0;
    NeededOwners needed = new NeededOwners();
    pins.codes().values().forEach(needed::all);
    for (int at = 0; at < map.end(); at++) {
      int server = map.serverAt(at);
      if (server != 0) {
        long key = map.keyAt(at);
        int code = codes.applyAsInt(key);
        Integer pin = pins.code(key);
        if (pin != null) {
          needed.all(code);
        }
        boolean isFit =
            pin == null
                ? buckets.fits(server, code)
                : pins.fits(key, code) && buckets.count(server) > 0; // else homeless, too
        count += isFit ? 0 : 1;
        if (!buckets.owns(server, code)) {
          needed.add(code, server);
        }
        int other = before.isPresent() ? before.get().applyAsInt(key) : code;
        if (!buckets.owns(server, other)) {
          needed.add(other, server);
        }
      }
    }
    return new Misfits(count, needed, !pins.split().isEmpty());
  }

  private static int unplaced(OthelloMap map, OthelloArrays arrays, Choice choice) {
    int unplaced = 0;
    for (int at : map.besideGraph()) {
      int server = map.serverAt(at);
      long key = map.keyAt(at);
      boolean isFit = choice.fits(server, key, arrays.code(key));
      unplaced += !isFit && choice.hasAny(server, key) ? 1 : 0;
    }
    return unplaced;
  }

  /** Gives each child of a tree the cell that makes its edge's code fit. */
  private static final class Filler implements Forest.Walker {
    private final OthelloMap map;
    private final Choice choice;
    private final char[] cells;
    private int coded;

    Filler(OthelloMap map, Choice choice, char[] cells) {
      this.map = map;
      this.choice = choice;
      this.cells = cells;
    }

    @Override
    public void root(int node) {}

    @Override
    public void edge(int parent, int child, int edge) {
      int server = map.serverAt(edge);
      long key = map.keyAt(edge);
      if (choice.hasAny(server, key)) {
        cells[child] = (char) (cells[parent] ^ choice.bucket(server, key));
        coded++;
      }
    }
  }

  /** The pin of a connection, or a bucket that is drawn by seed, generation and flow hash. */
  private static final class Choice {
    private final ServerBuckets buckets;
    private final Pins pins;
    private final long seed;
    private final SortedMap<Integer, Integer> homeless = new TreeMap<>();

    Choice(ServerBuckets buckets, Pins pins, long seed, long generation) {
      this.buckets = buckets;
      this.pins = pins;
      this.seed = Prf.at(~seed, generation);
    }

    boolean fits(int server, long key, int code) {
      Integer pin = pins.code(key);
      return pin == null ? buckets.fits(server, code) : pin == code;
    }

    /** Counts the connection if not. */
    boolean hasAny(int server, long key) {
      if (buckets.count(server) > 0 || pins.code(key) != null) {
        return true;
      }
      homeless.merge(server, 1, Integer::sum);
      return false;
    }

    int bucket(int server, long key) {
      Integer pin = pins.code(key);
      if (pin != null) {
        return pin;
      }
      return buckets.bucket(server, Prf.below(Prf.mix(seed ^ key), buckets.count(server)));
    }
  }
}
