// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.resources.plane.Health;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Unavailable;
import io.fairlead.controller.store.Leader;
import io.fairlead.controller.store.Note.KeptAnswer;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.StoredService;
import java.net.URI;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers reads: the leader from its catalogue, a follower from what its watch follows, as new as
 * anything committed before the read. While ZooKeeper cannot be reached the last images are read,
 * because the muxes serve them too.
 */
final class Reads implements Plane {
  private static final Logger LOG = LoggerFactory.getLogger(Reads.class);

  private final Supplier<Role> role;
  private final Facilities from;

  /**
   * @param role as it is now
   */
  Reads(Supplier<Role> role, Facilities from) {
    this.role = role;
    this.from = from;
  }

  @Override
  public void confirm() {
    try {
      Role now = role.get();
      if (now instanceof Follower follower) {
        follower.catchUp();
        return;
      }
      Optional<Term> term = now.term();
      if (term.isPresent()
          && from.repository.store().isLatest(term.get().epoch())
          && term.get().catalogue().awaitShown()) { // others may have read it already
        return;
      }
    } catch (StoreException e) {
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
      from.commits.refused(e.kind());
      throw e;
    }
  }

  /** Settings of the whole cluster. */
  ClusterSettings settings() {
    Optional<Term> term = role.get().term();
    if (term.isPresent()) {
      return term.get().catalogue().settings();
    }
    try {
      return from.repository.store().settings();
    } catch (StoreException e) {
      throw Unavailable.store(e);
    }
  }

  @Override
  public Health health() {
    Role now = role.get();
    return new Health(
        now.term().isPresent(),
        now.number(),
        from.session.word(),
        lastServices().size(),
        from.leaderWatch.leader().flatMap(Leader::url).map(URI::create));
  }

  @Override
  public Optional<KeptAnswer> answer(String key) {
    try {
      return from.journal.answer(key);
    } catch (StoreException e) {
      throw Unavailable.store(e);
    }
  }

  @Override
  public boolean isServing() {
    return lookedUp().isPresent();
  }

  /** The services as known here, which may be older than the last commit; empty before a load. */
  Collection<StoredService> lastServices() {
    return lookedUp().map(Images::all).orElse(List.of());
  }

  /** A role that ends while it is asked has none any more: the one after it is asked then. */
  private Optional<Images> lookedUp() {
    Role now;
    Optional<Images> images;
    do {
      now = role.get();
      images = now.images();
    } while (images.isEmpty() && now != role.get());
    return images;
  }

  private Images images() {
    if (from.session.isConnected() && role.get() instanceof Follower follower) {
      try {
        follower.catchUp();
      } catch (StoreException e) {
        LOG.debug("reading the last known images: {}", e.toString());
      }
    }
    return lookedUp().orElseThrow(() -> Unavailable.notLoaded(from.session.isConnected()));
  }
}
