// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.core.ring.Address;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.WeakHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The hosts that a request may name: this controller's. Else a page whose name an attacker lets
 * point here (DNS rebinding) could use the API from a browser that reaches it, as its own origin.
 *
 * <p>Always allowed are the address at which the connection arrived and, if that is a loopback
 * address, {@code localhost}: no attacker can have these as the name of a page. The port does not
 * matter, since it may be mapped to another one on the way.
 */
final class HostNames {
  private static final String ALLOWED = "a host name or an address, without a port";
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_]([A-Za-z0-9._-]{0,253})");
  private static final Pattern AUTHORITY =
      Pattern.compile("(?:\\[(?<literal>[0-9A-Fa-f:.]+)]|(?<name>[^:\\[\\]]*))(?::[0-9]{0,5})?");

  private final Set<String> names = new TreeSet<>();
  private final MeterRegistry metrics;

  /**
   * On which a request was refused: no other one is answered there, although it came before the
   * end.
   */
  private final Set<HttpConnection> ending =
      Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

  /**
   * @param others besides the one on which it listens
   */
  HostNames(Endpoint listen, Collection<String> others, MeterRegistry metrics) {
    InetSocketAddress address = new InetSocketAddress(listen.host(), 0);
    if (address.isUnresolved() || !address.getAddress().isAnyLocalAddress()) {
      names.add(canonical(listen.host()));
    }
    others.forEach(name -> names.add(canonical(name)));
    this.metrics = metrics;
  }

  /**
   * @throws IllegalArgumentException naming {@code option}, {@code name} and what is allowed
   */
  static void check(String option, String name) {
    if (Address.parse(bare(name)).isEmpty() && !NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "%s '%s' is refused; allowed: %s".formatted(option, name, ALLOWED));
    }
  }

  /** Whether the request is for another host; if so it is answered, and its connection ends. */
  boolean answers(HttpServerRequest request) {
    if (ending.contains(request.connection())) {
      return true;
    }
    Optional<Problem> problem = problem(request);
    problem.ifPresent(
        each -> {
          ending.add(request.connection());
          metrics
              .counter(
                  "fairlead.controller.access.refused", "status", Integer.toString(each.status()))
              .increment();
          Failures.send(request, each);
        });
    return problem.isPresent();
  }

  /** One that is no HTTP, such as without a Host or with two, does not come here. */
  private Optional<Problem> problem(HttpServerRequest request) {
    String sent = request.getHeader("Host");
    return isOurs(sent, request.localAddress())
        ? Optional.empty()
        : Optional.of(refused(request, sent));
  }

  private boolean isOurs(String authority, SocketAddress local) {
    Matcher matcher = AUTHORITY.matcher(authority);
    if (!matcher.matches()) {
      return false;
    }
    String literal = matcher.group("literal");
    String host = canonical(literal == null ? matcher.group("name") : literal);
    return names.contains(host) || ofConnection(local).contains(host);
  }

  private static List<String> ofConnection(SocketAddress local) {
    String address = canonical(local.hostAddress());
    return address.startsWith("127.") || address.equals("::1")
        ? List.of(address, "localhost")
        : List.of(address);
  }

  private Problem refused(HttpServerRequest request, String sent) {
    Set<String> allowed = new TreeSet<>(names);
    allowed.addAll(ofConnection(request.localAddress()));
    return Problem.of(
        Problem.Kind.MISDIRECTED,
        "Host",
        Optional.of(sent),
        "%s, or a name that --allowed-host adds".formatted(String.join(", ", allowed)));
  }

  /**
   * One spelling of each: lower case, without the dot of the root; addresses in their short form.
   */
  private static String canonical(String host) {
    String lower = bare(host).toLowerCase(Locale.ROOT);
    String name = lower.endsWith(".") ? lower.substring(0, lower.length() - 1) : lower;
    int zone = name.indexOf('%');
    return Address.parse(zone < 0 ? name : name.substring(0, zone))
        .map(Address::toString)
        .orElse(name);
  }

  private static String bare(String host) {
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }
}
