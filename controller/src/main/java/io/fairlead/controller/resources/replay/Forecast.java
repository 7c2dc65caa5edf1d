// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.steering.SteeringMethod;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * What a change does to the connections of a recording. Each is looked up in the ring before and
 * after the change: the server that has it is the owner of its bucket when it began; packets name
 * that server at some place of their list, which is the number of hops, or no longer.
 *
 * <p>Where a connection has two buckets, which of two servers took it is not in the ring. It is
 * counted for both, in the given shares.
 */
final class Forecast implements Consumer<FlowTable.Connection> {
  private static final int LIST_MAX = 6;

  private final ServiceImage before;
  private final ServiceImage after;
  private final FormerOwners formersBefore;
  private final FormerOwners formersAfter;
  private final Set<Integer> dead;
  private final boolean isMaat;
  private final boolean keepsDatagrams;
  private final int keptSeconds;
  private final long at;
  private final Assumptions assumed;

  private final double[] hops = new double[LIST_MAX + 1];
  private final Tally tally = new Tally();
  private final int[] listBefore = new int[2 * LIST_MAX];
  private final int[] listAfter = new int[2 * LIST_MAX];

  /**
   * What the recording does not say.
   *
   * @param idleMillis for how long a connection is open after a packet, unless its end was seen
   * @param secondShare of connections with two buckets, those that the second one's server took
   * @param began Unix milliseconds at which connections began whose beginning was not seen
   */
  record Assumptions(long idleMillis, double secondShare, Optional<Long> began) {}

  /** Connections, in fractions where a connection may be at two servers. */
  static final class Tally {
    double over;
    double later;
    double unknown;
    double open;
    double unserved;
    double uncertain;
    double lost;
    double either;
    double moved;
    double dead;
    double full;
    double outlived;
    double outlivedAnyway;
    double restarted;
    final double[] has = new double[Backend.MAX + 1];
    final double[] chained = new double[Backend.MAX + 1];
    final double[] broken = new double[Backend.MAX + 1];
    final double[] arrivingBefore = new double[Backend.MAX + 1];
    final double[] arrivingAfter = new double[Backend.MAX + 1];
    final double[] passing = new double[Backend.MAX + 1];
    final double[] newBefore = new double[Backend.MAX + 1];
    final double[] newAfter = new double[Backend.MAX + 1];
    final double[] packetsBefore = new double[Backend.MAX + 1];
    final double[] packetsAfter = new double[Backend.MAX + 1];
  }

  /**
   * @param dead backends that the change removes as dead
   * @param at Unix milliseconds of the change in the recording
   */
  Forecast(
      ServiceImage before, ServiceImage after, Set<Integer> dead, long at, Assumptions assumed) {
    ServiceConfig config = before.config();
    Instant committed = Instant.ofEpochSecond(after.ring().committed());
    this.before = before;
    this.after = after;
    this.dead = dead;
    this.at = at;
    this.assumed = assumed;
    formersBefore = before.formerOwners(committed);
    formersAfter = after.formerOwners(committed);
    isMaat = config.steering() == SteeringMethod.MAAT;
    keepsDatagrams = !config.statelessUdp();
    keptSeconds =
        config.steering() == SteeringMethod.OTHELLO
            ? Integer.MAX_VALUE
            : config.releasesOwners() ? config.heldSeconds() : config.windowSeconds();
  }

  Tally tally() {
    return tally;
  }

  /** Connections by the hops of their packets after the change; index 0: they arrive directly. */
  double[] hops() {
    return hops;
  }

  @Override
  public void accept(FlowTable.Connection connection) {
    int first = connection.first();
    int second = connection.second();
    if (first == FlowRecord.NONE) {
      tally.unknown++;
      return;
    }
    boolean hasSecond = second != FlowRecord.NONE && second != first;
    double share = hasSecond ? assumed.secondShare() : 0;
    opened(first, 1 - share, connection.packets());
    if (share > 0) {
      opened(second, share, connection.packets());
    }
    long end = connection.end();
    if (connection.start() > at) {
      tally.later++;
    } else if (end < at && (connection.ended() || end + assumed.idleMillis() < at)) {
      tally.over++;
    } else {
      tally.open++;
      boolean isKept = keepsDatagrams || !connection.isUdp();
      int other = hasSecond ? second : FlowRecord.NONE;
      int count = list(before, formersBefore, first, other, isKept, listBefore);
      int countAfter = list(after, formersAfter, first, other, isKept, listAfter);
      open(first, connection, isKept, 1 - share, count, countAfter);
      if (share > 0) {
        open(second, connection, isKept, share, count, countAfter);
      }
    }
  }

  /** Where connections go that are opened before and after the change. */
  private void opened(int bucket, double share, int packets) {
    int owner = before.ring().current(bucket);
    int next = after.ring().current(bucket);
    tally.newBefore[owner] += share;
    tally.newAfter[next] += share;
    tally.packetsBefore[owner] += share * packets;
    tally.packetsAfter[next] += share * packets;
  }

  /** What packets name, in the order of protocol/README.md §2; returns how many. */
  private static int list(
      ServiceImage image, FormerOwners formers, int first, int second, boolean isKept, int[] list) {
    Ring ring = image.ring();
    int count = add(list, 0, ring.current(first));
    if (second != FlowRecord.NONE) {
      count = add(list, count, ring.current(second));
    }
    if (isKept && !formers.foreign().contains(ring.current(first))) {
      count = former(ring, formers, first, list, count);
      count = second == FlowRecord.NONE ? count : former(ring, formers, second, list, count);
    }
    return count;
  }

