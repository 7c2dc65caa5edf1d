// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.muxes.MuxService;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.StoredService;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongToIntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The committed arrays of a service, as its leader has them, and whether ZooKeeper still does. If
 * it has lost them while the leader knows them, they are written again; if only the muxes knows
 * them, others follow.
 */
final class HeldArrays {
  private static final Logger LOG = LoggerFactory.getLogger(HeldArrays.class);

  /** How often ZooKeeper's arrays are read again to compare them, and while a mux refuses any. */
  private static final int COMPARE_SECONDS = 300;

  private static final int COMPARE_SOON = 5;

  /** The share of time that comparing may take. */
  private static final int COMPARE_SHARE = 20;

  private final Surroundings around;
  private Optional<CommittedArrays> arrays = Optional.empty();

  /** What {@code latest_arrays} says, as far as it was adopted. */
  private Optional<LatestArrays> said = Optional.empty();

  /**
   * The committed ones, if ZooKeeper has them no longer: then there are none in {@link #arrays}.
   */
  private Optional<LatestArrays> lost = Optional.empty();

  /** What ZooKeeper lacks of {@link #arrays}, by the last time that they were compared. */
  private Optional<String> damage = Optional.empty();

  private long comparedAt;
  private long compareNanos;

  /** What was committed last, until it is adopted. */
  private Optional<CommittedArrays> written = Optional.empty();

  HeldArrays(Surroundings around) {
    this.around = around;
  }

  /** Those that the leader knows. */
  Optional<CommittedArrays> arrays() {
    return arrays;
  }

  /** What {@code latest_arrays} says, as far as it was adopted; perhaps only what is coming. */
  Optional<LatestArrays> said() {
    return said;
  }

  /** The same; empty before the first arrays. */
  Optional<LatestArrays> latest() {
    return lost.or(() -> arrays.map(CommittedArrays::latest));
  }

  /** What gives packets their first bucket. */
  LongToIntFunction codes(int buckets) {
    return CommittedArrays.codes(arrays, buckets);
  }

  /** What gives packets their second one; empty once settled. */
  Optional<LongToIntFunction> codesBefore() {
    return arrays.flatMap(CommittedArrays::codesBefore);
  }

  /** Whether only muxes know the newest arrays. */
  boolean isUnknown() {
    return lost.isPresent();
  }

  /** Whether packets have buckets by arrays that only muxes know, the newest or those before. */
  boolean isLost() {
    return lost.isPresent() || arrays.filter(CommittedArrays::isBeforeLost).isPresent();
  }

  /** Whether ZooKeeper has lost what the leader knows. */
  boolean isDamaged() {
    return damage.isPresent();
  }

  /** In words, what ZooKeeper has lost. */
  Optional<String> damage() {
    if (lost.isPresent()) {
      return Optional.of(
          "the arrays of generation %d cannot be read; others follow once all agents have reported"
              .formatted(lost.get().generation()));
    }
    return isLost()
        ? Optional.of(
            "the arrays of generation %d cannot be read; muxes that start wait until they are dropped"
                .formatted(latest().orElseThrow().previous().orElseThrow()))
        : damage;
  }

  /** What this leader has committed, to be adopted without reading it. */
  void written(Optional<CommittedArrays> committed) {
    if (committed.isPresent() && committed.map(CommittedArrays::latest).equals(said)) {
      arrays = committed; // the same once more: nothing else tells that they are whole again
      damage = Optional.empty();
      comparedAt = around.nanos().getAsLong();
    } else {
      written = committed;
    }
  }

  /** Knows what is committed by now; returns whether that was read, and not what was written. */
  boolean adopt(StoredService stored) throws StoreException {
    Optional<LatestArrays> latest = stored.state().arrays();
    if (committed(latest).equals(committed(said))) {
      said = latest;
      arrays = arrays.map(same -> same.with(latest.orElseThrow()));
      lost = lost.flatMap(same -> latest);
      return false; // others are announced
    }
    boolean isWritten = written.isPresent() && latest.equals(written.map(CommittedArrays::latest));
    if (isWritten) {
      arrays = written;
      lost = Optional.empty();
    } else {
      read(stored);
    }
    said = latest;
    written = Optional.empty();
    damage = Optional.empty();
    comparedAt = around.nanos().getAsLong();
    return !isWritten;
  }

  private static Optional<LatestArrays> committed(Optional<LatestArrays> latest) {
    return latest.flatMap(LatestArrays::committed);
  }

  private void read(StoredService stored) throws StoreException {
    try {
      arrays = CommittedArrays.read(around.store(), stored);
      lost = Optional.empty();
    } catch (StoreException.Damaged e) {
      LOG.error("{}; new arrays follow once all agents have reported", e.getMessage());
      arrays = Optional.empty();
      lost = stored.state().arrays();
    }
  }

  /** Compares what ZooKeeper has with the arrays; soon if a mux may be unable to read them. */
  void compare(ServiceConfig config) throws StoreException {
    long now = around.nanos().getAsLong();
    long pause =
        TimeUnit.SECONDS.toNanos(isAnyStuck(config.name()) ? COMPARE_SOON : COMPARE_SECONDS);
    if (arrays.isPresent()
        && damage.isEmpty()
        && now - comparedAt >= Math.max(pause, COMPARE_SHARE * compareNanos)) {
      long start = System.nanoTime();
      damage = arrays.get().damage(around.store(), config);
      damage.ifPresent(what -> LOG.error("{}; the arrays are written again", what));
      compareNanos = System.nanoTime() - start;
      comparedAt = now;
    }
  }

  /** Whether a mux lacks the newest arrays and says that it loads or refuses something. */
  private boolean isAnyStuck(String service) {
    long generation = arrays.map(all -> all.newest().generation()).orElse(0L);
    return around.muxes().get().stream()
        .map(mux -> mux.services().get(service))
        .anyMatch(applied -> applied != null && isStuck(applied, generation));
  }

  private static boolean isStuck(MuxService applied, long generation) {
    return applied.generation() < generation && !applied.state().equals("serving");
  }
}
