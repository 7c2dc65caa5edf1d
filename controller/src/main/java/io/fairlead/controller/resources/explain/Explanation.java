// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.explain;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.MptcpPorts;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.steering.FlowHash;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.backends.AddressRules;
import io.fairlead.controller.resources.hold.DefaultHold;
import io.fairlead.controller.resources.hold.HoldView;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Where a packet of a flow goes.
 *
 * @param hash the low half of the flow hash
 * @param steering the service's method, which says in which order a packet names two buckets
 * @param bucket absent where the port names the backend ({@link MptcpPorts})
 * @param former owners that the packet names, newest first: their window is open, or the bucket is
 *     held
 * @param hold of a bucket that is held, or will be when its window is over
 * @param kept for how long former owners count, and why, in words
 * @param arrays that gave the bucket, with steering othello
 * @param second the bucket that the arrays before give, or with hunt and maat the high half of the
 *     hash, if it is another
 */
public record Explanation(
    String service,
    long hash,
    SteeringMethod steering,
    Optional<Integer> bucket,
    Optional<Owner> current,
    List<Former> former,
    Optional<HoldView.Bucket> hold,
    String kept,
    long generation,
    Optional<Arrays> arrays,
    Optional<Second> second) {
  private static final int TCP = 6;
  private static final int UDP = 17;

  /**
   * Othello arrays.
   *
   * @param previous the generation of those before, 0 for the low bits; empty once settled
   */
  public record Arrays(long generation, Optional<Long> previous) {}

  /** As the first bucket's fields say of that one. */
  public record Second(
      int bucket, Optional<Owner> current, List<Former> former, Optional<HoldView.Bucket> hold) {}

  /** A backend that owns a bucket. */
  public record Owner(int id, String address) {}

  /**
   * One that owned it.
   *
   * @param since Unix seconds at which it lost the bucket
   */
  public record Former(int id, String address, long since) {}

  /**
   * Where a mux that has applied this image sends the flow's packets.
   *
   * @param committed the arrays of a service steered by othello, if it has any
   * @param live for whom a held bucket is held
   * @param settled of the service
   * @throws Refusal if the service does not take the flow
   */
  public static Explanation of(
      ServiceImage image,
      Optional<CommittedArrays> committed,
      Flow flow,
      LiveConnections live,
      SettledMoves settled,
      Instant now) {
    ServiceConfig config = image.config();
    Ring ring = image.ring();
    ServiceConfig.Port port = new ServiceConfig.Port(flow.protocol(), flow.destinationPort());
    Optional<MptcpPorts> named = config.mptcpPorts().filter(range -> range.has(port));
    long wide = hash(config, flow, port, named.isPresent());
    long hash = wide & 0xffff_ffffL;
    if (named.isPresent()) {
      return new Explanation(
          config.name(),
          hash,
          config.steering(),
          Optional.empty(),
          Optional.ofNullable(image.pool().get(named.get().id(port.port())))
              .map(member -> new Owner(member.id(), member.address().toString())),
          List.of(),
          Optional.empty(),
          DefaultHold.words(image, live, now),
          ring.generation(),
          Optional.empty(),
          Optional.empty());
    }
    int bucket =
        committed.isPresent()
            ? committed.get().newest().code(wide)
            : (int) (hash & (ring.buckets() - 1));
    boolean isStateless = isStateless(config, flow);
    return new Explanation(
        config.name(),
        hash,
        config.steering(),
        Optional.of(bucket),
        owner(ring, ring.current(bucket)),
        isStateless ? List.of() : former(image, bucket, now),
        isStateless ? Optional.empty() : HoldView.of(image, bucket, live, settled, now),
        DefaultHold.words(image, live, now),
        ring.generation(),
        committed
            .map(CommittedArrays::latest)
            .map(latest -> new Arrays(latest.generation(), latest.previous())),
        committed
            .flatMap(CommittedArrays::codesBefore)
            .map(codes -> codes.applyAsInt(wide))
            .or(() -> byHash(config, flow, wide))
            .filter(other -> other != bucket)
            .map(other -> second(image, other, live, settled, now)));
  }

  /** The second bucket of hunt and maat. Datagrams have none: no server passes them on. */
  private static Optional<Integer> byHash(ServiceConfig config, Flow flow, long wide) {
    return config.hasTwoBuckets() && flow.protocol().equals("tcp")
        ? Optional.of((int) (wide >>> 32) & (config.buckets() - 1))
        : Optional.empty();
  }

  private static Second second(
      ServiceImage image, int bucket, LiveConnections live, SettledMoves settled, Instant now) {
    Ring ring = image.ring();
    return new Second(
        bucket,
        owner(ring, ring.current(bucket)),
        former(image, bucket, now),
        HoldView.of(image, bucket, live, settled, now));
  }

  private static boolean isStateless(ServiceConfig config, Flow flow) {
    return config.statelessUdp() && flow.protocol().equals("udp");
  }

  private static long hash(
      ServiceConfig config, Flow flow, ServiceConfig.Port port, boolean isNamed) {
    Address destination = AddressRules.address("destination", flow.destination());
    Address source = AddressRules.address("source", flow.source());
    if (!config.vips().contains(destination.toString())) {
      throw Refusal.invalid(
          "destination", flow.destination(), "a VIP of the service: " + config.vips());
    }
    if (source.isIpv4() != destination.isIpv4()) {
      throw Refusal.invalid("source", flow.source(), "an address of the destination's family");
    }
    if (!config.ports().contains(port) && !isNamed) {
      throw Refusal.invalid("destinationPort", port, "a port of the service: " + config.ports());
    }
    if (flow.sourcePort() < 0 || flow.sourcePort() > 65535) {
      throw Refusal.invalid("sourcePort", flow.sourcePort(), "0..65535");
    }
    byte[] key =
        FlowHash.key(
            config.affinity(),
            source,
            flow.sourcePort(),
            destination,
            flow.destinationPort(),
            flow.protocol().equals("tcp") ? TCP : UDP);
    return FlowHash.wide(config.hash(), config.hashKey(), key);
  }

  private static List<Former> former(ServiceImage image, int bucket, Instant now) {
    Ring ring = image.ring();
    History history = ring.history(bucket);
    return IntStream.range(0, image.formerOwners(now).open(ring, bucket))
        .mapToObj(
            i ->
                new Former(
                    history.owner(i),
                    ring.backends().get(history.owner(i)).address().toString(),
                    history.since(i)))
        .toList();
  }

  private static Optional<Owner> owner(Ring ring, int id) {
    return Optional.ofNullable(ring.backends().get(id))
        .map(backend -> new Owner(id, backend.address().toString()));
  }
}
