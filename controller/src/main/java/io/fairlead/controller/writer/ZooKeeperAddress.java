// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

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
            "--zookeeper '%s' is refused; allowed: embedded:DIR or HOST:PORT,HOST:PORT,..."
                .formatted(text));
      }
    }
    return new ZooKeeperAddress(Optional.empty(), text);
  }

  private static int port(Matcher matcher) {
    return Integer.parseInt(matcher.group(2));
  }
}
