// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.steering.othello.OthelloMap;
import io.fairlead.controller.store.repository.StoredService;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * How a service steered by {@code othello} stands, as its leader knows it.
 *
 * @param connections that are known
 * @param miscoded known connections whose bucket is not their server's, by the newest arrays
 * @param homeless those of them whose server has no bucket, so that no arrays would help
 * @param disputed known connections that another server claims too
 * @param keptBuckets how many buckets name a backend that owns none and has connections
 * @param neededSeconds for how long new arrays have been needed
 * @param waitingFor why there are none yet
 * @param damage what ZooKeeper no longer has of the arrays, until they are repaired
 * @param fallback why there can be no new arrays, if so
 * @param lagSeconds from the need of the latest arrays until all muxes had them
 * @param builtMillis that the latest arrays took
 */
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record OthelloStatus(
    String service,
    long generation,
    int connections,
    Optional<Arrays> arrays,
    int miscoded,
    int homeless,
    int disputed,
    Map<Integer, Integer> keptBuckets,
    long neededSeconds,
    Optional<Waiting> waitingFor,
    Optional<String> damage,
    Optional<String> fallback,
    int windowSeconds,
    int reportAgeSeconds,
    int spacingSeconds,
    long lagSeconds,
    long builtMillis,
    RefusedClaims refusedClaims) {
  static final String NO_CLOCK =
      "this controller's clock and ZooKeeper's differ, or are not compared yet";

  /**
   * The newest arrays.
   *
   * @param previous the generation of those before, 0 if there were none; absent once settled
   * @param load known connections over the geometric mean of the sizes
   * @param beside known connections that the graph has no room for
   * @param bytes of a whole and its patches, as a mux reads them
   */
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record Arrays(
      long generation,
      Optional<Long> previous,
      int cellsA,
      int cellsB,
      double load,
      int beside,
      int patches,
      long bytes) {}

  /**
   * @param agents backends whose servers have yet to report
   * @param muxes that do not have the newest arrays
   * @param spacingSeconds until the next may be committed, as far as the leader knows
   */
  public record Waiting(List<Integer> agents, List<String> muxes, long spacingSeconds) {}

  /** What a keeper knows besides what is committed. */
  record Now(
      Optional<String> damage,
      int miscoded,
      int homeless,
      int disputed,
      Map<Integer, Integer> kept,
      Decision decision,
      RefusedClaims refused,
      List<Integer> silent,
      long lagSeconds,
      long neededSeconds,
      long builtMillis) {}

  /** Before anything is known. */
  public static OthelloStatus beginning(StoredService stored) {
    Decision none = new Decision(Decision.Step.NOTHING, List.of(), List.of(), 0);
    return of(
        stored,
        Optional.empty(),
        Optional.empty(),
        new Now(Optional.empty(), 0, 0, 0, Map.of(), none, RefusedClaims.NONE, List.of(), 0, 0, 0));
  }

  static OthelloStatus of(
      StoredService stored, Optional<CommittedArrays> arrays, Optional<OthelloMap> map, Now now) {
    ServiceConfig config = stored.image().config();
    ServiceConfig.Othello othello = config.othello().orElse(new ServiceConfig.Othello(0, 0));
    Decision decision = now.decision();
    return new OthelloStatus(
        config.name(),
        stored.image().ring().generation(),
        map.map(OthelloMap::size).orElse(0),
        arrays.map(committed -> arrays(committed, map.orElseThrow())),
        now.miscoded(),
        now.homeless(),
        now.disputed(),
        now.kept(),
        now.neededSeconds(),
        Optional.of(new Waiting(decision.agents(), decision.muxes(), decision.spacingSeconds()))
            .filter(any -> decision.step() == Decision.Step.WAIT),
        now.damage(),
        Optional.of(now.silent())
            .filter(silent -> !silent.isEmpty())
            .map(
                silent ->
                    "no agent reports for backend "
                        + silent.stream().map(String::valueOf).collect(Collectors.joining(", "))),
        config.windowSeconds(),
        othello.reportAgeSeconds(),
        othello.spacingSeconds(),
        now.lagSeconds(),
        now.builtMillis(),
        now.refused());
  }

  private static Arrays arrays(CommittedArrays committed, OthelloMap map) {
    return new Arrays(
        committed.newest().generation(),
        committed.latest().previous(),
        committed.newest().hash().na(),
        committed.newest().hash().nb(),
        map.size()
            / Math.sqrt((double) committed.newest().hash().na() * committed.newest().hash().nb()),
        map.beside(),
        committed.latest().patches().size(),
        committed.wholeBytes() + committed.patchBytes());
  }

  /** While the keeper cannot work. */
  OthelloStatus failed(String why) {
    return new OthelloStatus(
        service,
        generation,
        connections,
        arrays,
        miscoded,
        homeless,
        disputed,
        keptBuckets,
        neededSeconds,
        waitingFor,
        damage,
        Optional.of(why),
        windowSeconds,
        reportAgeSeconds,
        spacingSeconds,
        lagSeconds,
        builtMillis,
        refusedClaims);
  }
}
