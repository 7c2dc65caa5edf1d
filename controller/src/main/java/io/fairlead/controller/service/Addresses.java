// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import com.google.common.base.Suppliers;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.resources.backends.Reserved;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Keeps VIPs and backends of all services of an epoch apart: a mux sends a backend's packets to its
 * address, and if that is a VIP they return to a mux. A {@link VipGuard} keeps VIPs away from what
 * the cluster itself needs.
 *
 * <p>Services change concurrently. So before a commit its change is checked and claimed in one
 * step, and the claim counts for all other services until it is known whether the commit took
 * place.
 */
public final class Addresses {
  private final Supplier<? extends Collection<ServiceImage>> images;
  private final VipGuard guard;

  /** Services as they will be if their pending commits succeed, by name. */
  @GuardedBy("this")
  private final Map<String, ServiceImage> coming = new HashMap<>();

  /**
   * @param images of all services as committed
   */
  public Addresses(Supplier<? extends Collection<ServiceImage>> images, VipGuard guard) {
    this.images = images;
    this.guard = guard;
  }

  /** Claims a new service, which comes with these settings of the cluster. */
  public synchronized void claim(ServiceImage created, ClusterSettings settings, Instant now) {
    if (check(Optional.empty(), created, settings, now)) {
      coming.put(created.config().name(), created);
    }
  }

  /** As {@link #claim(ServiceImage, ClusterSettings, Instant)}, but claims nothing. */
  public synchronized void check(ServiceImage created, ClusterSettings settings, Instant now) {
    check(Optional.empty(), created, settings, now);
  }

  /**
   * Claims what a service will be, until {@link #settle}. What it had before is not checked. If the
   * write then fails, it stays claimed until the service has been read again.
   *
   * @param dryRun whether to check only
   * @throws Refusal if a new VIP is a backend's address, or a new backend's address a VIP, here or
   *     elsewhere, or if the guard does not allow a new VIP
   */
  synchronized void claim(ServiceImage before, ServiceImage after, Instant now, boolean dryRun) {
    if (check(Optional.of(before), after, guard.settings(), now) && !dryRun) {
      coming.put(after.config().name(), after);
    }
  }

  /** Whether any VIP or backend is new. */
  @GuardedBy("this")
  private boolean check(
      Optional<ServiceImage> before, ServiceImage after, ClusterSettings settings, Instant now) {
    Set<Address> vips = vips(after);
    Set<Address> backends = backends(after);
    before.ifPresent(
        image -> {
          vips.removeAll(vips(image));
          backends.removeAll(backends(image));
        });
    if (vips.isEmpty() && backends.isEmpty()) {
      return false;
    }
    guard.check(settings, vips, backends);
    List<ServiceImage> all = new ArrayList<>(images.get());
    all.addAll(coming.values());
    all.add(after);
    for (ServiceImage image : all) {
      checkVips(vips, image, now);
      checkBackends(backends, image);
    }
    return true;
  }

  /**
   * Checks that settings allow the VIPs of all services.
   *
   * @throws Refusal naming the first VIP that they do not allow
   */
  public synchronized void check(ClusterSettings settings) {
    List<ServiceImage> all = new ArrayList<>(images.get());
    all.addAll(coming.values());
    for (ServiceImage image : all) {
      for (Address vip : vips(image)) {
        if (!settings.covers(vip) || settings.excludes(vip)) {
          throw conflict(
              settings.covers(vip) ? "neverVips" : "vipRanges",
              vip,
              "settings that allow the VIPs of all services; it is one of '%s'"
                  .formatted(image.config().name()));
        }
      }
    }
  }

  /** Ends the claim for the service: it is committed, or is known not to be. */
  public synchronized void settle(String service) {
    coming.remove(service);
  }

  /**
   * Addresses that are both VIP and backend, each as a sentence: older commits were not checked.
   */
  public static List<String> shared(Collection<ServiceImage> images) {
    Map<Address, String> services = new HashMap<>();
    images.forEach(image -> vips(image).forEach(vip -> services.put(vip, image.config().name())));
    List<String> shared = new ArrayList<>();
    for (ServiceImage image : images) {
      for (ServiceImage.Member member : image.pool().values()) {
        if (services.containsKey(member.address())) {
          shared.add(
              "%s is a VIP of '%s' and backend %d of '%s'"
                  .formatted(
                      member.address(),
                      services.get(member.address()),
                      member.id(),
                      image.config().name()));
        }
      }
    }
    return shared;
  }

  private static void checkVips(Set<Address> vips, ServiceImage image, Instant now) {
    if (vips.isEmpty()) {
      return;
    }
    Supplier<Reserved> reserved = Suppliers.memoize(() -> new Reserved(image, now));
    for (Backend backend : image.ring().backends().values()) {
      if (!vips.contains(backend.address())) {
        continue;
      }
      if (!backend.removed()) {
        throw conflict(
            "vips",
            backend.address(),
            "an address that no backend has; backend %d of '%s' has it"
                .formatted(backend.id(), image.config().name()));
      }
      long left = reserved.get().secondsLeft(backend.id());
      if (left > 0) {
        throw conflict(
            "vips",
            backend.address(),
            "this one in %d s%s: packets are still chained to the removed backend %d of '%s'"
                .formatted(
                    left,
                    image.config().holdSeconds() > 0 ? " at most" : "",
                    backend.id(),
                    image.config().name()));
      }
    }
  }

  private static void checkBackends(Set<Address> backends, ServiceImage image) {
    if (backends.isEmpty()) {
      return;
    }
    for (Address vip : vips(image)) {
      if (backends.contains(vip)) {
        throw conflict(
            "address",
            vip,
            "an address that is not a VIP; it is one of '%s'".formatted(image.config().name()));
      }
    }
  }

  private static Set<Address> vips(ServiceImage image) {
    Set<Address> vips = new HashSet<>();
    image.config().vips().forEach(vip -> Address.parse(vip).ifPresent(vips::add));
    return vips;
  }

  private static Set<Address> backends(ServiceImage image) {
    Set<Address> backends = new HashSet<>();
    image.pool().values().forEach(member -> backends.add(member.address()));
    return backends;
  }

  private static Refusal conflict(String field, Address value, String allowed) {
    return new Refusal(Refusal.Kind.CONFLICT, field, value.toString(), allowed);
  }
}
