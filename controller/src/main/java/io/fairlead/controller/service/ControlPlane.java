// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.Note.KeptAnswer;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;

/**
 * What the controller can do, free of HTTP and of ZooKeeper's types: the REST API calls it and the
 * services' event threads implement it. Every write completes only once it is committed in
 * ZooKeeper, or exceptionally with a {@link Refusal}; with a dry run it returns the same plan and
 * commits nothing. Reads are answered from the current immutable image.
 */
public interface ControlPlane {
  /**
   * Returns once what is read next is as new as anything committed before this call.
   *
   * @throws Refusal if that cannot be known now
   */
  void confirm();

  /** Services by ascending name. */
  List<ServiceView> services();

  Optional<ServiceView> service(String name);

  CompletionStage<Result> createService(ServiceSpec spec, WriteOptions options);

  /** Absent fields of {@code change} stay as they are. */
  CompletionStage<Result> changeService(String name, ServiceChange change, WriteOptions options);

  /**
   * Makes the service what {@code spec} and {@code pool} say, in one commit: creates it, or changes
   * only what differs, or changes nothing. An absent pool stays as it is.
   */
  CompletionStage<Result> putService(
      ServiceSpec spec, Optional<List<Change.Add>> pool, WriteOptions options);

  CompletionStage<Result> deleteService(String name, WriteOptions options);

  /** Backends by ascending id; removed ones are not listed. */
  List<BackendView> backends(String service);

  /**
   * All of {@code changes} in one generation, or none of them (Beamer, NSDI '18, §4.5: an explicit
   * commit).
   */
  CompletionStage<Result> change(String service, List<Change> changes, WriteOptions options);

  /** As {@link #createService}, of nobody in particular. */
  default CompletionStage<Result> createService(ServiceSpec spec, boolean dryRun) {
    return createService(spec, WriteOptions.of(dryRun));
  }

  /** As {@link #changeService}, of nobody in particular. */
  default CompletionStage<Result> changeService(String name, ServiceChange change, boolean dryRun) {
    return changeService(name, change, WriteOptions.of(dryRun));
  }

  /** As {@link #deleteService}, of nobody in particular. */
  default CompletionStage<Result> deleteService(String name, boolean dryRun) {
    return deleteService(name, WriteOptions.of(dryRun));
  }

  /** As {@link #change}, of nobody in particular. */
  default CompletionStage<Result> change(String service, List<Change> changes, boolean dryRun) {
    return change(service, changes, WriteOptions.of(dryRun));
  }

  /**
   * Begins a rebalance or defragmentation with its first iteration, whose result this is; those
   * that follow are the leader's, one per window (Beamer, NSDI '18, §4.5 and A.1).
   */
  CompletionStage<Result> startUpkeep(String service, UpkeepOrder order, WriteOptions options);

  /**
   * Ends a rebalance or defragmentation where it is; {@code changed} says whether one was running.
   */
  CompletionStage<Result> stopUpkeep(String service, WriteOptions options);

  UpkeepView upkeep(String service);

  RingView ring(String service);

  Explanation explain(String service, Flow flow);

  /** One version of a service. */
  Look look(String service);

  /**
   * What one version of a service shows: all of it belongs together, whatever is committed since.
   */
  interface Look {
    ServiceView service();

    List<BackendView> backends();

    UpkeepView upkeep();

    RingView ring();
  }

  /** Muxes by ascending id, as they last wrote their own nodes. */
  List<MuxView> muxes();

  /**
   * What was kept of the answer to a request that may be sent again, {@link Origin.Retry}.
   *
   * @throws Refusal if ZooKeeper cannot be asked
   */
  Optional<KeptAnswer> answer(String key);

  /**
   * Records of writes, the latest first.
   *
   * @param before only those with a lower number
   * @param limit 1 and up
   * @throws Refusal if ZooKeeper cannot be asked
   */
  Journal.Page audit(OptionalLong before, int limit);

  Health health();

  /** Everything that is needed to rebuild the cluster, hash keys included, as JSON. */
  byte[] backup();

  /** A protocol and port that a service listens on; protocol is "tcp" or "udp". */
  record Port(String protocol, int port) {}

  /**
   * TCP ports that name a backend: {@code first} plus its id, for further subflows of MPTCP
   * connections (Beamer, NSDI '18, §4.4). In a change 0 and 0 stand for none.
   */
  record MptcpPorts(int first, int last) {}

  /** Where in a QUIC connection id the backend's id stands: offset 0..19, length 1 or 2. */
  record QuicServerId(int offset, int length) {}

  /**
   * How muxes treat a service's packets. {@code encap} is "gue" or "ipip"; {@code maxSegmentSize}
   * bounds the MSS that clients ask for, 536..65535.
   */
  record Wire(String encap, Optional<QuicServerId> quicServerId, Optional<Integer> maxSegmentSize) {
    public static final Wire DEFAULT = new Wire("gue", Optional.empty(), Optional.empty());
  }