  private static int former(Ring ring, FormerOwners formers, int bucket, int[] list, int count) {
    History history = ring.history(bucket);
    int more = count;
    for (int i = 0; i < formers.open(ring, bucket); i++) {
      more = add(list, more, history.owner(i));
    }
    return more;
  }

  private static int add(int[] list, int count, int id) {
    if (id == Backend.NONE || place(list, count, id) >= 0) {
      return count;
    }
    list[count] = id;
    return count + 1;
  }

  private static int place(int[] list, int count, int id) {
    for (int i = 0; i < count; i++) {
      if (list[i] == id) {
        return i;
      }
    }
    return -1;
  }

  /**
   * How many former owners have left the bucket since that second; the last of them had it then.
   */
  private static int since(Ring ring, int bucket, long second) {
    History history = ring.history(bucket);
    int left = 0;
    while (left < history.size() && second < history.since(left)) {
      left++;
    }
    return left;
  }

  /** By the clock of the ring: of a recording that is older, as if it was now. */
  private long second(long millis) {
    return Math.floorDiv(millis + after.ring().committed() * 1000 - at, 1000L);
  }

  /** A connection of the bucket's server that is open when the change takes place. */
  private void open(
      int bucket,
      FlowTable.Connection connection,
      boolean isKept,
      double share,
      int count,
      int countAfter) {
    Ring ring = before.ring();
    boolean isDated = connection.begun() || assumed.began().isPresent();
    long began =
        connection.begun() ? connection.start() : assumed.began().orElse(connection.start());
    int left = since(ring, bucket, second(Math.min(began, connection.start())));
    if (isKept && !isDated && left < formersBefore.open(ring, bucket)) {
      tally.uncertain += share;
      return;
    }
    long ends = second(connection.end());
    int had = isKept && left > 0 ? ring.history(bucket).owner(left - 1) : ring.current(bucket);
    if (had == Backend.NONE) {
      tally.unserved += share;
      return;
    }
    int place = place(listBefore, count, had);
    if (place < 0) {
      tally.lost += share;
      return;
    }
    tally.has[had] += share;
    tally.arrivingBefore[listBefore[0]] += share;
    if (countAfter > 0) {
      tally.arrivingAfter[listAfter[0]] += share;
    }
    int placeAfter = place(listAfter, countAfter, had);
    if (placeAfter < 0) {
      tally.broken[had] += share;
      if (!isKept) {
        tally.restarted += share;
      } else if (dead.contains(had)) {
        tally.dead += share;
      } else {
        tally.full += share;
      }
      return;
    }
    boolean isEither = isMaat && countAfter > 1 && placeAfter < 2;
    if (isEither) {
      tally.either += share;
    } else {
      hops[Math.min(placeAfter, LIST_MAX)] += share;
    }
    if (placeAfter > 0 && !isEither) {
      tally.chained[had] += share;
      tally.moved += place == 0 || isMaat && place < 2 ? share : 0;
      for (int i = 0; i < placeAfter; i++) {
        tally.passing[listAfter[i]] += share;
      }
    }
    long leftAt = left(after.ring(), bucket, had);
    if (leftAt >= 0 && ends >= leftAt + keptSeconds) {
      tally.outlived += share;
      long leftBefore = left(before.ring(), bucket, had);
      tally.outlivedAnyway += leftBefore >= 0 && leftBefore + keptSeconds <= ends ? share : 0;
    }
  }

  /** The second in which the backend left the bucket, -1 if it has it. */
  private static long left(Ring ring, int bucket, int backend) {
    int index = ring.history(bucket).indexOf(backend);
    return index < 0 ? -1 : ring.history(bucket).since(index);
  }

  /** What cannot be known of this service, in sentences. */
  List<String> notes() {
    List<String> notes = new ArrayList<>();
    switch (before.config().steering()) {
      case RING -> {}
      case HUNT ->
          notes.add(
              "hunt: a busy server passes new connections on to their second server, which depends"
                  + " on load."
                  + " %s of connections are counted at the second (--second-share): try 0 and 1 for the bounds."
                      .formatted(percent(assumed.secondShare())));
      case MAAT ->
          notes.add(
              "maat: each mux names the less loaded of two owners first. %s of connections are"
                  + " counted at the second"
                  + " (--second-share); whether those of either take a hop is not known."
                      .formatted(percent(assumed.secondShare())));
      case OTHELLO ->
          notes.add(
              "othello: arrays decide the bucket, and no backup has them: only connections that a"
                  + " mux has sampled have one. Hops end once arrays know a connection, which"
                  + " agents report; then no window ends it.");
    }
    if (before.config().releasesOwners() && before.config().steering() != SteeringMethod.OTHELLO) {
      notes.add(
          "hold: connections are chained until they end, for %d s at most, if agents report them."
              .formatted(before.config().heldSeconds()));
    }
    if (tally.uncertain > 0) {
      notes.add(
          "Connections of uncertain server began before the recording, in buckets that have moved"
              + " lately: which owner has them is not recorded. --began says when they began.");
    }
    if (after.ring().committed() * 1000 - at >= 1000) {
      notes.add(
          "The recording is older than the service's generation: its connections are taken as if"
              + " they were open now.");
    }
    return notes;
  }

  private static String percent(double share) {
    return "%.0f %%".formatted(100 * share);
  }
}
