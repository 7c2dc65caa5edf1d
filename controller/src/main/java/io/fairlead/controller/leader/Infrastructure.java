// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.service.VipGuard;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which addresses ZooKeeper, the controllers and the muxes have, and which muxes need to reach
 * them. Names are looked up each time, as they may come to mean another address; one that has none
 * now is left out.
 *
 * @param zookeeper as the controller connects, HOST:PORT,...
 * @param controllers ids of all that run, HOSTNAME/HOST:PORT as {@code Main} makes them, and hosts
 * @param muxes as they describe themselves
 */
record Infrastructure(
    String zookeeper, Supplier<List<String>> controllers, Supplier<List<MuxView>> muxes)
    implements Supplier<VipGuard.Taken> {
  private static final Logger LOG = LoggerFactory.getLogger(Infrastructure.class);

  @Override
  public VipGuard.Taken get() {
    Map<Address, String> addresses = new HashMap<>();
    Map<Address, String> own = new HashMap<>();
    for (String server : zookeeper.split(",")) {
      put(addresses, host(server), "it is that of the ZooKeeper server " + server);
    }
    for (String controller : controllers.get()) {
      for (String host : hosts(controller)) {
        put(addresses, host, "it is that of the controller " + controller);
      }
    }
    for (MuxView mux : muxes.get()) {
      for (String text : mux.addresses()) {
        Address.parse(text)
            .ifPresent(address -> own.putIfAbsent(address, "it is that of mux " + mux.id()));
      }
    }
    addresses.putAll(own);
    for (MuxView mux : muxes.get()) {
      mux.needs()
          .forEach(
              (text, why) ->
                  Address.parse(text)
                      .ifPresent(address -> addresses.putIfAbsent(address, needed(mux, why))));
    }
    return new VipGuard.Taken(addresses, own);
  }

  private static String needed(MuxView mux, String why) {
    return switch (why) {
      case "own" -> "mux %s sends from it".formatted(mux.id());
      case "zookeeper" -> "mux %s reaches ZooKeeper there".formatted(mux.id());
      case "bgp" -> "mux %s has its BGP session with it".formatted(mux.id());
      case "next_hop" -> "mux %s sends to others through it".formatted(mux.id());
      default -> "mux %s needs it (%s)".formatted(mux.id(), why);
    };
  }

  private static void put(Map<Address, String> addresses, String host, String why) {
    try {
      for (InetAddress each : InetAddress.getAllByName(host)) {
        addresses.putIfAbsent(Address.of(each.getAddress()), why);
      }
    } catch (UnknownHostException e) {
      LOG.debug("'{}' has no address now: {}", host, e.getMessage());
    }
  }

  /** The ids of all controllers that run, and where this one is, whose id is {@code own}. */
  static List<String> controllers(List<String> ids, Optional<URI> url, String own) {
    List<String> controllers = new ArrayList<>(ids);
    url.map(URI::getHost).ifPresent(controllers::add);
    if (listensEverywhere(own)) {
      controllers.addAll(ownAddresses());
    }
    return controllers;
  }

  /** Where the controller listens; on all of its addresses, those of its host's name. */
  static List<String> hosts(String controller) {
    int slash = controller.indexOf('/');
    if (slash < 0) {
      return List.of(controller);
    }
    String host = listenedOn(controller);
    boolean isOne = !host.isEmpty() && !listensEverywhere(controller);
    return List.of(isOne ? host : controller.substring(0, slash));
  }

  /** Whether the controller of this id listens on all of its machine's addresses. */
  static boolean listensEverywhere(String controller) {
    return Set.of("0.0.0.0", "::").contains(listenedOn(controller));
  }

  /** Empty if the id does not say. */
  private static String listenedOn(String controller) {
    return host(controller.substring(controller.indexOf('/') + 1));
  }

  /** Of HOST:PORT or [IPV6]:PORT. */
  private static String host(String endpoint) {
    String host = endpoint.substring(0, Math.max(0, endpoint.lastIndexOf(':')));
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }

  /** Without the interface, which Java appends to some. */
  private static String plain(InetAddress address) {
    return Address.of(address.getAddress()).toString();
  }

  /** This machine's addresses, except those of loopback interfaces, where VIPs may be. */
  static List<String> ownAddresses() {
    List<String> addresses = new ArrayList<>();
    try {
      for (NetworkInterface each : Collections.list(NetworkInterface.getNetworkInterfaces())) {
        if (!each.isLoopback() && each.isUp()) {
          each.inetAddresses()
              .filter(address -> !address.isLinkLocalAddress())
              .forEach(address -> addresses.add(plain(address)));
        }
      }
    } catch (SocketException e) {
      LOG.warn("this machine's addresses are not known: {}", e.getMessage());
    }
    return addresses;
  }
}
