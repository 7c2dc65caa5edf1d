// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import java.util.List;
import java.util.stream.IntStream;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingCluster;
import org.apache.curator.test.TestingServer;

/** Curator's ZooKeeper servers on ports that they find free again after a restart. */
public final class TestZooKeeper {
  private TestZooKeeper() {}

  /** One server, started. */
  public static TestingServer start() throws Exception {
    return new TestingServer(FreePorts.next());
  }

  /** An ensemble of {@code size} servers, started. */
  static TestingCluster ensemble(int size) throws Exception {
    List<InstanceSpec> specs =
        IntStream.rangeClosed(1, size)
            .mapToObj(
                id ->
                    new InstanceSpec(
                        null, FreePorts.next(), FreePorts.next(), FreePorts.next(), true, id))
            .toList();
    TestingCluster cluster = new TestingCluster(specs);
    cluster.start();
    return cluster;
  }
}
