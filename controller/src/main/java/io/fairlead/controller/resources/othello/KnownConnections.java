// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.steering.othello.Claims;
import io.fairlead.controller.core.steering.othello.OthelloMap;
import io.fairlead.controller.core.steering.othello.Pins;
import io.fairlead.controller.core.steering.othello.ServerBuckets;
import io.fairlead.controller.resources.agents.ConnectionReports.Changes;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The connections of one service, as servers report them. A server may be several backends. */
final class KnownConnections {
  private final Claims claims;

  /** Backends that ever had a connection here. */
  private final Set<Integer> backends = new HashSet<>();

  private long changes;

  KnownConnections(OthelloMap map) {
    claims = new Claims(map);
  }

  OthelloMap map() {
    return claims.map();
  }

  /** How many have another server too, by what that one says. */
  int disputed() {
    return claims.disputed();
  }

  /**
   * The codes that such connections must have.
   *
   * @param owners who may have connections
   */
  Pins pins(ServiceImage image, Set<Integer> owners, Optional<CommittedArrays> arrays) {
    return claims.pins(
        new SharedBuckets(
            image,
            owners,
            CommittedArrays.codes(arrays, image.ring().buckets()),
            arrays.flatMap(CommittedArrays::codesBefore)));
  }

  /** Differs whenever what is known does. */
  long changes() {
    return changes;
  }

  /**
   * Takes in a report of the server that is these backends. Whoever calls bounds how much is known.
   *
   * @return what was refused of it
   */
  RefusedClaims take(List<Integer> ids, Changes report, Claims.Rule rule) {
    changes++;
    backends.addAll(ids);
    if (report.whole() && report.first()) {
      ids.forEach(claims::begin);
    }
    for (long key : report.closed()) {
      ids.forEach(id -> claims.close(id, key));
    }
    RefusedClaims refused = RefusedClaims.NONE;
    for (long key : report.opened()) {
      refused = refused.plus(claims.open(claimant(ids, key, rule), key, rule));
    }
    if (report.whole() && report.last()) {
      ids.forEach(claims::end);
    }
    return refused;
  }

  /** The first of a server's backends that can have the connection; the first if none can. */
  private static int claimant(List<Integer> ids, long key, Claims.Rule rule) {
    for (int i = 0; ids.size() > 1 && i < ids.size(); i++) {
      if (rule.mayHave(ids.get(i), key)) {
        return ids.get(i);
      }
    }
    return ids.get(0);
  }

  /** Forgets backends that no packet reaches any more. */
  void retain(Collection<Backend> reached) {
    Set<Integer> gone = new HashSet<>(backends);
    reached.forEach(backend -> gone.remove(backend.id()));
    for (int id : gone) {
      claims.forget(id);
      backends.remove(id);
      changes++;
    }
  }

  /** How many have a server to which no code leads: no other arrays would help them. */
  int homeless(ServerBuckets buckets) {
    return backends.stream()
        .filter(id -> buckets.count(id) == 0)
        .mapToInt(id -> map().size(id))
        .sum();
  }
}
