// SPDX-License-Identifier: Apache-2.0
package rules;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.fairlead.controller.core.assign.Defragmentation;
import io.fairlead.controller.core.assign.Upkeep;
import io.fairlead.controller.core.words.AssignmentMethod;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What bench/run p4_rules prints: rules that a switch would need for rings of the controller's own
 * assignment, and what a generation changes of them, as one JSON document. Arguments: the seed,
 * small changes of a pool's life, then SERVERS:BUCKETS each.
 */
public final class RuleFigures {
  /** The default of fairleadctl's --max-moves. */
  private static final int MOVES = 10;

  private final long seed;
  private final int changes;

  private RuleFigures(long seed, int changes) {
    this.seed = seed;
    this.changes = changes;
  }

  /** A change of a pool. */
  private interface Change {
    void of(Pool pool) throws Exception;
  }

  public static void main(String[] args) throws Exception {
    long seed = Long.parseLong(args[0]);
    int changes = Integer.parseInt(args[1]);
    Map<String, Object> rings = new LinkedHashMap<>();
    Map<String, Object> methods = new LinkedHashMap<>();
    for (int i = 2; i < args.length; i++) {
      String[] size = args[i].split(":");
      int servers = Integer.parseInt(size[0]);
      int buckets = Integer.parseInt(size[1]);
      RuleFigures figures = new RuleFigures(seed, changes);
      rings.put(args[i], figures.states(servers, buckets));
      System.err.println(args[i]);
      if (i == 2) {
        methods.put(args[i], figures.methods(servers, buckets));
      }
    }
    System.out.println(
        new ObjectMapper().writeValueAsString(inOrder(Map.of("rings", rings, "methods", methods))));
  }

  private Pool pool(int servers, int buckets) throws Exception {
    return new Pool(servers, buckets, AssignmentMethod.BEAMER, Pool.WEIGHT, seed);
  }

  private Form form(Pool pool) {
    return new Form(pool.ring());
  }

  private Map<String, Object> states(int servers, int buckets) throws Exception {
    int tenth = servers / 10;
    Map<String, Object> states = new LinkedHashMap<>();
    states.put("fresh", Map.of("rules", form(pool(servers, buckets)).rules()));
    states.put("one added", changed(servers, buckets, pool -> pool.add(1)));
    states.put("one removed", changed(servers, buckets, pool -> pool.remove(1)));
    states.put("10 % added", changed(servers, buckets, pool -> pool.add(tenth)));
    states.put("10 % removed", changed(servers, buckets, pool -> pool.remove(tenth)));
    states.put("10 % weighed", changed(servers, buckets, pool -> pool.weigh(tenth)));
    life(states, servers, buckets);
    return states;
  }

  /** One generation after a fresh ring. */
  private Map<String, Object> changed(int servers, int buckets, Change change) throws Exception {
    Pool pool = pool(servers, buckets);
    Form before = form(pool);
    change.of(pool);
    Form after = form(pool);
    return inOrder(Map.of("rules", after.rules(), "writes", after.writesFrom(before)));
  }

  /** Small changes one after another, then a defragmentation; writes are means of a generation. */
  private void life(Map<String, Object> states, int servers, int buckets) throws Exception {
    int some = Math.max(1, servers / 100);
    List<Change> kinds =
        List.of(pool -> pool.add(some), pool -> pool.remove(some), pool -> pool.weigh(some));
    Pool pool = pool(servers, buckets);
    Form form = form(pool);
    List<Map<String, Integer>> writes = new ArrayList<>();
    for (int change = 0; change < changes; change++) {
      kinds.get(change % kinds.size()).of(pool);
      Form next = form(pool);
      writes.add(next.writesFrom(form));
      form = next;
    }
    states.put(
        "after small changes", inOrder(Map.of("rules", form.rules(), "writes", mean(writes))));
    Upkeep defragmentation = new Defragmentation();
    Upkeep.Limits limits = new Upkeep.Limits(1, MOVES);
    writes.clear();
    boolean isReached = false;
    while (!isReached) {
      isReached = pool.step(defragmentation, limits);
      Form next = form(pool);
      writes.add(next.writesFrom(form));
      form = next;
    }
    states.put(
        "defragmented",
        inOrder(
            Map.of("rules", form.rules(), "writes", mean(writes), "iterations", writes.size())));
  }

  /** The same document in each run; Map.of has another order each time. */
  private static Map<String, Object> inOrder(Map<String, Object> map) {
    return new TreeMap<>(map);
  }

  private static Map<String, Double> mean(List<Map<String, Integer>> writes) {
    Map<String, Double> mean = new LinkedHashMap<>();
    for (Map<String, Integer> each : writes) {
      each.forEach((form, count) -> mean.merge(form, (double) count / writes.size(), Double::sum));
    }
    return mean;
  }

  /** Fresh rings of other methods. Consistent hashing has ten points a server. */
  private Map<String, Object> methods(int servers, int buckets) throws Exception {
    Map<String, Object> rules = new LinkedHashMap<>();
    for (AssignmentMethod method : AssignmentMethod.values()) {
      rules.put(method.toString(), form(new Pool(servers, buckets, method, 10, seed)).rules());
    }
    return rules;
  }
}
