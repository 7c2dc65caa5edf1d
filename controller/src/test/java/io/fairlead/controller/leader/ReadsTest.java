// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.store.ServiceWatch;
import io.fairlead.controller.store.memory.MemoryTree;
import io.fairlead.controller.store.repository.StoredService;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reads while the controller's role changes. */
class ReadsTest {
  private final Facilities facilities =
      new Facilities(
          ControllerOptions.of(
              "memory", FreePorts.nextAddress(), "/fairlead", "c1", InstantSource.system()),
          new MemoryTree(InstantSource.system()).client(),
          () -> {});

  private final List<ServiceWatch<StoredService>> watches = new ArrayList<>();

  @AfterEach
  void close() {
    watches.forEach(ServiceWatch::close);
    facilities.close();
  }

  private Follower follower() {
    ServiceWatch<StoredService> watch =
        new ServiceWatch<>(
            facilities.store,
            facilities.tree,
            facilities.repository.store(),
            facilities.repository::readCommitted);
    watches.add(watch);
    watch.resume(Map.of(), Map.of());
    return new Follower(watch, 1, null);
  }

  /** The role was looked up right before it ended. */
  @Test
  void aRoleThatHasJustEndedHidesNothing() {
    Follower former = follower();
    Follower present = follower();
    former.close();
    Deque<Role> roles = new ArrayDeque<>();
    Reads reads = new Reads(() -> roles.size() > 1 ? roles.pop() : roles.peek(), facilities);
    roles.addAll(List.of(former, present));
    assertThat(reads.isServing()).isTrue();
    roles.addFirst(former);
    assertThat(reads.services()).isEmpty();
  }

  @Test
  void aRoleWithoutServicesIsAskedOnce() {
    Follower unread = follower();
    unread.close();
    Reads reads = new Reads(() -> unread, facilities);
    assertThat(reads.isServing()).isFalse();
  }
}
