// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import static com.google.common.math.LongMath.saturatedAdd;

import io.fairlead.controller.resources.agents.SignalCounts;

/**
 * How connections fared since a moment, on one server or on many. What is unknown is 0: it speaks
 * for and against nothing.
 *
 * @param resets by the server: those of clients include each end of a health check
 * @param rttSamples connections whose round-trip time is known
 * @param rttMillis the mean of these; 0 without
 */
public record Counts(
    long opened,
    long refused,
    long resets,
    long retransmitted,
    long segments,
    long rttSamples,
    double rttMillis) {
  static final Counts NONE = new Counts(0, 0, 0, 0, 0, 0, 0);

  static Counts of(SignalCounts counts) {
    return new Counts(
        counts.opened(),
        counts.refused().orElse(0L),
        counts.resetsSent().orElse(0L),
        counts.retransmitted().orElse(0L),
        counts.segments().orElse(0L),
        counts.rtt().isPresent() ? counts.rttSamples().orElse(0L) : 0,
        counts.rtt().map(mean -> mean.toNanos() / 1e6).orElse(0.0));
  }

  Counts plus(Counts other) {
    long samples = saturatedAdd(rttSamples, other.rttSamples);
    return new Counts(
        saturatedAdd(opened, other.opened),
        saturatedAdd(refused, other.refused),
        saturatedAdd(resets, other.resets),
        saturatedAdd(retransmitted, other.retransmitted),
        saturatedAdd(segments, other.segments),
        samples,
        samples == 0 ? 0 : (rttSamples * rttMillis + other.rttSamples * other.rttMillis) / samples);
  }

  /** Attempts to connect. */
  long attempts() {
    return saturatedAdd(opened, refused);
  }
}
