// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.resources.agents.AgentRoutes;
import io.fairlead.controller.resources.audit.AuditLog;
import io.fairlead.controller.resources.backends.Backends;
import io.fairlead.controller.resources.cluster.Cluster;
import io.fairlead.controller.resources.drains.Drains;
import io.fairlead.controller.resources.health.HealthRoutes;
import io.fairlead.controller.resources.muxes.MuxList;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.othello.OthelloStatus;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Unavailable;
import io.fairlead.controller.resources.services.Services;
import io.fairlead.controller.resources.stages.Stages;
import io.fairlead.controller.resources.targets.MetricsTargets;
import io.fairlead.controller.resources.upkeep.Upkeeps;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.Backup;
import io.fairlead.controller.store.repository.StoredService;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control plane on ZooKeeper: opened by {@code Main}, asked by the resources of the REST API,
 * closed at the end. This class only wires: a {@link Candidate} changes the {@link Role}, and a
 * leader's {@link Term} has the {@link Catalogue} of all services, each with a writer; {@link
 * Reads} and {@link Writes} answer.
 */
public final class FairleadController implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(FairleadController.class);

  private final Facilities from;
  private final CurrentRole role;
  private final Candidate candidate;
  private final Reads reads;
  private final Writes writes;

  /**
   * Neither follows nor leads before {@link #start}.
   *
   * @param store not started yet; it is closed with this
   */
  public FairleadController(ControllerOptions options, Store store) {
    from = new Facilities(options, store, this::noted);
    reads = new Reads(this::role, from);
    role = new CurrentRole(new Follower(from.serviceWatch, 0, SoftState.none(reads)));
    writes = new Writes(role, from);
    candidate = new Candidate(from, role, reads);
    RoleMetrics.register(from, role, reads);
  }

  private Role role() {
    return role.get();
  }

  private void noted() {
    role.term().ifPresent(Term::noted);
  }

  /**
   * Begins to follow and to seek leadership; returns without waiting for either.
   *
   * @param url of this controller's API, for the others to send writes to while it leads
   */
  public void start(Optional<URI> url) {
    from.connect();
    candidate.start(url);
  }

  /** Whether reads are answered. */
  public boolean isServing() {
    return reads.isServing();
  }

  /** Why it will never lead, if so. */
  public Optional<StoreException.NotOurs> refusal() {
    return candidate.refusal();
  }

  /** Whether this controller leads and has loaded every service, within {@code timeout}. */
  public boolean awaitLeader(Duration timeout) throws InterruptedException {
    return role.awaitTerm(timeout);
  }

  /** The connect string by which clients and muxes reach ZooKeeper. */
  public String zookeeper() {
    return from.store.address();
  }

  public InstantSource clock() {
    return from.options.clock();
  }

  /** The registry behind /metrics: {@code metrics().scrape()}. */
  public PrometheusMeterRegistry metrics() {
    return from.registry;
  }

  public Plane plane() {
    return reads;
  }

  public Services services() {
    return writes;
  }

  public Backends backends() {
    return writes;
  }

  public Drains drains() {
    return writes;
  }

  public Stages stages() {
    return writes;
  }

  /** Settings of the whole cluster. */
  public Cluster cluster() {
    return new ClusterAccess(reads, writes);
  }

  /** What this controller was told in its present role; another one after the next election. */
  public SoftState softState() {
    return role.get().softState();
  }

  /** What probes find, and backends that health leaves alone. */
  public HealthRoutes probes() {
    return new HealthRoutes(() -> role.term().map(Term::health).orElse(List.of()), writes);
  }

  public Upkeeps upkeeps() {
    return writes;
  }

  /** The live muxes by ascending id, as they last wrote their own nodes. */
  public Supplier<List<MuxView>> muxes() {
    return from.muxWatch::muxes;
  }

  /** The muxes that are added, alive or not. */
  public MuxList muxList() {
    return new MuxListAccess(from.muxWatch, writes, from.store::readersLogin);
  }

  public MetricsTargets targets() {
    return new MetricsTargets(
        candidate::candidates, candidate::url, from.muxWatch::muxes, from.probeWatch::metrics);
  }

  /** How services steered by othello stand, as known to this controller while it leads. */
  public Function<String, Optional<OthelloStatus>> othello() {
    return service -> role.term().flatMap(term -> term.othello().status(service));
  }

  /** The arrays of services steered by othello. */
  public Function<StoredService, Optional<CommittedArrays>> arrays() {
    return new ArraysCache(from.repository.store());
  }

  /** Records what agents were not allowed to report. */
  public AgentRoutes.Audit refusals() {
    return (who, what, why) -> {
      long epoch = role.term().map(Term::number).orElse(0L);
      try {
        from.journal.record(from.notes.refused(epoch, who, what, why));
      } catch (StoreException e) {
        LOG.warn("{}", e.getMessage());
      }
    };
  }

  public AuditLog audit() {
    return (before, limit) -> {
      try {
        return from.journal.page(before, limit);
      } catch (StoreException e) {
        throw Unavailable.store(e);
      }
    };
  }

  /** A backup for the request of {@code Origin}, which leaves an audit record. */
  public Function<Origin, byte[]> backup() {
    return new LiveBackup(
        reads::services, from.repository.store(), from.muxStore, from.journal, from.notes);
  }

  /**
   * In place of {@link #start}: rebuilds the cluster from a backup in a ZooKeeper without services.
   *
   * @throws IllegalArgumentException if this ZooKeeper does not allow it
   * @throws StoreException if ZooKeeper fails; the restore can be run again, unless it is NotOurs
   */
  public void restore(Backup backup) throws IOException, StoreException {
    from.store.start();
    new Restoration(backup, from).run();
  }

  @Override
  public void close() {
    candidate.close();
    from.close();
  }
}
