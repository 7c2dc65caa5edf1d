// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import com.google.common.collect.Maps;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.store.Election;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.StoreException;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** This controller in the election: changes its role when it is elected or deposed. */
final class Candidate implements Election.Listener, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Candidate.class);

  private final Facilities from;
  private final CurrentRole role;
  private final Plane plane;
  private volatile Optional<URI> url = Optional.empty();
  private volatile Optional<Election> election = Optional.empty();

  Candidate(Facilities from, CurrentRole role, Plane plane) {
    this.from = from;
    this.role = role;
    this.plane = plane;
  }

  /**
   * @param at where the others find this controller's API while it leads
   */
  void start(Optional<URI> at) {
    url = at;
    Election started =
        new Election(
            from.writing,
            from.tree,
            from.options.id(),
            at.map(URI::toString),
            from.options.protectsOpen(),
            this);
    election = Optional.of(started);
    started.start();
  }

  @Override
  public void enter() {
    from.follow();
  }

  /** If the election is lost meanwhile, {@link #follow} is called next: both run on one thread. */
  @Override
  public void lead(Epoch epoch) throws StoreException {
    Infrastructure infrastructure =
        new Infrastructure(
            from.store.address(),
            () -> Infrastructure.controllers(candidates(), url, from.options.id()),
            from.muxWatch::muxes);
    Term term = Term.load(from, epoch, plane, infrastructure, role.get()::known);
    role.become(term);
    LOG.info(
        "leading in epoch {} with {} services", epoch.number(), term.catalogue().writers().size());
  }

  /** Does nothing if a term was elected and never loaded: what the watch has is newer. */
  @Override
  public void follow() {
    role.term()
        .ifPresent(
            last -> {
              from.serviceWatch.resume(
                  Maps.uniqueIndex(last.catalogue().all(), each -> each.image().config().name()),
                  last.catalogue().damaged());
              role.become(new Follower(from.serviceWatch, last.number(), SoftState.none(plane)));
            });
  }

  /** Why this controller will never lead, if so. */
  Optional<StoreException.NotOurs> refusal() {
    return election.flatMap(Election::refusal);
  }

  /** Ids of the controllers that run; none while the tree is not known as its own. */
  List<String> candidates() {
    return election.map(Election::candidates).orElse(List.of());
  }

  Optional<URI> url() {
    return url;
  }

  @Override
  public void close() {
    Optional<Term> last = role.term();
    election.ifPresent(Election::close);
    follow();
    role.end();
    last.ifPresent(Term::stop);
  }
}
