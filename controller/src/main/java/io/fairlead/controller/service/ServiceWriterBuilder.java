// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.stages.StageGate;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import java.util.concurrent.Executor;

/** Sets what a writer works with by name. */
public final class ServiceWriterBuilder {
  final ServiceRepository repository;
  final Epoch epoch;
  final StoredService stored;
  ClockCheck clock;
  Notes notes;
  CommitMetrics metrics;
  Addresses addresses;
  LiveConnections live;
  SettledServices settled;
  DrainWatch drains;
  StageGate gate;
  Executor pool;
  Executor background;
  EventTimer timer;

  ServiceWriterBuilder(ServiceRepository repository, Epoch epoch, StoredService stored) {
    this.repository = repository;
    this.epoch = epoch;
    this.stored = stored;
  }

  public ServiceWriterBuilder clock(ClockCheck to) {
    clock = to;
    return this;
  }

  public ServiceWriterBuilder notes(Notes to) {
    notes = to;
    return this;
  }

  public ServiceWriterBuilder metrics(CommitMetrics to) {
    metrics = to;
    return this;
  }

  /** Of all services of the epoch. */
  public ServiceWriterBuilder addresses(Addresses to) {
    addresses = to;
    return this;
  }

  /**
   * @param connections what earlier owners of held buckets are asked
   * @param services when no mux opens any there
   */
  public ServiceWriterBuilder live(LiveConnections connections, SettledServices services) {
    live = connections;
    settled = services;
    return this;
  }

  public ServiceWriterBuilder drains(DrainWatch to) {
    drains = to;
    return this;
  }

  public ServiceWriterBuilder stages(StageGate to) {
    gate = to;
    return this;
  }

  /**
   * @param events runs those of many services
   * @param snapshots encodes theirs
   */
  public ServiceWriterBuilder threads(Executor events, Executor snapshots) {
    pool = events;
    background = snapshots;
    return this;
  }

  /** Of all services. */
  public ServiceWriterBuilder timer(EventTimer to) {
    timer = to;
    return this;
  }

  public ServiceWriter build() {
    return new ServiceWriter(this);
  }
}
