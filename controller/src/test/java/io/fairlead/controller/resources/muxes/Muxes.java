// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import io.fairlead.controller.store.Tree;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;

/** Muxes for tests. */
public final class Muxes {
  private Muxes() {}

  /**
   * Writes a node as a mux or probe that is alive does, in a tree in which everyone may add one.
   *
   * @param entry of the mux or probe; made if it is not there
   */
  public static void write(CuratorFramework client, String entry, String node) throws Exception {
    if (client.checkExists().forPath(entry) == null) {
      byte[] added = "{\"format\":1}".getBytes(StandardCharsets.UTF_8);
      client.create().creatingParentsIfNeeded().forPath(entry, added);
    }
    client
        .create()
        .orSetData()
        .withMode(CreateMode.EPHEMERAL)
        .forPath(Tree.live(entry), node.getBytes(StandardCharsets.UTF_8));
  }

  /** As if it had ended. */
  public static void end(CuratorFramework client, String entry) throws Exception {
    client.delete().forPath(Tree.live(entry));
  }

  /** Children of a node, whose names are longer together than an answer of ZooKeeper may be. */
  public static void makeTooMany(CuratorFramework client, String path) throws Exception {
    for (int i = 0; i < 300; i++) {
      client.create().forPath("%s/%s%d".formatted(path, "x".repeat(4000), i), new byte[0]);
    }
  }

  /** With an IPv4 address alone. */
  public static MuxView mux(
      String id, String address, List<String> ports, Map<String, MuxService> services) {
    return new MuxView(
        id,
        "c",
        "0.1.0",
        Optional.of(address),
        Optional.empty(),
        ports,
        Optional.empty(),
        Map.of(),
        services);
  }

  /** Of kind p4, which serves gue and ring alone. */
  public static MuxView limited(String id, int buckets, Map<String, MuxService> services) {
    return new MuxView(
        id,
        "p4",
        "0.1.0",
        Optional.of("10.1.0.12"),
        Optional.empty(),
        List.of("eth0"),
        Optional.of(
            new MuxServes(
                Optional.of(List.of("gue")), Optional.of(List.of("ring")), Optional.of(buckets))),
        Map.of(),
        services);
  }

  public static MuxService serving(long generation) {
    return serving(generation, generation);
  }

  /** That announces no ring from before {@code settled} again, not even after a restart. */
  public static MuxService serving(long generation, long settled) {
    return service(generation, Optional.empty(), settled);
  }

  /** That has withdrawn the service as too far behind. */
  public static MuxService behind(long generation) {
    return behind(generation, generation);
  }

  public static MuxService behind(long generation, long settled) {
    return service(generation, Optional.of("behind"), settled);
  }

  /** That announces nothing since its ring is older than what is settled. */
  public static MuxService below(long generation, long settled) {
    return service(generation, Optional.of("settled"), settled);
  }

  private static MuxService service(long generation, Optional<String> withdrawn, long settled) {
    return new MuxService(
        generation,
        "serving",
        withdrawn,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.of(settled));
  }

  /** That can't serve the service. */
  public static MuxService unsupported(String why) {
    return new MuxService(
        0,
        "loading",
        Optional.empty(),
        Optional.of("unsupported"),
        Optional.of(why),
        Optional.empty(),
        Optional.of(0L));
  }
}
