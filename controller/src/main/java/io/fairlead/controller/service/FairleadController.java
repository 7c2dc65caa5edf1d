// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * The control plane on ZooKeeper: opened by {@code Main}, asked by the REST API, closed at the end.
 */
public final class FairleadController implements ControlPlane, AutoCloseable {
  /**
   * @param zookeeper "embedded:DIR" or "host:port,..."
   * @param zookeeperListen "host:port" of the embedded server's client port; port 0 picks a free
   *     one
   * @param root the tree in ZooKeeper, "/fairlead"
   * @param id of this controller in elections: a restart under the same id takes over from its own
   *     former life at once
   */
  public record Options(
      String zookeeper, String zookeeperListen, String root, String id, Clock clock) {}

  private FairleadController() {}

  /**
   * Starts the embedded server, if asked for, and begins to seek leadership; returns without
   * waiting for it.
   *
   * @throws IllegalArgumentException for a bad option, with its name, value and what is allowed
   * @throws java.io.IOException if the embedded server cannot start
   */
  public static FairleadController open(Options options) throws java.io.IOException {
    throw new UnsupportedOperationException();
  }

  /** Whether this controller leads and has loaded every service, within {@code timeout}. */
  public boolean awaitLeader(Duration timeout) throws InterruptedException {
    throw new UnsupportedOperationException();
  }

  /** Where clients and muxes find ZooKeeper. */
  public String zookeeper() {
    throw new UnsupportedOperationException();
  }

  /** The registry behind /metrics: {@code metrics().scrape()}. */
  public PrometheusMeterRegistry metrics() {
    throw new UnsupportedOperationException();
  }

  @Override
  public List<ServiceView> services() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Optional<ServiceView> service(String name) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<Result> createService(ServiceSpec spec, boolean dryRun) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<Result> changeService(String name, ServiceChange change, boolean dryRun) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<Result> deleteService(String name, boolean dryRun) {
    throw new UnsupportedOperationException();
  }

  @Override
  public List<BackendView> backends(String service) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<Result> change(String service, List<Change> changes, boolean dryRun) {
    throw new UnsupportedOperationException();
  }

  @Override
  public RingView ring(String service) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Explanation explain(String service, Flow flow) {
    throw new UnsupportedOperationException();
  }

  @Override
  public List<MuxView> muxes() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Health health() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {}
}
