// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.plan.PoolPlan;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** What a forecast says, as a table or as JSON. */
record ReplayReport(
    ServiceImage before, PoolPlan plan, FlowTable table, Forecast forecast, long at) {
  void print(boolean isTable, PrintWriter out) {
    if (isTable) {
      table(out);
    } else {
      out.println(json());
    }
    out.flush();
  }

  private void table(PrintWriter out) {
    Forecast.Tally tally = forecast.tally();
    Fields fields = new Fields();
    fields.add("service", before.config().name());
    fields.add("steering", before.config().steering().toString());
    fields.add("change at", Instant.ofEpochMilli(at).toString());
    fields.add(
        "buckets moved",
        "%d of %d".formatted(plan.result().movedBuckets(), before.ring().buckets()));
    fields.add(
        "connections",
        "%d in %d records, and %d records of others"
            .formatted(table.size(), table.records(), table.others()));
    fields.add("open", count(tally.open));
    fields.add("over before", count(tally.over));
    fields.add("later", count(tally.later));
    fields.add("direct", count(forecast.hops()[0]));
    fields.add(
        "chained",
        "%s, %s of them by this change%s".formatted(count(chained()), count(tally.moved), hops()));
    if (tally.either > 0) {
      fields.add("at either owner", count(tally.either));
    }
    fields.add(
        "broken",
        "%s: %s dead, %s full list%s"
            .formatted(
                count(tally.dead + tally.full + tally.restarted),
                count(tally.dead),
                count(tally.full),
                tally.restarted > 0 ? ", %s stateless UDP".formatted(count(tally.restarted)) : ""));
    fields.add(
        "outlive the window",
        "%s, %s of them also without the change"
            .formatted(count(tally.outlived), count(tally.outlivedAnyway)));
    addIfAny(fields, "unknown bucket", tally.unknown);
    addIfAny(fields, "uncertain server", tally.uncertain);
    addIfAny(fields, "no server", tally.unserved);
    addIfAny(fields, "server not listed", tally.lost);
    fields.print(out);
    out.println();
    Table servers =
        new Table(
            "BACKEND",
            "ADDRESS",
            "BUCKETS",
            "AFTER",
            "OPEN",
            "CHAINED",
            "BROKEN",
            "ARRIVE",
            "AFTER",
            "PASSED ON",
            "NEW",
            "AFTER");
    int[] owned = before.ring().owned();
    int[] ownedAfter = plan.after().ring().owned();
    for (int id : backends()) {
      servers.row(
          Integer.toString(id),
          address(id),
          Integer.toString(owned[id]),
          Integer.toString(ownedAfter[id]),
          count(tally.has[id]),
          count(tally.chained[id]),
          count(tally.broken[id]),
          count(tally.arrivingBefore[id]),
          count(tally.arrivingAfter[id]),
          count(tally.passing[id]),
          Table.percent(tally.newBefore[id] / table.size()),
          Table.percent(tally.newAfter[id] / table.size()));
    }
    servers.print(out);
    for (String note : notes()) {
      out.println();
      out.println(note);
    }
  }

  private static void addIfAny(Fields fields, String name, double value) {
    if (value > 0) {
      fields.add(name, count(value));
    }
  }

  private double chained() {
    double chained = 0;
    for (int hop = 1; hop < forecast.hops().length; hop++) {
      chained += forecast.hops()[hop];
    }
    return chained;
  }

  private String hops() {
    List<String> words = new ArrayList<>();
    for (int hop = 1; hop < forecast.hops().length; hop++) {
      if (forecast.hops()[hop] > 0) {
        words.add("%s over %d".formatted(count(forecast.hops()[hop]), hop));
      }
    }
    return words.isEmpty() ? "" : "; hops: " + String.join(", ", words);
  }

  private List<String> notes() {
    List<String> notes = forecast.notes();
    if (table.otherBuckets() > 0) {
      notes.add(
          ("%d samples have other buckets than this service gives: it was created again since, or"
                  + " is another one.")
              .formatted(table.otherBuckets()));
    }
    return notes;
  }

  private TreeSet<Integer> backends() {
    TreeSet<Integer> ids = new TreeSet<>(before.pool().keySet());
    ids.addAll(plan.after().pool().keySet());
    for (int id = 1; id <= Backend.MAX; id++) {
      if (forecast.tally().has[id] > 0 || forecast.tally().passing[id] > 0) {
        ids.add(id);
      }
    }
    return ids;
  }

  private String address(int id) {
    Backend backend =
        plan.after().ring().backends().getOrDefault(id, before.ring().backends().get(id));
    return backend == null ? "-" : backend.address().toString();
  }

  /** A whole number, or one with a digit where connections are counted in shares. */
  private static String count(double value) {
    return value == Math.rint(value) ? "%.0f".formatted(value) : "%.1f".formatted(value);
  }

  ObjectNode json() {
    Forecast.Tally tally = forecast.tally();
    ObjectNode all = Json.object();
    all.put("service", before.config().name());
    all.put("generation", before.ring().generation());
    all.put("steering", before.config().steering().toString());
    all.put("at", Instant.ofEpochMilli(at).toString());
    all.put("buckets", before.ring().buckets());
    all.put("movedBuckets", plan.result().movedBuckets());
    ObjectNode flows = all.putObject("flows");
    flows.put("connections", table.size());
    flows.put("records", table.records());
    flows.put("otherRecords", table.others());
    flows.put("otherBuckets", table.otherBuckets());
    flows.put("open", tally.open);
    flows.put("over", tally.over);
    flows.put("later", tally.later);
    flows.put("unknownBucket", tally.unknown);
    ObjectNode open = all.putObject("open");
    open.put("direct", forecast.hops()[0]);
    open.put("chained", chained());
    open.put("newlyChained", tally.moved);
    ArrayNode hops = open.putArray("hops");
    for (int hop = 1; hop < forecast.hops().length; hop++) {
      hops.add(forecast.hops()[hop]);
    }
    open.put("atEitherOwner", tally.either);
    open.put("brokenByDead", tally.dead);
    open.put("brokenByFullList", tally.full);
    open.put("statelessUdpMoved", tally.restarted);
    open.put("outliveWindow", tally.outlived);
    open.put("outliveWindowAnyway", tally.outlivedAnyway);
    open.put("uncertainServer", tally.uncertain);
    open.put("unserved", tally.unserved);
    open.put("serverNotListed", tally.lost);
    int[] owned = before.ring().owned();
    int[] ownedAfter = plan.after().ring().owned();
    ArrayNode servers = all.putArray("servers");
    for (int id : backends()) {
      ObjectNode server = servers.addObject();
      server.put("id", id);
      server.put("address", address(id));
      server.put("bucketsBefore", owned[id]);
      server.put("bucketsAfter", ownedAfter[id]);
      server.put("open", tally.has[id]);
      server.put("chained", tally.chained[id]);
      server.put("broken", tally.broken[id]);
      server.put("arrivingBefore", tally.arrivingBefore[id]);
      server.put("arrivingAfter", tally.arrivingAfter[id]);
      server.put("passedOn", tally.passing[id]);
      server.put("newBefore", tally.newBefore[id]);
      server.put("newAfter", tally.newAfter[id]);
      server.put("packetsBefore", tally.packetsBefore[id]);
      server.put("packetsAfter", tally.packetsAfter[id]);
    }
    ArrayNode notes = all.putArray("notes");
    notes().forEach(notes::add);
    return all;
  }
}
