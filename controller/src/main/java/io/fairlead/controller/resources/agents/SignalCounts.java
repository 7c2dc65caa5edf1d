// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import com.google.common.math.LongMath;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * How a service's connections fare on a server (protocol/README.md §11). What is absent is unknown,
 * not zero: the server's kernel does not tell it.
 *
 * @param opened connections that were established
 * @param refused those that the server did not take: answered by a reset, or dropped as its queue
 *     was full
 * @param resetsSent by the server, for other packets
 * @param resetsReceived from clients
 * @param retransmitted segments that were sent again
 * @param segments that were sent
 * @param rttSamples connections whose round-trip time is in {@code rttMicroseconds}
 * @param rttMicroseconds the sum of these
 */
public record SignalCounts(
    long opened,
    Optional<Long> refused,
    Optional<Long> resetsSent,
    Optional<Long> resetsReceived,
    Optional<Long> retransmitted,
    Optional<Long> segments,
    Optional<Long> rttSamples,
    Optional<Long> rttMicroseconds) {
  /** Resets of both ways; empty if neither is known. */
  public Optional<Long> resets() {
    return Stream.of(resetsSent, resetsReceived)
        .flatMap(Optional::stream)
        .reduce(LongMath::saturatedAdd);
  }

  /** The mean round-trip time; empty if it is not known of any connection. */
  public Optional<Duration> rtt() {
    return rttSamples
        .filter(samples -> samples > 0)
        .flatMap(
            samples -> rttMicroseconds.map(sum -> Duration.of(sum / samples, ChronoUnit.MICROS)));
  }

  /** Part of the segments that was sent again; empty if none is known to be sent. */
  public Optional<Double> retransmittedShare() {
    return segments
        .filter(sent -> sent > 0)
        .flatMap(sent -> retransmitted.map(again -> Math.min(1, (double) again / sent)));
  }

  /**
   * What was counted since {@code earlier}. A number below the earlier one shows that counting
   * began again from zero meanwhile; then it is all that was counted since then.
   */
  public SignalCounts since(SignalCounts earlier) {
    if (hasFallenBelow(earlier)) {
      return this;
    }
    return new SignalCounts(
        opened - earlier.opened,
        minus(refused, earlier.refused),
        minus(resetsSent, earlier.resetsSent),
        minus(resetsReceived, earlier.resetsReceived),
        minus(retransmitted, earlier.retransmitted),
        minus(segments, earlier.segments),
        minus(rttSamples, earlier.rttSamples),
        minus(rttMicroseconds, earlier.rttMicroseconds));
  }

  /** With what was counted later, which says what is known. */
  SignalCounts plus(SignalCounts later) {
    return new SignalCounts(
        LongMath.saturatedAdd(opened, later.opened),
        plus(refused, later.refused),
        plus(resetsSent, later.resetsSent),
        plus(resetsReceived, later.resetsReceived),
        plus(retransmitted, later.retransmitted),
        plus(segments, later.segments),
        plus(rttSamples, later.rttSamples),
        plus(rttMicroseconds, later.rttMicroseconds));
  }

  private boolean hasFallenBelow(SignalCounts earlier) {
    return opened < earlier.opened
        || isBelow(refused, earlier.refused)
        || isBelow(resetsSent, earlier.resetsSent)
        || isBelow(resetsReceived, earlier.resetsReceived)
        || isBelow(retransmitted, earlier.retransmitted)
        || isBelow(segments, earlier.segments)
        || isBelow(rttSamples, earlier.rttSamples)
        || isBelow(rttMicroseconds, earlier.rttMicroseconds);
  }

  private static boolean isBelow(Optional<Long> now, Optional<Long> earlier) {
    return now.isPresent() && earlier.isPresent() && now.get() < earlier.get();
  }

  private static Optional<Long> minus(Optional<Long> now, Optional<Long> earlier) {
    return now.map(number -> number - earlier.orElse(0L));
  }

  private static Optional<Long> plus(Optional<Long> sum, Optional<Long> later) {
    return later.map(number -> LongMath.saturatedAdd(sum.orElse(0L), number));
  }
}
