// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.secret.SecretFile;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is protected by which options, as the metric has it. */
class ProtectionTest {
  @TempDir private Path directory;

  private Security security(String words) throws IOException {
    Path key = directory.resolve("key");
    Files.createFile(
        key, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    return new Security(
            words.contains("tls")
                ? Optional.of(new Security.Tls(key, new SecretFile("--tls-key", key)))
                : Optional.empty(),
            Optional.empty(),
            words.contains("tokens")
                ? Optional.of(new SecretFile("--tokens", key))
                : Optional.empty(),
            words.contains("oidc") ? Optional.of(key) : Optional.empty(),
            words.contains("login"))
        .withPrivateTree(words.contains("private"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "127.0.0.1:8080 | tokens login private | ''",
        "0.0.0.0:8080 | tls oidc login private | ''",
        "localhost:8080 | login private | api",
        "10.1.0.5:8080 | tokens login private | api_transport",
        "c1:8080 | tls tokens private | zookeeper_login",
        "[::1]:8080 | tokens login | zookeeper_transport",
        "[::]:8080 | '' | api api_transport zookeeper_login zookeeper_transport",
      })
  void whatIsMissingIsOne(String listen, String words, String missing) throws IOException {
    PrometheusMeterRegistry metrics = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    Protection.show(Endpoint.parse("--listen", listen), security(words), metrics);
    assertThat(
            Arrays.stream(Protection.values())
                .map(
                    each ->
                        "fairlead_controller_unprotected{what=\"%s\"} %d.0"
                            .formatted(
                                each.label(),
                                Arrays.asList(missing.split(" ")).contains(each.label()) ? 1 : 0))
                .collect(Collectors.toSet()))
        .isEqualTo(
            metrics
                .scrape()
                .lines()
                .filter(line -> line.startsWith("fairlead_controller_unprotected"))
                .collect(Collectors.toSet()));
  }
}
