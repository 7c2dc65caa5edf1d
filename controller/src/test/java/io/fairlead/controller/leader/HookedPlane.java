// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.resources.plane.Health;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.store.Note.KeptAnswer;
import io.fairlead.controller.store.repository.StoredService;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

/** A plane during whose reads something happens. */
public final class HookedPlane implements Plane {
  private final Plane plane;
  private volatile Runnable whenRead = () -> {};
  private final AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});

  HookedPlane(Plane plane) {
    this.plane = plane;
  }

  /** Runs at the start of each read of all services. */
  public void whenRead(Runnable what) {
    whenRead = what;
  }

  /** Runs once, while the next read of one service is answered. */
  public void meanwhile(Runnable what) {
    meanwhile.set(what);
  }

  @Override
  public Collection<StoredService> services() {
    whenRead.run();
    return plane.services();
  }

  @Override
  public <T> T read(String service, Function<StoredService, T> view) {
    return plane.read(
        service,
        stored -> {
          meanwhile.getAndSet(() -> {}).run();
          return view.apply(stored);
        });
  }

  @Override
  public void confirm() {
    plane.confirm();
  }

  @Override
  public Health health() {
    return plane.health();
  }

  @Override
  public boolean isServing() {
    return plane.isServing();
  }

  @Override
  public Optional<KeptAnswer> answer(String key) {
    return plane.answer(key);
  }
}
