// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AddressRangeTest {
  @ParameterizedTest
  @CsvSource({
    "10.99.0.0/16, 10.99.0.0, 10.99.255.255, 10.98.255.255, 10.100.0.0",
    "10.99.0.128/25, 10.99.0.128, 10.99.0.255, 10.99.0.127, 10.99.1.0",
    "10.99.0.7, 10.99.0.7, 10.99.0.7, 10.99.0.6, 10.99.0.8",
    "0.0.0.0/0, 0.0.0.1, 255.255.255.254, ::1, 2001:db8::",
    "2001:db8::/32, 2001:db8::, 2001:db8:ffff::ffff, 2001:db7::, 2001:db9::",
    "2001:db8::/64, 2001:db8::1, 2001:db8::ffff:ffff, 2001:db8:0:1::, 2001:db7:ffff::",
    "2001:db8::80/121, 2001:db8::80, 2001:db8::ff, 2001:db8::7f, 2001:db8::100",
    "fd00::7, fd00::7, fd00::7, fd00::6, fd00::8",
  })
  void hasItsFirstAndItsLastAddressAndNeitherNeighbour(
      String text, String first, String last, String before, String after) {
    AddressRange range = AddressRange.parse(text).orElseThrow();
    assertThat(range).hasToString(text);
    assertThat(range.contains(address(first))).isTrue();
    assertThat(range.contains(address(last))).isTrue();
    assertThat(range.contains(address(before))).isFalse();
    assertThat(range.contains(address(after))).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "/",
        "10.99.0.0/",
        "10.99.0.0/33",
        "10.99.0.0/-1",
        "10.99.0.0/016",
        "10.99.0.0/1x",
        "10.99.0.1/16",
        "10.99.0/16",
        "2001:db8::/129",
        "2001:db8::1/64",
        "2001:db8::/64/64",
        "web/16"
      })
  void otherTextsAreNone(String text) {
    assertThat(AddressRange.parse(text)).isEmpty();
  }

  @Test
  void bitsBehindTheLengthAreRefused() {
    assertThatThrownBy(() -> new AddressRange(address("10.99.0.1"), 112))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("10.99.0.1 with 112 bits is no range");
  }

  private static Address address(String text) {
    return Address.parse(text).orElseThrow();
  }
}