  /**
   * A service to create. {@code buckets} is a power of two in 256..8388608; when absent it is the
   * next power of two of 100 x {@code maxBackends} (default 100 backends). {@code hashKey} is 32
   * hex digits, drawn at random when absent. {@code assignment}, how buckets are shared out, is one
   * of beamer, maglev, consistent, rendezvous, modulo.
   */
  record ServiceSpec(
      String name,
      List<String> vips,
      List<Port> ports,
      Optional<Integer> maxBackends,
      Optional<Integer> buckets,
      String hash,
      Optional<String> hashKey,
      String affinity,
      int windowSeconds,
      Optional<MptcpPorts> mptcpPorts,
      String assignment,
      Wire wire) {

    /** In GUE, with nothing special about its packets. */
    public ServiceSpec(
        String name,
        List<String> vips,
        List<Port> ports,
        Optional<Integer> maxBackends,
        Optional<Integer> buckets,
        String hash,
        Optional<String> hashKey,
        String affinity,
        int windowSeconds,
        Optional<MptcpPorts> mptcpPorts,
        String assignment) {
      this(
          name,
          vips,
          ports,
          maxBackends,
          buckets,
          hash,
          hashKey,
          affinity,
          windowSeconds,
          mptcpPorts,
          assignment,
          Wire.DEFAULT);
    }

    /** Without ports that name backends, its buckets shared out as by Beamer. */
    public ServiceSpec(
        String name,
        List<String> vips,
        List<Port> ports,
        Optional<Integer> maxBackends,
        Optional<Integer> buckets,
        String hash,
        Optional<String> hashKey,
        String affinity,
        int windowSeconds) {
      this(
          name,
          vips,
          ports,
          maxBackends,
          buckets,
          hash,
          hashKey,
          affinity,
          windowSeconds,
          Optional.empty(),
          "beamer");
    }
  }

  /** A length of 0 in {@code quicServerId}, and a {@code maxSegmentSize} of 0, take it away. */
  record ServiceChange(
      Optional<List<String>> vips,
      Optional<List<Port>> ports,
      Optional<Integer> windowSeconds,
      Optional<MptcpPorts> mptcpPorts,
      Optional<String> assignment,
      Optional<QuicServerId> quicServerId,
      Optional<Integer> maxSegmentSize) {

    /** What a mux does with single packets stays as it is. */
    public ServiceChange(
        Optional<List<String>> vips,
        Optional<List<Port>> ports,
        Optional<Integer> windowSeconds,
        Optional<MptcpPorts> mptcpPorts,
        Optional<String> assignment) {
      this(vips, ports, windowSeconds, mptcpPorts, assignment, Optional.empty(), Optional.empty());
    }

    /** The ports that name backends and the assignment stay as they are. */
    public ServiceChange(
        Optional<List<String>> vips, Optional<List<Port>> ports, Optional<Integer> windowSeconds) {
      this(vips, ports, windowSeconds, Optional.empty(), Optional.empty());
    }
  }

  /** {@code version} differs after every commit to the service, of its ring or its settings. */
  record ServiceView(
      int id,
      String name,
      String version,
      List<String> vips,
      List<Port> ports,
      String steering,
      int buckets,
      String hash,
      String affinity,
      String encap,
      int windowSeconds,
      Optional<MptcpPorts> mptcpPorts,
      String assignment,
      long generation,
      int backends,
      Optional<QuicServerId> quicServerId,
      Optional<Integer> maxSegmentSize) {

    /** Of a service with nothing special about its packets. */
    public ServiceView(
        int id,
        String name,
        String version,
        List<String> vips,
        List<Port> ports,
        String steering,
        int buckets,
        String hash,
        String affinity,
        String encap,
        int windowSeconds,
        Optional<MptcpPorts> mptcpPorts,
        String assignment,
        long generation,
        int backends) {
      this(
          id,
          name,
          version,
          vips,
          ports,
          steering,
          buckets,
          hash,
          affinity,
          encap,
          windowSeconds,
          mptcpPorts,
          assignment,
          generation,
          backends,
          Optional.empty(),
          Optional.empty());
    }
  }

  /** {@code state} is "active" (weight > 0) or "draining" (weight 0). */
  record BackendView(int id, String address, int weight, String state, int buckets) {}

  /** One change of a service's pool. Weights are 0..65535; addresses are IPv4 or IPv6 literals. */
  sealed interface Change {
    int id();

    record Add(int id, String address, int weight) implements Change {}

    record Weight(int id, int weight) implements Change {}

    record Remove(int id) implements Change {}
  }

