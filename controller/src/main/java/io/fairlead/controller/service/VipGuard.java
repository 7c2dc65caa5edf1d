// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.resources.cluster.ClusterRules;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Keeps VIPs away from what the cluster itself needs: a mux routes a VIP to itself, and so cuts
 * itself off from whatever else has that address. Backends that are muxes would send packets round.
 */
public final class VipGuard {
  /**
   * Sentences about addresses that are taken.
   *
   * @param addresses that no VIP may have
   * @param muxes those of them that no backend may have
   */
  public record Taken(Map<Address, String> addresses, Map<Address, String> muxes) {
    private static final Taken NOTHING = new Taken(Map.of(), Map.of());
  }

  private final Supplier<Taken> taken;
  private volatile ClusterSettings settings;

  public VipGuard(ClusterSettings settings, Supplier<Taken> taken) {
    this.settings = settings;
    this.taken = taken;
  }

  /** Allows everything: for services that are on their own. */
  static VipGuard none() {
    ClusterSettings all = ClusterSettings.of(List.of("0.0.0.0/0", "::/0"), List.of());
    return new VipGuard(all, () -> Taken.NOTHING);
  }

  public ClusterSettings settings() {
    return settings;
  }

  /** Once they are committed. */
  public void set(ClusterSettings committed) {
    settings = committed;
  }

  /**
   * @param by the settings that hold once the VIPs are there
   * @throws Refusal if one of them is not allowed
   */
  void check(ClusterSettings by, Collection<Address> vips, Collection<Address> backends) {
    if (vips.isEmpty() && backends.isEmpty()) {
      return;
    }
    Taken now = taken.get();
    for (Address vip : vips) {
      checkFree("vips", vip, now.addresses());
      ClusterRules.checkVip(by, vip);
    }
    for (Address backend : backends) {
      checkFree("address", backend, now.muxes());
    }
  }

  private static void checkFree(String field, Address address, Map<Address, String> taken) {
    String why = taken.get(address);
    if (why != null) {
      throw Refusal.conflict(field, address, "an address that the cluster does not need: " + why);
    }
  }
}
