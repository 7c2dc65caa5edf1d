// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.http.Endpoint;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Where ZooKeeper is: "embedded:DIR" or "host:port,...". */
public record ZooKeeperAddress(Optional<Path> directory, String hosts) {
  private static final String EMBEDDED = "embedded:";
  private static final Pattern HOST_PORT =
      Pattern.compile("(\\[[0-9A-Fa-f:.]+]|[^\\s:,/\\[\\]]+):(\\d{1,5})");

  /**
   * @throws IllegalArgumentException naming the option, {@code text} and what is allowed
   */
  public static ZooKeeperAddress parse(String text) {
    if (text.startsWith(EMBEDDED) && text.length() > EMBEDDED.length()) {
      return new ZooKeeperAddress(Optional.of(Path.of(text.substring(EMBEDDED.length()))), "");
    }
    for (String host : text.split(",", -1)) {
      Matcher matcher = HOST_PORT.matcher(host);
      if (!matcher.matches() || port(matcher) == 0 || port(matcher) > 65535) {
        throw new IllegalArgumentException(
            "--zookeeper '%s' is refused; allowed: embedded:DIR or HOST:PORT,HOST:PORT,..."
                .formatted(text));
      }
    }
    return new ZooKeeperAddress(Optional.empty(), text);
  }

  /**
   * Whether what is said to it stays on this machine.
   *
   * @param listen where the embedded server listens
   */
  public boolean isLoopback(Endpoint listen) {
    return directory.isPresent()
        ? listen.isLoopback()
        : Stream.of(hosts.split(","))
            .allMatch(host -> Endpoint.parse("--zookeeper", host).isLoopback());
  }

  private static int port(Matcher matcher) {
    return Integer.parseInt(matcher.group(2));
  }
}