  /**
   * How even and how whole a ring is, and what is done about it. {@code imbalance}: the highest
   * load over the average; {@code rules}: runs of buckets with one owner, {@code fragmentation} of
   * them per owner; {@code costs}: what a bucket of a backend costs, the average being 1, where it
   * was measured.
   */
  record UpkeepView(
      String service,
      long generation,
      double imbalance,
      int rules,
      double fragmentation,
      Map<Integer, Double> costs,
      Optional<UpkeepJob> job) {}

  /**
   * The latest rebalance or defragmentation; {@code state} is "running", "reached" or "stopped".
   * Times are Unix seconds, {@code next} of an iteration that is not before then.
   */
  record UpkeepJob(
      String kind,
      String state,
      double target,
      int maxMoves,
      boolean moveChained,
      int iterations,
      long movedBuckets,
      int leftBuckets,
      long started,
      long last,
      Optional<Long> next) {}

  /** Contiguous buckets that go from one backend to another; 0 is "no backend". */
  record Move(int start, int count, int from, int to) {}

  /** Buckets of one backend before and after a change. */
  record Share(int id, int weight, int before, int after) {}

  /**
   * What a write did, or with a dry run would do. {@code generation} is the service's generation
   * afterwards, {@code changed} whether there was anything to do, {@code stillChained} how many of
   * the moved buckets had moved before within the window, {@code returnedBuckets} how many of those
   * went back to the owner before because nobody else could take them. {@code moves} are the first
   * 4,096 by ascending bucket; {@code shares} those of backends whose weight or number of buckets
   * changes.
   */
  record Result(
      String service,
      long generation,
      boolean dryRun,
      boolean changed,
      int movedBuckets,
      int stillChained,
      int returnedBuckets,
      List<Move> moves,
      List<Share> shares) {

    /** Of a write that changes something. */
    public Result(
        String service,
        long generation,
        boolean dryRun,
        int movedBuckets,
        int stillChained,
        int returnedBuckets,
        List<Move> moves,
        List<Share> shares) {
      this(
          service,
          generation,
          dryRun,
          true,
          movedBuckets,
          stillChained,
          returnedBuckets,
          moves,
          shares);
    }
  }

  /**
   * {@code runs}: backend id to {start, count} pairs by ascending start. Id 0 holds unassigned
   * buckets.
   */
  record RingView(String service, long generation, int buckets, Map<Integer, List<int[]>> runs) {}

  record Flow(
      String protocol, String source, int sourcePort, String destination, int destinationPort) {}

  record Owner(int id, String address) {}

  /**
   * Where a packet of a flow goes. {@code hash} is the 32-bit flow hash, {@code bucket} absent
   * where the port names the backend ({@link MptcpPorts}), {@code previous} the owner before the
   * last move, {@code moved} whether the window since {@code since} (Unix seconds, 0 for never) is
   * still open.
   */
  record Explanation(
      String service,
      long hash,
      Optional<Integer> bucket,
      Optional<Owner> current,
      Optional<Owner> previous,
      long since,
      boolean moved,
      long generation) {}

  /**
   * {@code state} is "loading", "serving" or "stale". {@code withdrawn} says why the mux does not
   * announce the service although its ring could serve.
   */
  record MuxService(long generation, String state, Optional<String> withdrawn) {
    /** Of one that is not withdrawn. */
    public MuxService(long generation, String state) {
      this(generation, state, Optional.empty());
    }
  }

  /** {@code address} is its outer IPv4 source, {@code address6} its IPv6 one. */
  record MuxView(
      String id,
      String version,
      Optional<String> address,
      Optional<String> address6,
      List<String> ports,
      Map<String, MuxService> services) {
    /** Of a mux with IPv4 alone. */
    public MuxView(
        String id,
        String version,
        String address,
        List<String> ports,
        Map<String, MuxService> services) {
      this(id, version, Optional.of(address), Optional.empty(), ports, services);
    }
  }

  /**
   * @param epoch that this controller last led in, 0 for none
   * @param leaderUrl of the API of the controller that leads, if one does and says so
   */
  record Health(
      boolean leader, long epoch, String zookeeper, int services, Optional<URI> leaderUrl) {}

  /** Why a request is refused: names the field, its value and what is allowed. */
  final class Refusal extends RuntimeException {
    /** Kinds map to one HTTP status each: 400, 404, 409, 412, 422, 503. */
    public enum Kind {
      INVALID,
      NOT_FOUND,
      CONFLICT,
      PRECONDITION,
      KEY_REUSED,
      UNAVAILABLE
    }

    private final Kind kind;
    private final String field;
    private final String value;
    private final String allowed;

    public Refusal(Kind kind, String field, String value, String allowed) {
      super("%s '%s' is refused; allowed: %s".formatted(field, value, allowed));
      this.kind = kind;
      this.field = field;
      this.value = value;
      this.allowed = allowed;
    }

    public Kind kind() {
      return kind;
    }

    public String field() {
      return field;
    }

    public String value() {
      return value;
    }

    public String allowed() {
      return allowed;
    }
  }
}
