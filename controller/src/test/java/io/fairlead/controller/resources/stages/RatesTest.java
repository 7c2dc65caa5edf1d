// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.math.BigDecimal;
import java.math.MathContext;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RatesTest {
  /** Term by term, in decimals. */
  private static double exact(int events, int trials, BigDecimal chance) {
    MathContext digits = MathContext.DECIMAL128;
    BigDecimal sum = BigDecimal.ZERO;
    for (int k = events; k <= trials; k++) {
      BigDecimal ways = BigDecimal.ONE;
      for (int i = 0; i < k; i++) {
        ways =
            ways.multiply(BigDecimal.valueOf(trials - i)).divide(BigDecimal.valueOf(i + 1), digits);
      }
      sum =
          sum.add(
              ways.multiply(chance.pow(k, digits), digits)
                  .multiply(BigDecimal.ONE.subtract(chance).pow(trials - k, digits), digits));
    }
    return sum.doubleValue();
  }

  @Property(tries = 200)
  void theTailIsThatOfTheBinomialDistribution(
      @ForAll @IntRange(min = 1, max = 120) int trials,
      @ForAll @IntRange(min = 0, max = 120) int some,
      @ForAll @IntRange(min = 1, max = 99) int percent) {
    int events = Math.min(some, trials);
    double tail = Rates.tail(events, trials, percent / 100.0);
    if (events <= trials * percent / 100.0) {
      assertThat(tail).isEqualTo(1);
    } else {
      double expected = exact(events, trials, BigDecimal.valueOf(percent, 2));
      assertThat(tail).isCloseTo(expected, within(1e-6 * expected));
    }
  }

  @ParameterizedTest(name = "{0} of {1}, others {2} of {3}, factor {4}: {5}")
  @CsvSource({
    "1, 3, 0, 1000, 2, false", // 2 * 3 of 1006: 0.6 %
    "3, 3, 0, 1000, 2, true",
    "10, 100, 50, 1000, 2, false", // twice as many are allowed
    "30, 100, 50, 1000, 2, true",
    "30, 100, 50, 1000, 10, false",
    "2, 2, 1000, 1000, 2, false", // the others fare no better
    "5, 5, 0, 1, 2, false", // the others say nothing
    "200000, 1000000, 900000, 10000000, 2, true",
    "180000, 1000000, 900000, 10000000, 2, false",
  })
  void ratesAreCompared(
      long events,
      long trials,
      long otherEvents,
      long otherTrials,
      double factor,
      boolean exceeds) {
    assertThat(Rates.exceeds(events, trials, otherEvents, otherTrials, factor)).isEqualTo(exceeds);
  }

  @ParameterizedTest(name = "{0} of {1} at 1 %: {2}")
  @CsvSource({
    "1, 1, false",
    "2, 2, true",
    "1, 3, false",
    "3, 100, false",
    "6, 100, true",
    "0, 0, false"
  })
  void aRateIsCompared(long events, long trials, boolean exceeds) {
    assertThat(Rates.exceeds(events, trials, 0.01)).isEqualTo(exceeds);
  }
}
