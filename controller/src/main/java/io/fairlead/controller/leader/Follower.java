// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.store.ServiceWatch;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.StoredService;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A controller that does not lead. Its watch is the same one whenever it follows; it is paused in a
 * term.
 */
record Follower(ServiceWatch<StoredService> watch, long number, SoftState softState)
    implements Role {
  private static final Duration CATCH_UP_MAX = Duration.ofSeconds(2);

  @Override
  public Optional<Term> term() {
    return Optional.empty();
  }

  @Override
  public Optional<Images> images() {
    return watch.whole().map(Images::of);
  }

  @Override
  public Optional<StoredService> known(String service) {
    return watch.service(service);
  }

  /** Returns once everything that was committed before this call is read. */
  void catchUp() throws StoreException {
    try {
      watch.catchUp().get(CATCH_UP_MAX.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted", e);
    } catch (ExecutionException | TimeoutException e) {
      throw new StoreException("the services are not followed: " + e, e);
    }
  }

  @Override
  public void begin() {
    // the watch follows already
  }

  @Override
  public void close() {
    watch.pause();
  }
}
