// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.store.ServiceWatch;
import io.fairlead.controller.store.repository.StoredService;
import java.util.Collection;
import java.util.Optional;

/** The services that reads are answered from: the leader's own, or those of a follower. */
interface Images {
  /** By ascending name. */
  Collection<StoredService> all();

  Optional<StoredService> find(String name);

  /** Why an existing service cannot be read. */
  Optional<String> damage(String name);

  /**
   * The service.
   *
   * @throws Refusal with the reason, if there is none
   */
  default StoredService get(String name) {
    return find(name).orElseThrow(() -> missing(name));
  }

  default Refusal missing(String name) {
    return damage(name)
        .map(
            damage ->
                Refusal.unavailable(
                    "service", name, "services with undamaged data; here: " + damage))
        .orElseGet(() -> Refusal.noService(name));
  }

  static Images of(ServiceWatch.Copy<StoredService> copy) {
    return new Images() {
      @Override
      public Collection<StoredService> all() {
        return copy.services();
      }

      @Override
      public Optional<StoredService> find(String name) {
        return copy.service(name);
      }

      @Override
      public Optional<String> damage(String name) {
        return copy.damage(name);
      }
    };
  }
}
