// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where ZooKeeper is: "embedded:DIR" or "host:port,...". */
record ZooKeeperAddress(Optional<Path> directory, String hosts) {
  private static final String EMBEDDED = "embedded:";
  private static final Pattern HOST_PORT =
      Pattern.compile("(\\[[0-9A-Fa-f:.]+]|[^\\s:,/\\[\\]]+):(\\d{1,5})");

  static ZooKeeperAddress parse(String text) {
    if (text.startsWith(EMBEDDED) && text.length() > EMBEDDED.length()) {
      return new ZooKeeperAddress(Optional.of(Path.of(text.substring(EMBEDDED.length()))), "");
    }
    for (String host : text.split(",", -1)) {
      Matcher matcher = HOST_PORT.matcher(host);
      if (!matcher.matches() || port(matcher) == 0 || port(matcher) > 65535) {
        throw new IllegalArgumentException(
            "zookeeper '%s' is refused; allowed: embedded:DIR or host:port,host:port,..."
                .formatted(text));
      }
    }
    return new ZooKeeperAddress(Optional.empty(), text);
  }

  static InetSocketAddress listen(String text) {
    Matcher matcher = HOST_PORT.matcher(text);
    if (!matcher.matches() || port(matcher) > 65535) {
      throw new IllegalArgumentException(
          "zookeeper-listen '%s' is refused; allowed: host:port, such as 127.0.0.1:2181"
              .formatted(text));
    }
    return new InetSocketAddress(matcher.group(1), port(matcher));
  }

  private static int port(Matcher matcher) {
    return Integer.parseInt(matcher.group(2));
  }
}
