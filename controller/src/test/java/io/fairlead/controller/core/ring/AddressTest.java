// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AddressTest {
  @ParameterizedTest
  @CsvSource({
    "10.99.0.1, 10.99.0.1, true",
    "255.255.255.255, 255.255.255.255, false",
    "0.0.0.0, 0.0.0.0, false",
    "127.0.0.1, 127.0.0.1, false",
    "224.0.0.1, 224.0.0.1, false",
    "2001:db8::1, 2001:db8::1, true",
    "2001:DB8:0:0:0:0:0:1, 2001:db8::1, true",
    "::1, ::1, false",
    "::, ::, false",
    "ff02::1, ff02::1, false",
  })
  void literalsAreRead(String literal, String canonical, boolean isUnicast) {
    Address address = Address.parse(literal).orElseThrow();
    assertThat(address).hasToString(canonical);
    assertThat(address.isUnicast()).isEqualTo(isUnicast);
    assertThat(Address.of(address.bytes())).isEqualTo(address);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "10.99.0",
        "10.99.0.256",
        "10.99.0.1.2",
        "010.99.0.1",
        "10.99.0.1 ",
        "localhost",
        "10.99.0.1/32",
        "fe80::1%eth0",
        "[::1]",
        "::g",
        "1:2:3:4:5:6:7",
        "::ffff:10.99.0.1",
        "0x0a.1.1.1"
      })
  void othersAreNot(String literal) {
    assertThat(Address.parse(literal)).isEmpty();
  }
}
