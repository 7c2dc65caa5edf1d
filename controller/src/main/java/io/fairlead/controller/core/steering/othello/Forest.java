// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import java.util.Arrays;
import java.util.function.IntPredicate;

/**
 * The graph of an Othello: each cell of A and B is a node, each key an edge between its two cells,
 * and there is no cycle. Edges have numbers. Each node has a value, so that the values of an edge's
 * two nodes, XORed, give its number: that is the index of {@link OthelloMap}.
 *
 * <p>A node is one long: value 32 · first edge 32. An edge is two: key 64 · the next edge of the
 * same A 32 · of the same B 32. So a visit of either is one line of the cache. Edges in these lists
 * are counted from 1; 0 ends a list.
 */
final class Forest {
  private static final long UNLINKED = -1;

  /**
   * Nodes to visit for a new edge, of each tree. With as many keys as {@link OthelloMap} wants, one
   * node of 5,000 is in a larger tree, so almost never are both. With too many keys there are trees
   * of millions, and each new key would take as long.
   */
  private static final int VISITS_MAX = 512;

  private OthelloHash hash;
  private long[] nodes;
  private long[] edges;
  private final Side near = new Side();
  private final Side far = new Side();

  Forest(OthelloHash hash, int edges) {
    this.hash = hash;
    this.nodes = new long[hash.cells()];
    this.edges = new long[2 * edges];
    Arrays.fill(this.edges, UNLINKED);
  }

  OthelloHash hash() {
    return hash;
  }

  void grow(int capacity) {
    int before = edges.length;
    edges = Arrays.copyOf(edges, 2 * capacity);
    Arrays.fill(edges, before, edges.length, UNLINKED);
  }

  long bytes() {
    return 8L * nodes.length + 8L * edges.length;
  }

  long key(int edge) {
    return edges[2 * edge];
  }

  void setKey(int edge, long key) {
    edges[2 * edge] = key;
  }

  boolean isLinked(int edge) {
    return edges[2 * edge + 1] != UNLINKED;
  }

  /** The number of the only edge that can have this key; any number if none has. */
  int candidate(long key) {
    return value(nodes[hash.a(key)]) ^ value(nodes[hash.b(key)]);
  }

  /**
   * Adds an edge whose key is set; false if it would close a cycle, or if too large trees leave
   * that open, and nothing has changed.
   */
  boolean link(int edge) {
    long key = key(edge);
    int a = hash.a(key);
    int b = hash.b(key);
    if (first(nodes[a]) != 0 && first(nodes[b]) != 0) {
      Side smaller = smaller(a, b, -1, VISITS_MAX);
      if (smaller == null) {
        return false;
      }
      add(smaller, value(nodes[a]) ^ value(nodes[b]) ^ edge);
    } else if (first(nodes[a]) == 0) {
      nodes[a] = node(value(nodes[b]) ^ edge, 0);
    } else {
      nodes[b] = node(value(nodes[a]) ^ edge, 0);
    }
    insert(edge, a, b);
    return true;
  }

  /** Removes an edge; the others keep their numbers, and the nodes their values. */
  void unlink(int edge) {
    long key = key(edge);
    int a = hash.a(key);
    int b = hash.b(key);
    int nextA = (int) (edges[2 * edge + 1] >>> 32);
    int nextB = (int) edges[2 * edge + 1];
    int at = first(nodes[a]);
    if (at == edge + 1) {
      nodes[a] = node(value(nodes[a]), nextA);
    } else {
      while ((int) (edges[2 * at - 1] >>> 32) != edge + 1) {
        at = (int) (edges[2 * at - 1] >>> 32);
      }
      edges[2 * at - 1] = node(nextA, (int) edges[2 * at - 1]);
    }
    at = first(nodes[b]);
    if (at == edge + 1) {
      nodes[b] = node(value(nodes[b]), nextB);
    } else {
      while ((int) edges[2 * at - 1] != edge + 1) {
        at = (int) edges[2 * at - 1];
      }
      edges[2 * at - 1] = node((int) (edges[2 * at - 1] >>> 32), nextB);
    }
    edges[2 * edge + 1] = UNLINKED;
  }

  /**
   * The smaller of the two trees that remain without {@code edge}: the one of node {@code a} or
   * that of node {@code b}. Visits at most twice as many nodes as that one has. With an edge of -1
   * none is left out; null if both nodes are in one tree then. Valid until the next call.
   */
  Side smaller(int a, int b, int edge) {
    return smaller(a, b, edge, Integer.MAX_VALUE);
  }

  private Side smaller(int a, int b, int edge, int most) {
    near.start(a, edge + 1);
    far.start(b, edge + 1);
    while (near.done < most) {
      if (near.done == near.count) {
        return near;
      }
      if (!visit(near, b)) {
        return null;
      }
      if (far.done == far.count) {
        return far;
      }
      if (!visit(far, a)) {
        return null;
      }
    }
    return null;
  }

