// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.plane.Health;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.LeaderNode;
import io.fairlead.controller.store.LeaderWatch;
import io.fairlead.controller.store.Note.KeptAnswer;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.ServiceWatch;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.StoredService;
import java.net.URI;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers reads: the leader from its catalogue, a follower from what its watch follows, as new as
 * anything committed before the read. While ZooKeeper cannot be reached the last images are read,
 * because the muxes serve them too.
 */
final class Reads implements Plane {
  private static final Logger LOG = LoggerFactory.getLogger(Reads.class);
  private static final Duration CATCH_UP_MAX = Duration.ofSeconds(2);

  private final Lead lead;
  private final Session session;
  private final ServiceStore store;
  private final ServiceWatch<StoredService> serviceWatch;
  private final LeaderWatch leaderWatch;
  private final Journal journal;
  private final CommitMetrics metrics;

  Reads(
      Lead lead,
      Session session,
      ServiceStore store,
      ServiceWatch<StoredService> serviceWatch,
      LeaderWatch leaderWatch,
      Journal journal,
      CommitMetrics metrics) {
    this.lead = lead;
    this.session = session;
    this.store = store;
    this.serviceWatch = serviceWatch;
    this.leaderWatch = leaderWatch;
    this.journal = journal;
    this.metrics = metrics;
  }

  @Override
  public void confirm() {
    try {
      if (!lead.isLeading()) {
        serviceWatch.catchUp().get(CATCH_UP_MAX.toMillis(), TimeUnit.MILLISECONDS);
        return;
      }
      Optional<Catalogue> last = lead.last();
      if (last.isPresent() && store.isLatest(last.get().epoch())) {
        last.get().awaitShown(); // others may have read what has just been committed here
        return;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException | StoreException e) {
      LOG.debug("not confirmed: {}", e.toString());
    }
    throw Unavailable.notConfirmed();
  }

  @Override
  public Collection<StoredService> services() {
    return images().all();
  }

  @Override
  public <T> T read(String service, Function<StoredService, T> view) {
    try {
      return view.apply(images().get(service));
    } catch (Refusal e) {
      metrics.refused(e.kind());
      throw e;
    }
  }

  /** Settings of the whole cluster. */
  ClusterSettings settings() {
    Optional<Catalogue> leading = lead.current();
    if (leading.isPresent()) {
      return leading.get().settings();
    }
    try {
      return store.settings();
    } catch (StoreException e) {
      throw Unavailable.store(e);
    }
  }

  @Override
  public Health health() {
    return new Health(
        lead.isLeading(),
        lead.last().map(last -> last.epoch().number()).orElse(0L),
        session.word(),
        lastServices().size(),
        leaderWatch.leader().flatMap(LeaderNode::url).map(URI::create));
  }

  @Override
  public Optional<KeptAnswer> answer(String key) {
    try {
      return journal.answer(key);
    } catch (StoreException e) {
      throw Unavailable.store(e);
    }
  }

  @Override
  public boolean isServing() {
    return lastImages().isPresent();
  }

  /** The services as known here, which may be older than the last commit; empty before a load. */
  Collection<StoredService> lastServices() {
    return lastImages().map(Images::all).orElse(List.of());
  }

  private Images images() {
    if (!lead.isLeading() && session.isConnected()) {
      try {
        serviceWatch.catchUp().get(CATCH_UP_MAX.toMillis(), TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (ExecutionException | TimeoutException e) {
        LOG.debug("reading the last known images: {}", e.toString());
      }
    }
    return lastImages().orElseThrow(() -> Unavailable.notLoaded(session.isConnected()));
  }

  private Optional<Images> lastImages() {
    return !lead.isLeading() && serviceWatch.isLoaded()
        ? Optional.of(Images.of(serviceWatch))
        : lead.last().map(catalogue -> catalogue);
  }
}
