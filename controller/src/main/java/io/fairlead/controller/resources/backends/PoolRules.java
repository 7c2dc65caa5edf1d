// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.ServiceImage.Member;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.words.Encap;
import io.fairlead.controller.resources.plane.Precondition;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The pool that a list of changes leads to, or why it is refused. Ids and addresses of removed
 * backends become free only once no packet is chained to them any more: a server finds the previous
 * owner by its address, and muxes would take two owners under one id for one.
 */
public final class PoolRules {
  /** Most changes in a list: each backend once. */
  static final int CHANGES_MAX = Backend.MAX;

  private final ServiceImage image;
  private final Instant now;
  private final SortedMap<Integer, Member> pool;
  private final Map<Address, Integer> addresses = new HashMap<>();

  private PoolRules(ServiceImage image, Instant now) {
    this.image = image;
    this.now = now;
    this.pool = new TreeMap<>(image.pool());
    image.pool().values().forEach(member -> addresses.put(member.address(), member.id()));
  }

  /**
   * The pool after {@code changes}, each of them allowed.
   *
   * @throws Refusal if one is not
   */
  public static SortedMap<Integer, Member> change(
      ServiceImage image, List<Change> changes, Instant now) {
    if (changes.isEmpty() || changes.size() > CHANGES_MAX) {
      throw Refusal.invalid(
          "changes",
          changes.size() + " changes",
          "1..%d changes in one generation".formatted(CHANGES_MAX));
    }
    return new PoolRules(image, now).change(changes);
  }

  /** Refuses a backend to put that exists, if {@code precondition} only allows a new one. */
  public static void checkAbsent(
      ServiceImage image, List<Change> changes, Precondition precondition) {
    for (Change change : changes) {
      if (change instanceof Change.Put && image.pool().containsKey(change.id())) {
        precondition.checkAbsent("there is a backend %d".formatted(change.id()));
      }
    }
  }

  /** The changes that turn a pool into {@code wanted}; none if it is equal already. */
  public static List<Change> difference(SortedMap<Integer, Member> pool, List<Change.Add> wanted) {
    List<Change> changes = new ArrayList<>();
    Set<Integer> ids = new HashSet<>();
    for (Change.Add each : wanted) {
      if (!ids.add(each.id())) {
        throw Refusal.invalid("id", each.id(), "each backend once in a pool");
      }
      Change change = put(pool, each);
      if (!(change instanceof Change.Weight weight)
          || pool.get(each.id()).weight() != weight.weight()) {
        changes.add(change);
      }
    }
    for (int id : pool.keySet()) {
      if (!ids.contains(id)) {
        changes.add(new Change.Remove(id));
      }
    }
    return changes;
  }

  /** Adds a backend, or sets the weight of the live one, which must have this address. */
  private static Change put(SortedMap<Integer, Member> pool, Change.Add wanted) {
    int id = wanted.id();
    Address address = AddressRules.address("address", wanted.address());
    Member live = pool.get(id);
    if (live == null) {
      return wanted;
    }
    if (!live.address().equals(address)) {
      throw Refusal.conflict(
          "address",
          address,
          "%s, the address of the live backend %d".formatted(live.address(), id));
    }
    if (live.foreign() != wanted.foreign()) {
      throw Refusal.conflict(
          "foreign",
          wanted.foreign(),
          "%s, as the live backend %d is; or another id".formatted(live.foreign(), id));
    }
    return new Change.Weight(id, wanted.weight());
  }

  private SortedMap<Integer, Member> change(List<Change> asked) {
    List<Change> changes =
        asked.stream()
            .map(
                change ->
                    change instanceof Change.Put put
                        ? put(
                            pool,
                            new Change.Add(
                                put.id(),
                                put.address(),
                                put.weight(),
                                put.slowStartSeconds(),
                                put.foreign()))
                        : change)
            .toList();
    boolean isAdding = changes.stream().anyMatch(Change.Add.class::isInstance);
    Map<Integer, Long> chainedFor = isAdding ? chainedFor(changes) : Map.of();
    Set<Integer> seen = new HashSet<>();
    for (Change change : changes) {
      if (change.id() < 1 || change.id() > Backend.MAX) {
        throw Refusal.invalid("id", change.id(), "1..65535");
      }
      if (!seen.add(change.id())) {
        throw Refusal.invalid("id", change.id(), "each backend once in a list of changes");
      }
    }
    // Removals first: the list may use what it frees, in any order.
    for (Change change : changes) {
      if (change instanceof Change.Remove remove) {
        if (remove.dead() && !pool.containsKey(remove.id())) {
          checkStillNamed(remove.id());
          continue;
        }
        addresses.remove(live(change.id()).address());
        pool.remove(change.id());
      }
    }
    for (Change change : changes) {
      if (change instanceof Change.Add add) {
        add(add, chainedFor);
      } else if (change instanceof Change.Weight weight) {
        Member member = live(weight.id());
        pool.put(member.id(), member.with(weight(weight.weight())));
      }
    }
    return pool;
  }