  /** Adds the neighbours of the side's next node; false if one of them is {@code target}. */
  private boolean visit(Side side, int target) {
    int node = side.nodes[side.done];
    int via = side.vias[side.done++];
    boolean isOfA = node < hash.na();
    int edge = first(nodes[node]);
    while (edge != 0) {
      long next = edges[2 * edge - 1];
      if (edge != via) {
        long key = edges[2 * edge - 2];
        int other = isOfA ? hash.b(key) : hash.a(key);
        if (other == target) {
          return false;
        }
        side.push(other, edge);
      }
      edge = isOfA ? (int) (next >>> 32) : (int) next;
    }
    return true;
  }

  /** Visits each edge of each tree once, from a tree's lowest node on, parents before children. */
  void walk(Walker walker) {
    long[] visited = new long[(nodes.length + 63) / 64];
    for (int root = 0; root < nodes.length; root++) {
      if (first(nodes[root]) == 0 || (visited[root >> 6] >>> root & 1) != 0) {
        continue;
      }
      walker.root(root);
      near.start(root, 0);
      while (near.done < near.count) {
        int parent = near.nodes[near.done];
        visited[parent >> 6] |= 1L << parent;
        int from = near.count;
        visit(near, -1);
        for (int i = from; i < near.count; i++) {
          walker.edge(parent, near.nodes[i], near.vias[i] - 1);
        }
      }
    }
  }

  interface Walker {
    void root(int node);

    void edge(int parent, int child, int edge);
  }

  /**
   * Starts again with other cells: links all edges below {@code end} that {@code isUsed} names,
   * without those that would close a cycle. One pass with union-find, whose parents are in the
   * nodes' values, and a walk that replaces them by what the index needs.
   *
   * @return how many were left out
   */
  int rebuild(OthelloHash other, int end, IntPredicate isUsed) {
    hash = other;
    nodes = null; // else old and new ones were in memory together
    nodes = new long[other.cells()];
    for (int node = 0; node < nodes.length; node++) {
      nodes[node] = (long) node << 32;
    }
    int left = 0;
    for (int edge = 0; edge < end; edge++) {
      if (!isUsed.test(edge)) {
        continue;
      }
      long key = key(edge);
      int a = other.a(key);
      int b = other.b(key);
      int rootA = root(a);
      int rootB = root(b);
      if (rootA == rootB) {
        edges[2 * edge + 1] = UNLINKED;
        left++;
        continue;
      }
      setParent(Math.max(rootA, rootB), Math.min(rootA, rootB));
      insert(edge, a, b);
    }
    walk(new Index());
    return left;
  }

  private int root(int node) {
    int at = node;
    int parent = value(nodes[at]);
    while (parent != at) {
      int next = value(nodes[parent]);
      setParent(at, next); // halves the path
      at = next;
      parent = value(nodes[at]);
    }
    return at;
  }

  private void setParent(int node, int parent) {
    nodes[node] = node(parent, first(nodes[node]));
  }

  private final class Index implements Walker {
    @Override
    public void root(int node) {
      nodes[node] = node(0, first(nodes[node]));
    }

    @Override
    public void edge(int parent, int child, int edge) {
      nodes[child] = node(value(nodes[parent]) ^ edge, first(nodes[child]));
    }
  }

  private void insert(int edge, int a, int b) {
    edges[2 * edge + 1] = node(first(nodes[a]), first(nodes[b]));
    nodes[a] = node(value(nodes[a]), edge + 1);
    nodes[b] = node(value(nodes[b]), edge + 1);
  }

  private void add(Side side, int difference) {
    for (int i = 0; i < side.count; i++) {
      nodes[side.nodes[i]] ^= (long) difference << 32;
    }
  }

  private static int value(long node) {
    return (int) (node >>> 32);
  }

  private static int first(long node) {
    return (int) node;
  }

  private static long node(int high, int low) {
    return (long) high << 32 | low & 0xffffffffL;
  }

  /** The nodes of a tree as they are found, and the edge by which each was reached, from 1. */
  static final class Side {
    int[] nodes = new int[64];
    private int[] vias = new int[64];
    int count;
    private int done;

    private void start(int node, int via) {
      nodes[0] = node;
      vias[0] = via;
      count = 1;
      done = 0;
    }

    private void push(int node, int via) {
      if (count == nodes.length) {
        nodes = Arrays.copyOf(nodes, 2 * count);
        vias = Arrays.copyOf(vias, 2 * count);
      }
      nodes[count] = node;
      vias[count++] = via;
    }
  }
}
