// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.Ring;
import java.time.Instant;
import java.util.Collections;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The whole of one service at one moment: its configuration, its ring with the pool of backends,
 * the progress of its rebalance or defragmentation, and of backends that start slowly or drain.
 * Immutable.
 */
public final class ServiceImage {
  private final ServiceConfig config;
  private final Ring ring;
  private final SortedMap<Integer, Member> pool;
  private final Optional<UpkeepState> upkeep;
  private final Transitions transitions;

  public ServiceImage(ServiceConfig config, Ring ring) {
    this(config, ring, members(ring), Optional.empty(), Transitions.NONE);
  }

  private ServiceImage(
      ServiceConfig config,
      Ring ring,
      SortedMap<Integer, Member> pool,
      Optional<UpkeepState> upkeep,
      Transitions transitions) {
    if (ring.service() != config.id() || ring.buckets() != config.buckets()) {
      throw new IllegalArgumentException(
          "%s does not belong to service '%s' (id %d, %d buckets)"
              .formatted(ring, config.name(), config.id(), config.buckets()));
    }
    this.config = config;
    this.ring = ring;
    this.pool = pool;
    this.upkeep = upkeep;
    this.transitions = transitions;
  }

  /**
   * A backend in service with its weight; weight 0 means draining.
   *
   * @param foreign whether it is an SRv6 end-point that does not know the protocol
   */
  public record Member(int id, Address address, int weight, boolean foreign) {
    public static final int WEIGHT_MAX = Backend.WEIGHT_MAX;

    public Member with(int newWeight) {
      return new Member(id, address, newWeight, foreign);
    }

    public String state() {
      return weight == 0 ? "draining" : "active";
    }
  }

  /** A new service: no backends, generation 1. */
  public static ServiceImage create(ServiceConfig config, long committed) {
    Ring empty = Ring.empty(config.id(), config.buckets(), committed);
    return new ServiceImage(config, empty.withClosedUntil(config.closedUntil(committed, false)));
  }

  /** The same image in another generation. */
  public ServiceImage startingAt(long generation) {
    return withRing(ring.withGeneration(generation));
  }

  /** The whole second at which a next generation is committed: time never goes back. */
  public Instant nextCommit(Instant now) {
    return Instant.ofEpochSecond(Math.max(now.getEpochSecond(), ring.committed()));
  }

  public ServiceConfig config() {
    return config;
  }

  public Ring ring() {
    return ring;
  }

  /** Which former owners count. */
  public FormerOwners formerOwners(Instant now) {
    return formerOwners(now, pool);
  }

  /** The same once the pool is {@code members}. */
  public FormerOwners formerOwners(Instant now, SortedMap<Integer, Member> members) {
    Set<Integer> foreign =
        members.values().stream()
            .filter(Member::foreign)
            .map(Member::id)
            .collect(Collectors.toUnmodifiableSet());
    return new FormerOwners(
        now.getEpochSecond(), config.chainedSeconds(), config.formerOwnersMax(), foreign);
  }

  /** The backends in service by ascending id. */
  public SortedMap<Integer, Member> pool() {
    return pool;
  }

  /** The pool with the weights that operators gave, also to backends that health took out. */
  public SortedMap<Integer, Member> wanted() {
    SortedMap<Integer, Member> wanted = new TreeMap<>(pool);
    transitions
        .health()
        .out()
        .forEach(
            (id, outage) -> {
              if (outage.isOut() && pool.containsKey(id)) {
                wanted.put(id, pool.get(id).with(outage.weight()));
              }
            });
    return wanted;
  }

  public ServiceImage withConfig(ServiceConfig changed) {
    return new ServiceImage(changed, ring, pool, upkeep, transitions);
  }

  /** The next generation; drops the costs and transitions of removed backends. */
  public ServiceImage withRing(Ring next) {
    SortedMap<Integer, Member> members = members(next);
    return new ServiceImage(
        config,
        next,
        members,
        upkeep.map(state -> state.within(members.keySet())),
        transitions.within(members));
  }

  /** The latest rebalance or defragmentation, if there has been one. */
  public Optional<UpkeepState> upkeep() {
    return upkeep;
  }

  public ServiceImage withUpkeep(UpkeepState state) {
    return new ServiceImage(config, ring, pool, Optional.of(state), transitions);
  }

  public Progress progress() {
    return new Progress(upkeep, transitions);
  }

  public ServiceImage with(Progress progress) {
    return new ServiceImage(config, ring, pool, progress.upkeep(), progress.transitions());
  }

  /** The backends on their way from one state to another. */
  public Transitions transitions() {
    return transitions;
  }

  public ServiceImage withTransitions(Transitions state) {
    return new ServiceImage(config, ring, pool, upkeep, state);
  }

  private static SortedMap<Integer, Member> members(Ring ring) {
    SortedMap<Integer, Member> pool = new TreeMap<>();
    for (Backend backend : ring.backends().values()) {
      if (!backend.removed()) {
        pool.put(
            backend.id(),
            new Member(backend.id(), backend.address(), backend.weight(), backend.foreign()));
      }
    }
    return Collections.unmodifiableSortedMap(pool);
  }

  /** Weights by backend id, 0 for ids that are not in the pool. */
  public static int[] weights(SortedMap<Integer, Member> pool) {
    return weights(pool, Backend.MAX + 1);
  }

  /**
   * As above.
   *
   * @param ids more than any of the pool
   */
  public static int[] weights(SortedMap<Integer, Member> pool, int ids) {
    int[] weights = new int[ids];
    pool.values().forEach(member -> weights[member.id()] = member.weight());
    return weights;
  }

  /** Without what only one assignment can do: a running upkeep, and slow starts. */
  public ServiceImage withoutJobs() {
    return new ServiceImage(
        config,
        ring,
        pool,
        upkeep.map(UpkeepState::stopped),
        transitions.without(transitions.slowStarts().keySet()));
  }

  /**
   * Weights by which buckets are assigned to {@code members}: corrected by what buckets cost, less
   * what backends lack that start slowly, and of a staged change as much as has taken effect.
   */
  public int[] corrected(SortedMap<Integer, Member> members) {
    int[] weights = weights(members);
    Transitions state = transitions.within(members);
    int[] whole =
        state.lessened(
            upkeep.map(job -> job.within(members.keySet()).corrected(weights)).orElse(weights));
    return state
        .staging()
        .map(stage -> stage.lessened(whole, weights, ring.buckets()))
        .orElse(whole);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ServiceImage image
        && config.equals(image.config)
        && ring.equals(image.ring)
        && upkeep.equals(image.upkeep)
        && transitions.equals(image.transitions);
  }

  @Override
  public int hashCode() {
    return Objects.hash(config, ring, upkeep, transitions);
  }

  @Override
  public String toString() {
    return "service '%s': %s".formatted(config.name(), ring);
  }
}
