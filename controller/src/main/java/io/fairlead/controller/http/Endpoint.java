// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.google.common.net.InetAddresses;

/** A host and a TCP port, as in {@code 127.0.0.1:8080} or {@code [::1]:8080}. */
public record Endpoint(String host, int port) {
  private static final String ALLOWED = "HOST:PORT with a port in 0..65535, an IPv6 host in []";

  /**
   * @throws IllegalArgumentException naming {@code flag}, {@code text} and what is allowed
   */
  public static Endpoint parse(String flag, String text) {
    int colon = text.lastIndexOf(':');
    String host = colon < 0 ? "" : text.substring(0, colon);
    if (host.startsWith("[") && host.endsWith("]")) {
      host = host.substring(1, host.length() - 1);
    } else if (host.contains(":")) {
      host = "";
    }
    String port = text.substring(colon + 1);
    if (host.isBlank() || !port.matches("[0-9]{1,5}") || Integer.parseInt(port) > 65535) {
      throw new IllegalArgumentException(
          "%s '%s' is refused; allowed: %s".formatted(flag, text, ALLOWED));
    }
    return new Endpoint(host, Integer.parseInt(port));
  }

  /**
   * Whether only this machine reaches it: an address, or localhost. Other names are not looked up.
   */
  public boolean isLoopback() {
    return host.equals("localhost")
        || (InetAddresses.isInetAddress(host) && InetAddresses.forString(host).isLoopbackAddress());
  }

  @Override
  public String toString() {
    return host.contains(":") ? "[%s]:%d".formatted(host, port) : "%s:%d".formatted(host, port);
  }
}
