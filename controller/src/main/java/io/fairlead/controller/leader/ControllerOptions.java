// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.Built;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.zookeeper.ZooKeeperAccess;
import io.fairlead.controller.store.zookeeper.ZooKeeperTls;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;

/**
 * How a controller is opened.
 *
 * @param zookeeper "embedded:DIR" or "host:port,..."
 * @param zookeeperListen of the embedded server's client port; port 0 picks a free one
 * @param root the tree in ZooKeeper, "/fairlead"
 * @param id of this controller in elections: a restart under the same id takes over from its own
 *     former process at once
 * @param monotonic seconds that pass whatever {@code clock} says, by which muxes are waited for and
 *     deleted services are kept
 * @param checksClock whether commits are refused while {@code clock} and ZooKeeper's differ
 * @param arraysWait whether new arrays of steering othello wait for agents and muxes
 * @param access to a protected ZooKeeper; without it every client of ZooKeeper may do everything
 * @param protectsOpen whether {@code access} may be set on a tree that was open to everyone
 * @param tls to ZooKeeper; empty: without TLS
 * @param writing wraps the store that elects and writes; the identity, except in tests
 * @param muxesRegister how long a restore waits for the nodes of muxes in an empty ZooKeeper, who
 *     try again each second
 * @param healthSettle for how long a new leader, or one that lost ZooKeeper, only looks at probes
 * @param deadAfter for how long an agent is silent before its server may be taken as dead; a
 *     backend that was removed as dead is in the pool again after as long
 */
@Built
public record ControllerOptions(
    String zookeeper,
    InetSocketAddress zookeeperListen,
    String root,
    String id,
    InstantSource clock,
    LongSupplier monotonic,
    boolean checksClock,
    boolean arraysWait,
    Optional<ZooKeeperAccess> access,
    boolean protectsOpen,
    Optional<ZooKeeperTls> tls,
    UnaryOperator<Store> writing,
    Duration muxesRegister,
    Duration healthSettle,
    Duration deadAfter) {
  private static final Duration MUXES_REGISTER = Duration.ofSeconds(3);

  /** A probe writes its node every 10 s, and at once when it is there again. */
  private static final Duration HEALTH_SETTLE = Duration.ofSeconds(12);

  /**
   * @throws IllegalArgumentException naming the option, if two do not go together
   */
  public ControllerOptions {
    if (tls.isPresent() && zookeeper.startsWith("embedded:")) {
      throw new IllegalArgumentException(
          ("--zookeeper-tls-ca with --zookeeper '%s' is refused; allowed: with HOST:PORT,..., as"
                  + " the embedded server speaks no TLS")
              .formatted(zookeeper));
    }
  }

  /** Without protection. */
  public static ControllerOptions of(
      String zookeeper,
      InetSocketAddress zookeeperListen,
      String root,
      String id,
      InstantSource clock) {
    return new ControllerOptions(
        zookeeper,
        zookeeperListen,
        root,
        id,
        clock,
        () -> TimeUnit.NANOSECONDS.toSeconds(System.nanoTime()),
        true,
        true,
        Optional.empty(),
        true,
        Optional.empty(),
        UnaryOperator.identity(),
        MUXES_REGISTER,
        HEALTH_SETTLE,
        LiveConnections.SILENCE);
  }

  public ControllerOptions with(Optional<ZooKeeperAccess> newAccess) {
    return ControllerOptionsBuilder.builder(this).access(newAccess).build();
  }

  public ControllerOptions withProtectsOpen(boolean newProtectsOpen) {
    return ControllerOptionsBuilder.builder(this).protectsOpen(newProtectsOpen).build();
  }

  public ControllerOptions withTls(Optional<ZooKeeperTls> newTls) {
    return ControllerOptionsBuilder.builder(this).tls(newTls).build();
  }

  public ControllerOptions with(UnaryOperator<Store> newWriting) {
    return ControllerOptionsBuilder.builder(this).writing(newWriting).build();
  }

  ControllerOptions withMonotonic(LongSupplier newMonotonic) {
    return ControllerOptionsBuilder.builder(this).monotonic(newMonotonic).build();
  }

  public ControllerOptions withClockCheck(boolean checks) {
    return ControllerOptionsBuilder.builder(this).checksClock(checks).build();
  }

  public ControllerOptions withArraysWait(boolean wait) {
    return ControllerOptionsBuilder.builder(this).arraysWait(wait).build();
  }

  public ControllerOptions with(Duration newMuxesRegister) {
    return ControllerOptionsBuilder.builder(this).muxesRegister(newMuxesRegister).build();
  }

  public ControllerOptions withHealthSettle(Duration newHealthSettle) {
    return ControllerOptionsBuilder.builder(this).healthSettle(newHealthSettle).build();
  }

  public ControllerOptions withDeadAfter(Duration newDeadAfter) {
    return ControllerOptionsBuilder.builder(this).deadAfter(newDeadAfter).build();
  }
}
