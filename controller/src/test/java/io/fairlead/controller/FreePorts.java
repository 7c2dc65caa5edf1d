// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * TCP ports for servers that a test starts.
 *
 * <p>A port that the kernel picked is in its ephemeral range: while the server does not listen on
 * it, before its start and during a restart, any outgoing connection may take it. Ports here are
 * outside that range, and each is claimed until this process ends, so that test runs side by side
 * do not pick the same one. The claim is the UDP port of the same number, which the kernel gives to
 * one process only and which no server here needs.
 */
public final class FreePorts {
  private static final Path EPHEMERAL = Path.of("/proc/sys/net/ipv4/ip_local_port_range");
  private static final int LOWEST = 10_000;
  private static final int HIGHEST = 65_535;
  private static final int TRIES = 1000;

  /** Open until the process ends. */
  private static final List<DatagramSocket> CLAIMS = new ArrayList<>();

  private static final Random RANDOM = new Random();

  private FreePorts() {}

  /** A port that no server listens on and that no other caller gets. */
  public static synchronized int next() {
    int[] ports = outsideEphemeral();
    for (int i = 0; i < TRIES && ports.length > 0; i++) {
      int port = ports[RANDOM.nextInt(ports.length)];
      if (claim(port)) {
        return port;
      }
    }
    throw new IllegalStateException(
        "no free port in %d..%d outside the range in %s".formatted(LOWEST, HIGHEST, EPHEMERAL));
  }

  /** {@link #next} on the loopback address. */
  public static InetSocketAddress nextAddress() {
    return new InetSocketAddress("127.0.0.1", next());
  }

  /** The bounds of the kernel's ephemeral range, both included. */
  static int[] ephemeral() {
    // In one read: the kernel returns nothing to a second one.
    try (BufferedReader reader = Files.newBufferedReader(EPHEMERAL)) {
      String[] bounds = reader.readLine().strip().split("\\s+");
      return new int[] {Integer.parseInt(bounds[0]), Integer.parseInt(bounds[1])};
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int[] outsideEphemeral() {
    int[] range = ephemeral();
    return IntStream.rangeClosed(LOWEST, HIGHEST)
        .filter(port -> port < range[0] || port > range[1])
        .toArray();
  }

  private static boolean claim(int port) {
    DatagramSocket claim = null;
    try {
      claim = new DatagramSocket(port, InetAddress.getLoopbackAddress());
      new ServerSocket(port).close();
    } catch (IOException e) {
      if (claim != null) {
        claim.close();
      }
      return false;
    }
    CLAIMS.add(claim);
    return true;
  }
}
