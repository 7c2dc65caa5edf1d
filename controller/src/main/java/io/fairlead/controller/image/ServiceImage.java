// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.image;

import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * All of one service at one moment: its configuration, its pool of backends with their weights, and
 * its ring.
 */
public record ServiceImage(ServiceConfig config, SortedMap<Integer, Member> pool, Ring ring) {
  public ServiceImage {
    pool = Collections.unmodifiableSortedMap(new TreeMap<>(pool));
    if (ring.service() != config.id() || ring.buckets() != config.buckets()) {
      throw new IllegalArgumentException(
          "%s does not belong to service '%s' (id %d, %d buckets)"
              .formatted(ring, config.name(), config.id(), config.buckets()));
    }
  }

  /** A backend in service with its weight; weight 0 is draining. */
  public record Member(int id, Address address, int weight) {
    public static final int WEIGHT_MAX = 65535;

    public String state() {
      return weight == 0 ? "draining" : "active";
    }
  }

  /** A new service: no backends, generation 1. */
  public static ServiceImage create(ServiceConfig config, long committed) {
    return new ServiceImage(
        config, new TreeMap<>(), Ring.empty(config.id(), config.buckets(), committed));
  }

  public ServiceImage withConfig(ServiceConfig changed) {
    return new ServiceImage(changed, pool, ring);
  }

  /** Weights by backend id, 0 for whoever is not in the pool. */
  public static int[] weights(SortedMap<Integer, Member> pool) {
    int[] weights = new int[Backend.MAX + 1];
    pool.values().forEach(member -> weights[member.id()] = member.weight());
    return weights;
  }
}
