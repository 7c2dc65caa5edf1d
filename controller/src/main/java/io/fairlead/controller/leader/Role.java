// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.store.repository.StoredService;
import java.util.Optional;

/**
 * What a controller is to its cluster, and all that holds only while it is that. So a new leader
 * knows nothing, and nothing of a term outlasts it.
 */
sealed interface Role extends AutoCloseable permits Follower, Term {
  /** The term; empty while another controller leads, or none. */
  Optional<Term> term();

  /** The number of the epoch that it leads in, or has led in last; 0 before the first. */
  long number();

  /** The services to answer reads from; empty before they are loaded. */
  Optional<Images> images();

  /** What was read last of a service, if anything. */
  Optional<StoredService> known(String service);

  SoftState softState();

  /** Starts its periodic work. */
  void begin();

  /** Ends its periodic work, without waiting for what runs. */
  @Override
  void close();
}