  private void add(Change.Add add, Map<Integer, Long> chainedFor) {
    Address address = AddressRules.address("address", add.address());
    int weight = weight(add.weight());
    checkNamed(image.config(), add.id());
    if (add.foreign() && image.config().encap() != Encap.SRV6) {
      throw Refusal.invalid(
          "foreign", true, "false with encap %s; true with srv6".formatted(image.config().encap()));
    }
    AddressRules.checkReached(image.config(), "address", address);
    if (pool.containsKey(add.id())) {
      throw Refusal.conflict("id", add.id(), "an id that no backend of the service has");
    }
    Integer holder = addresses.get(address);
    if (holder != null) {
      throw Refusal.conflict(
          "address",
          address,
          "an address that no backend of the service has; %d has it".formatted(holder));
    }
    checkReserved(add.id(), address, chainedFor);
    pool.put(add.id(), new Member(add.id(), address, weight, add.foreign()));
    addresses.put(address, add.id());
  }

  /**
   * Checks that a port of {@code config} can name the backend; without such ports any id will do.
   */
  private static void checkNamed(ServiceConfig config, int id) {
    config
        .mptcpPorts()
        .filter(range -> id > range.idMax())
        .ifPresent(
            range -> {
              throw Refusal.invalid(
                  "id",
                  id,
                  "1..%d, as the service's mptcpPorts are %s and a backend's port is %d + its id"
                      .formatted(range.idMax(), range, range.first()));
            });
  }

  /**
   * Checks that no removed backend to which packets are chained has the id or the address. One that
   * has both is the same server, which comes back: histories go on naming it.
   */
  private void checkReserved(int id, Address address, Map<Integer, Long> chainedFor) {
    for (Map.Entry<Integer, Long> each : chainedFor.entrySet()) {
      int former = each.getKey();
      Backend backend = image.ring().backends().get(former);
      boolean hasAddress = backend != null && backend.address().equals(address);
      if ((former == id) == hasAddress) {
        continue;
      }
      String chained =
          "this one in %d s%s: packets are still chained to the removed backend %d"
              .formatted(
                  each.getValue(), image.config().holdSeconds() > 0 ? " at most" : "", former);
      if (hasAddress) {
        throw Refusal.conflict(
            "address", address, "%s; or id %d, by which it comes back".formatted(chained, former));
      }
      throw Refusal.conflict(
          "id",
          id,
          backend == null
              ? chained
              : "%s; or its address %s, by which it comes back"
                  .formatted(chained, backend.address()));
    }
  }

  /**
   * Removed backends, including those of this list, to which packets are or will be chained, and
   * for how many seconds.
   */
  private Map<Integer, Long> chainedFor(List<Change> changes) {
    Reserved reserved = new Reserved(image, now);
    long[] left = new long[Backend.MAX + 1];
    for (int id = 1; id <= Backend.MAX; id++) {
      left[id] = reserved.secondsLeft(id);
    }
    int[] owned = image.ring().owned();
    Set<Integer> leaving = new HashSet<>();
    for (Change change : changes) {
      if (change instanceof Change.Remove remove && remove.dead()) {
        left[change.id()] = 0;
      } else if (change instanceof Change.Remove && pool.containsKey(change.id())) {
        leaving.add(change.id());
        left[change.id()] =
            owned[change.id()] > 0 ? image.config().heldSeconds() : left[change.id()];
      }
    }
    Map<Integer, Long> chained = new HashMap<>();
    for (int id = 1; id <= Backend.MAX; id++) {
      if (left[id] > 0 && (!pool.containsKey(id) || leaving.contains(id))) {
        chained.put(id, left[id]);
      }
    }
    return chained;
  }

  /**
   * Checks that packets are chained to a backend that was removed before it was known to be dead.
   */
  private void checkStillNamed(int id) {
    if (new Reserved(image, now).has(id)) {
      return;
    }
    throw Refusal.missing(
        "id",
        id,
        "a backend of service '%s', or a removed one that packets are still chained to"
            .formatted(image.config().name()));
  }

  private Member live(int id) {
    Member member = pool.get(id);
    if (member == null) {
      throw Refusal.missing("id", id, "a backend of service '%s'".formatted(image.config().name()));
    }
    return member;
  }

  private static int weight(int weight) {
    if (weight < 0 || weight > Member.WEIGHT_MAX) {
      throw Refusal.invalid("weight", weight, "0..65535");
    }
    return weight;
  }
}
