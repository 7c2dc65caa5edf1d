// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RequestHeadTest {
  private static final int REPEATED = WireCheck.HEADERS_MAX - 10;
  private static final int LINES = 100;

  /** Of an expression that tries each way to divide the blanks, 100 lines take half a minute. */
  @ParameterizedTest
  @CsvSource({"'a:', ' ', ''", "'a:', '\t', ''", "'', a, ''", "'a:', a, ''", "'a:a', ' ', a"})
  void aLongHeaderTakesTimeInProportion(String begin, String repeated, String end) {
    String line = begin + repeated.repeat(REPEATED) + end + "\u0001";
    checkTime(new RequestHead("GET / HTTP/1.1")::header, line);
  }

  @ParameterizedTest
  @CsvSource({"A", "'GET /'", "'GET /%'", "'GET / HTTP/1.1 '", "' '"})
  void aLongFirstLineTakesTimeInProportion(String repeated) {
    checkTime(RequestHead::new, repeated.repeat(WireCheck.LINE_MAX / repeated.length()) + "\u0001");
  }

  @ParameterizedTest
  @ValueSource(strings = {"Expect: 200-maybe", "Expect: 100-continue, x", "Expect:"})
  void anotherExpectationIsRefused(String line) {
    RequestHead head = new RequestHead("POST / HTTP/1.1");
    head.header("Expect: 100-Continue");
    assertThatThrownBy(() -> head.header(line)).hasMessage("Expect is not 100-continue");
  }

  /** Of eight digits some are no int, and Netty's decoder failed. */
  @ParameterizedTest
  @ValueSource(strings = {"ffffffff", "00000000", "80000000", "-1", "+1", "0x1", ""})
  void aChunkHasAtMostSevenDigits(String line) {
    assertThat(RequestHead.chunkSize("fffffff")).isEqualTo(0xfff_ffff);
    assertThatThrownBy(() -> RequestHead.chunkSize(line))
        .isInstanceOf(WireCheck.MalformedException.class);
  }

  private static void checkTime(Consumer<String> read, String line) {
    assertTimeoutPreemptively(
        Duration.ofSeconds(10),
        () -> {
          for (int i = 0; i < LINES; i++) {
            assertThatThrownBy(() -> read.accept(line))
                .isInstanceOf(WireCheck.MalformedException.class);
          }
        });
  }
}
