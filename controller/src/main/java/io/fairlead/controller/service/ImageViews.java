// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.assign.Fragmentation;
import io.fairlead.controller.assign.Rebalance;
import io.fairlead.controller.backends.BackendView;
import io.fairlead.controller.explain.Explanation;
import io.fairlead.controller.explain.Flow;
import io.fairlead.controller.explain.Owner;
import io.fairlead.controller.explain.RingView;
import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.image.UpkeepState;
import io.fairlead.controller.metrics.StateMetrics;
import io.fairlead.controller.repository.StoredService;
import io.fairlead.controller.ring.Address;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.service.ControlPlane.Look;
import io.fairlead.controller.services.MptcpPorts;
import io.fairlead.controller.services.Port;
import io.fairlead.controller.services.QuicServerId;
import io.fairlead.controller.services.ServiceView;
import io.fairlead.controller.steering.FlowHash;
import io.fairlead.controller.upkeep.UpkeepJob;
import io.fairlead.controller.upkeep.UpkeepView;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** What is shown of an image. Pure. */
final class ImageViews {
  private static final int TCP = 6;
  private static final int UDP = 17;

  private ImageViews() {}

  static Look look(StoredService stored) {
    return new Look() {
      @Override
      public ServiceView service() {
        return ImageViews.service(stored);
      }

      @Override
      public List<BackendView> backends() {
        return ImageViews.backends(stored.image());
      }

      @Override
      public UpkeepView upkeep() {
        return ImageViews.upkeep(stored.image());
      }

      @Override
      public RingView ring() {
        return ImageViews.ring(stored.image());
      }
    };
  }

  static ServiceView service(StoredService stored) {
    ServiceImage image = stored.image();
    ServiceConfig config = image.config();
    return new ServiceView(
        config.id(),
        config.name(),
        stored.version(),
        config.vips(),
        config.ports().stream().map(port -> new Port(port.protocol(), port.port())).toList(),
        config.steering().word(),
        config.buckets(),
        config.hash().word(),
        config.affinity().word(),
        config.encap().word(),
        config.windowSeconds(),
        config.mptcpPorts().map(range -> new MptcpPorts(range.first(), range.last())),
        config.assignment().word(),
        image.ring().generation(),
        image.pool().size(),
        config.quicServerId().map(at -> new QuicServerId(at.offset(), at.length())),
        config.maxSegmentSize());
  }

  static List<BackendView> backends(ServiceImage image) {
    int[] owned = image.ring().owned();
    return image.pool().values().stream()
        .map(
            member ->
                new BackendView(
                    member.id(),
                    member.address().toString(),
                    member.weight(),
                    member.state(),
                    owned[member.id()]))
        .toList();
  }

  static UpkeepView upkeep(ServiceImage image) {
    Fragmentation fragmentation = Fragmentation.of(image.ring());
    Map<Integer, Double> costs = new TreeMap<>();
    image
        .upkeep()
        .ifPresent(
            state ->
                state
                    .costs()
                    .forEach(
                        (id, cost) -> costs.put(id, cost / (double) UpkeepState.AVERAGE_COST)));
    return new UpkeepView(
        image.config().name(),
        image.ring().generation(),
        imbalance(image),
        fragmentation.rules(),
        fragmentation.rate(),
        costs,
        image.upkeep().map(state -> job(image, state)));
  }

  /** By the costs, too, where buckets were measured. */
  private static double imbalance(ServiceImage image) {
    int[] weights = ServiceImage.weights(image.pool());
    return Rebalance.imbalance(
        image.ring(), image.upkeep().map(state -> state.corrected(weights)).orElse(weights));
  }

  private static UpkeepJob job(ServiceImage image, UpkeepState state) {
    return new UpkeepJob(
        state.kind().toString(),
        state.phase().toString(),
        state.target(),
        state.maxMoves(),
        state.moveChained(),
        state.iterations(),
        state.movedBuckets(),
        state.leftBuckets(),
        state.started(),
        state.last(),
        state.isRunning() ? Optional.of(UpkeepPlan.due(image, state)) : Optional.empty());
  }

  static StateMetrics.Service metrics(ServiceImage image) {
    Fragmentation fragmentation = Fragmentation.of(image.ring());
    return new StateMetrics.Service(
        image.config().name(),
        image.ring().generation(),
        image.pool().size(),
        image.ring().buckets(),
        fragmentation.rules(),
        fragmentation.rate(),
        imbalance(image),
        image.upkeep().filter(UpkeepState::isRunning).isPresent());
  }

  static RingView ring(ServiceImage image) {
    Ring ring = image.ring();
    Map<Integer, List<int[]>> runs = new TreeMap<>();
    int start = 0;
    for (int bucket = 1; bucket <= ring.buckets(); bucket++) {
      if (bucket == ring.buckets() || ring.current(bucket) != ring.current(start)) {
        runs.computeIfAbsent(ring.current(start), owner -> new ArrayList<>())
            .add(new int[] {start, bucket - start});
        start = bucket;
      }
    }
    return new RingView(image.config().name(), ring.generation(), ring.buckets(), runs);
  }

  /**
   * Where a mux that has applied this image sends the flow's packets.
   *
   * @param now Unix seconds
   */
  static Explanation explain(ServiceImage image, Flow flow, long now) {
    ServiceConfig config = image.config();
    Address destination = SpecRules.address("destination", flow.destination());
    Address source = SpecRules.address("source", flow.source());
    if (!config.vips().contains(destination.toString())) {
      throw SpecRules.invalid(
          "destination", flow.destination(), "a VIP of the service: " + config.vips());
    }
    if (source.isIpv4() != destination.isIpv4()) {
      throw SpecRules.invalid("source", flow.source(), "an address of the destination's family");
    }
    ServiceConfig.Port port = new ServiceConfig.Port(flow.protocol(), flow.destinationPort());
    Optional<ServiceConfig.MptcpPorts> named = config.mptcpPorts().filter(r -> r.has(port));
    if (!config.ports().contains(port) && named.isEmpty()) {
      throw SpecRules.invalid("destinationPort", port, "a port of the service: " + config.ports());
    }
    if (flow.sourcePort() < 0 || flow.sourcePort() > 65535) {
      throw SpecRules.invalid("sourcePort", flow.sourcePort(), "0..65535");
    }
    byte[] key =
        FlowHash.key(
            config.affinity(),
            source,
            flow.sourcePort(),
            destination,
            flow.destinationPort(),
            flow.protocol().equals("tcp") ? TCP : UDP);
    long hash = FlowHash.hash(config.hash(), config.hashKey(), key);
    Ring ring = image.ring();
    if (named.isPresent()) {
      Optional<Owner> owner =
          Optional.ofNullable(image.pool().get(named.get().id(port.port())))
              .map(member -> new Owner(member.id(), member.address().toString()));
      return new Explanation(
          config.name(),
          hash,
          Optional.empty(),
          owner,
          Optional.empty(),
          0,
          false,
          ring.generation());
    }
    int bucket = (int) (hash & (ring.buckets() - 1));
    return new Explanation(
        config.name(),
        hash,
        Optional.of(bucket),
        owner(ring, ring.current(bucket)),
        owner(ring, ring.previous(bucket)),
        ring.since(bucket),
        ring.isMoved(bucket, now, config.windowSeconds()),
        ring.generation());
  }

  private static Optional<Owner> owner(Ring ring, int id) {
    Backend backend = ring.backends().get(id);
    return backend == null
        ? Optional.empty()
        : Optional.of(new Owner(id, backend.address().toString()));
  }
}
