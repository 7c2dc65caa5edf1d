// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import io.fairlead.controller.core.image.ServiceConfig.StageSettings;
import java.util.Locale;
import java.util.Optional;
import java.util.SortedMap;
import java.util.stream.Stream;

/**
 * What is to become of a staged change, and why, in words.
 *
 * @param raised what was counted since the step, by backend
 */
public record Judgement(Kind kind, String words, SortedMap<Integer, Counts> raised, Counts others) {
  public enum Kind {
    GOES_ON,
    WAITS,
    FAILS
  }

  /** Rates up to which nothing is rolled back, however good the others are. */
  static final double ALLOWED = 0.01;

  /** Retransmissions come in bursts: so many count as one event. */
  static final int BURST = 10;

  /** Connections from which a mean round-trip time says something. */
  static final int RTT_CONNECTIONS = 30;

  /** By which it may exceed that of the others in any case. */
  static final double RTT_ALLOWED_MILLIS = 5;

  private static final String UNHEARD =
      "no agent of the changed backends reports signals, so that only the time counts";

  /**
   * @param hold why the step must not end, however long it lasts, in words
   * @param isEarly whether the step has to last longer
   */
  static Judgement of(
      StageSettings settings,
      SortedMap<Integer, Counts> raised,
      Counts others,
      Optional<String> hold,
      boolean isEarly) {
    Optional<String> fault = fault(settings, settings.minimumEvents(), raised, others);
    if (fault.isPresent()) {
      return new Judgement(Kind.FAILS, fault.get(), raised, others);
    }
    Optional<String> suspicion = fault(settings, 1, raised, others);
    if (suspicion.isPresent()) {
      return new Judgement(Kind.WAITS, suspicion.get() + "; too few to roll back", raised, others);
    }
    if (hold.isPresent()) {
      return new Judgement(Kind.WAITS, hold.get(), raised, others);
    }
    String words =
        raised.isEmpty()
            ? UNHEARD
            : "nothing wrong with %d connections to the changed backends"
                .formatted(raised.values().stream().mapToLong(Counts::attempts).sum());
    return new Judgement(isEarly ? Kind.WAITS : Kind.GOES_ON, words, raised, others);
  }

  /** The same where a rollback would leave the service without a backend. */
  Judgement withoutOthers() {
    return new Judgement(
        Kind.WAITS, words + "; but no other backend is in service", raised, others);
  }

  /** The same where what follows from it cannot be committed. */
  Judgement refused(String why) {
    return new Judgement(Kind.WAITS, words + "; but it is refused: " + why, raised, others);
  }

  /** Which backend is worse than the service allows, and how, in words. */
  private static Optional<String> fault(
      StageSettings settings, int minimumEvents, SortedMap<Integer, Counts> raised, Counts others) {
    return raised.entrySet().stream()
        .flatMap(
            each ->
                fault(settings, minimumEvents, each.getValue(), others).stream()
                    .map(words -> "backend %d: %s".formatted(each.getKey(), words)))
        .findFirst();
  }

  private static Optional<String> fault(
      StageSettings settings, int minimumEvents, Counts counts, Counts others) {
    return Stream.of(
            rate(
                settings,
                minimumEvents,
                "connections refused",
                counts.refused(),
                counts.attempts(),
                others.refused(),
                others.attempts(),
                1),
            rate(
                settings,
                minimumEvents,
                "connections reset",
                counts.resets(),
                counts.opened(),
                others.resets(),
                others.opened(),
                1),
            rate(
                settings,
                minimumEvents,
                "segments sent again",
                counts.retransmitted(),
                counts.segments(),
                others.retransmitted(),
                others.segments(),
                BURST),
            rtt(settings, counts, others))
        .flatMap(Optional::stream)
        .findFirst();
  }

  /** Connections that were opened earlier may be reset: events count as trials, too. */
  private static Optional<String> rate(
      StageSettings settings,
      int minimumEvents,
      String what,
      long events,
      long trials,
      long otherEvents,
      long otherTrials,
      int burst) {
    long counted = events / burst;
    long of = Math.max(counted, trials / burst);
    long otherCounted = otherEvents / burst;
    long otherOf = Math.max(otherCounted, otherTrials / burst);
    boolean isBad =
        counted >= minimumEvents
            && Rates.exceeds(counted, of, ALLOWED)
            && (otherOf == 0
                || Rates.exceeds(
                    counted, of, otherCounted, otherOf, settings.factorPercent() / 100.0));
    return isBad
        ? Optional.of(
            "%d of %d %s, of the others %d of %d"
                .formatted(events, Math.max(events, trials), what, otherEvents, otherTrials))
        : Optional.empty();
  }

  private static Optional<String> rtt(StageSettings settings, Counts counts, Counts others) {
    double allowed = settings.factorPercent() / 100.0 * others.rttMillis() + RTT_ALLOWED_MILLIS;
    return counts.rttSamples() >= RTT_CONNECTIONS
            && others.rttSamples() >= RTT_CONNECTIONS
            && counts.rttMillis() > allowed
        ? Optional.of(
            String.format(
                Locale.ROOT,
                "round-trip time %.1f ms, of the others %.1f ms",
                counts.rttMillis(),
                others.rttMillis()))
        : Optional.empty();
  }
}
