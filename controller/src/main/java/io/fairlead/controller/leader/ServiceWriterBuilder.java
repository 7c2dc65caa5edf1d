// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import java.util.concurrent.Executor;

/** Sets what a writer works with by name. */
final class ServiceWriterBuilder {
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
  Executor pool;
  Executor background;
  EventTimer timer;

  ServiceWriterBuilder(ServiceRepository repository, Epoch epoch, StoredService stored) {
    this.repository = repository;
    this.epoch = epoch;
    this.stored = stored;
  }

  ServiceWriterBuilder clock(ClockCheck to) {
    clock = to;
    return this;
  }

  ServiceWriterBuilder notes(Notes to) {
    notes = to;
    return this;
  }

  ServiceWriterBuilder metrics(CommitMetrics to) {
    metrics = to;
    return this;
  }

  /** Of all services of the epoch. */
  ServiceWriterBuilder addresses(Addresses to) {
    addresses = to;
    return this;
  }

  /**
   * @param connections what earlier owners of held buckets are asked
   * @param services when no mux opens any there
   */
  ServiceWriterBuilder live(LiveConnections connections, SettledServices services) {
    live = connections;
    settled = services;
    return this;
  }

  ServiceWriterBuilder drains(DrainWatch to) {
    drains = to;
    return this;
  }

  /**
   * @param events runs those of many services
   * @param snapshots encodes theirs
   */
  ServiceWriterBuilder threads(Executor events, Executor snapshots) {
    pool = events;
    background = snapshots;
    return this;
  }

  /** Of all services. */
  ServiceWriterBuilder timer(EventTimer to) {
    timer = to;
    return this;
  }

  ServiceWriter build() {
    return new ServiceWriter(this);
  }
}
