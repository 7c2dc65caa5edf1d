// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EndpointTest {
  @ParameterizedTest
  @CsvSource({
    "127.0.0.1:8080, 127.0.0.1, 8080",
    "localhost:0, localhost, 0",
    "[::1]:65535, ::1, 65535",
    "0.0.0.0:1, 0.0.0.0, 1",
  })
  void isHostAndPort(String text, String host, int port) {
    Endpoint endpoint = Endpoint.parse("--listen", text);
    assertThat(endpoint).isEqualTo(new Endpoint(host, port));
    assertThat(endpoint).hasToString(text);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ":",
        "8080",
        ":8080",
        "host",
        "host:",
        "host:x",
        "host:-1",
        "host:65536",
        "host:999999",
        "::1:80",
        "[::1]",
        "[]:80",
        " :80",
        "host:80 ",
        "host:+80"
      })
  void refusesAllElseByName(String text) {
    assertThatThrownBy(() -> Endpoint.parse("--listen", text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("--listen '" + text + "' is refused; allowed: HOST:PORT");
  }
}
