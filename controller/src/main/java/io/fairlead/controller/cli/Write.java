// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Api.Reply;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import picocli.CommandLine.Option;

/** A verb that changes something, or with {@code --dry-run} says what it would change. */
public abstract class Write extends Verb {
  private static final int LISTED_MOVES = 8;
  private static final int LISTED_BACKENDS = 8;

  @Option(names = "--dry-run", description = "Check and plan only; nothing is changed.")
  private boolean isDryRun;

  private record Pair(int from, int to) {}

  /** {@code past} and {@code plan} complete "WHAT: generation N", as in "added" and "would add". */
  protected final int write(String method, String path, JsonNode body, String past, String plan) {
    String query = query(isDryRun, parameters());
    Reply reply = api().send(method, path + query, body.isMissingNode() ? "" : body.toString());
    print(reply, result -> printResult(result, past, plan));
    return 0;
  }

  /** Parameters of the query besides the dry run. */
  protected List<String> parameters() {
    return List.of();
  }

  private void printResult(JsonNode result, String past, String plan) {
    boolean isPlan = result.path("dryRun").asBoolean();
    printf("%s: generation %d%n", isPlan ? plan : past, result.path("generation").asLong());
    int moved = result.path("movedBuckets").asInt();
    printOwners(result, isPlan);
    printHold(result.path("hold"), isPlan);
    result.path("drains").forEach(this::printDrain);
    printStaging(result.path("staging"), isPlan);
    printEnded(result.path("ended"), isPlan);
    result.path("warnings").forEach(each -> out().println("warning: " + each.asText()));
    if (moved == 0) {
      if (isPlan) {
        out().println("would move no buckets");
      }
      return;
    }
    printf(
        "%s %s: %s%n",
        isPlan ? "would move" : "moved",
        count(moved, "bucket"),
        moves(result.path("moves"), moved));
    if (result.has("eitherShare")) {
      printf(
          "%s of all connections have one of them as their first or second bucket; those at the"
              + " other one's backend stay%n",
          Table.percent(result.path("eitherShare").asDouble()));
    }
    printLeaving(result.path("leaving"));
    printWindow(result.path("windowEnds"));
    int chained = result.path("stillChained").asInt();
    if (chained > 0) {
      printf("%d of them have former owners already: packets of theirs name one more%n", chained);
    }
    Table table = new Table("BACKEND", "WEIGHT", "BEFORE", "AFTER");
    for (JsonNode share : result.path("shares")) {
      table.row(
          share.path("id").asText(),
          share.path("weight").asText(),
          share.path("before").asText(),
          share.path("after").asText());
    }
    table.print(out());
  }

  /** The live connections of backends that lose buckets, the first of them. */
  private void printLeaving(JsonNode leaving) {
    int listed = Math.min(leaving.size(), LISTED_BACKENDS);
    for (int i = 0; i < listed; i++) {
      JsonNode each = leaving.get(i);
      String count =
          each.has("unknown")
              ? "an unknown number of connections (%s)".formatted(each.path("unknown").asText())
              : "%s%s connections"
                  .formatted(
                      each.path("estimated").asBoolean() ? "about " : "",
                      each.path("connections").asText());
      printf(
          "backend %s gives %s with %s: %s%n",
          each.path("backend").asText(),
          count(each.path("buckets").asLong(), "bucket"),
          count,
          fate(each));
    }
    if (leaving.size() > listed) {
      printf("and %d more backends (-o json lists them)%n", leaving.size() - listed);
    }
  }

  /** Of a service without a hold. */
  private void printWindow(JsonNode ends) {
    if (!ends.isMissingNode()) {
      printf(
          "the window ends those that are still open then: of %d connections now%s%n",
          ends.path("connections").asLong(), uncounted(ends));
    }
  }

  private static String uncounted(JsonNode ended) {
    int uncounted = ended.path("uncountedBackends").asInt();
    return uncounted == 0
        ? ""
        : ", and those of %s of which no agent reports".formatted(count(uncounted, "backend"));
  }

  private static String fate(JsonNode leaving) {
    Instant until = Instant.ofEpochSecond(leaving.path("until").asLong());
    return switch (leaving.path("fate").asText()) {
      case "held" -> "held, broken at " + until + " if still open";
      case "chained" -> "chained, broken at " + until + " if still open";
      default -> "broken";
    };
  }

  private void printOwners(JsonNode result, boolean isPlan) {
    int unchained = result.path("unchainedBuckets").asInt();
    if (unchained > 0) {
      printf(
          "%s %s no longer chained to a dead backend: its clients reconnect%n",
          count(unchained, "bucket"), isPlan ? "would be" : "are");
    }
    int waiting = result.path("waitingBuckets").asInt();
    if (waiting > 0) {
      printf(
          "%s %s for room for another former owner: see 'fairleadctl upkeep'%n",
          count(waiting, "bucket"), isPlan ? "would wait" : "wait");
    }
    int lost = result.path("lostBuckets").asInt();
    if (lost > 0) {
      printf(
          "%s %s the oldest former owner, whose connections break: %s%n",
          count(lost, "full bucket"),
          isPlan ? "would lose" : "lost",
          isPlan ? "refused without --force; --when-safe lets them wait" : "as asked for");
    }
  }

  private void printHold(JsonNode hold, boolean isPlan) {
    if (!hold.isMissingNode()) {
      int shortened = hold.path("shortenedBuckets").asInt();
      printf(
          "%d buckets have former owners, %s%n",
          hold.path("heldBuckets").asInt(),
          shortened == 0
              ? "and stay so as long as before"
              : "%d of them for less time, %d no longer: their older connections break then%s"
                  .formatted(
                      shortened,
                      hold.path("releasedBuckets").asInt(),
                      isPlan ? "; refused without --force" : ", as asked for"));
    }
  }

  private void printEnded(JsonNode ended, boolean isPlan) {
    if (!ended.isMissingNode()) {
      printf(
          "%d connections %s%s%n",
          ended.path("connections").asLong(), isPlan ? "would end" : "end", uncounted(ended));
    }
  }

  private void printStaging(JsonNode staging, boolean isPlan) {
    if (staging.isMissingNode()) {
      return;
    }
    if (staging.has("why")) {
      printf(
          "the staged change %s %s: %s%n",
          isPlan ? "would be" : "is",
          staging.path("state").asText().replace('_', ' '),
          staging.path("why").asText());
      return;
    }
    List<String> shares = new ArrayList<>();
    staging.path("shares").forEach(share -> shares.add(Table.percent(share.asDouble())));
    printf(
        "%s of the buckets that the change moves, of %s; each step for %d s%n",
        Table.percent(staging.path("share").asDouble()),
        String.join(", ", shares),
        staging.path("bakeSeconds").asInt());
  }

  private void printDrain(JsonNode drain) {
    String count =
        drain.has("connections")
            ? drain.path("connections").asText() + " connections"
            : "an unknown number of connections (no agent reports)";
    printf(
        "backend %s has %s: those that are left %s%s%n",
        drain.path("backend").asText(),
        count,
        drain.path("left").asText(),
        drain.has("deadline") ? ", " + Instant.ofEpochSecond(drain.path("deadline").asLong()) : "");
  }

  /** Moves summed by pair of backends, the largest first. */
  private static String moves(JsonNode moves, int moved) {
    Map<Pair, Integer> sums = new LinkedHashMap<>();
    for (JsonNode move : moves) {
      Pair pair = new Pair(move.path("from").asInt(), move.path("to").asInt());
      sums.merge(pair, move.path("count").asInt(), Integer::sum);
    }
    int listedBuckets = sums.values().stream().mapToInt(Integer::intValue).sum();
    String listed =
        sums.entrySet().stream()
            .sorted(Map.Entry.<Pair, Integer>comparingByValue().reversed())
            .limit(LISTED_MOVES)
            .map(
                sum ->
                    "%d from %s to %s"
                        .formatted(
                            sum.getValue(), owner(sum.getKey().from()), owner(sum.getKey().to())))
            .collect(Collectors.joining(", "));
    if (listedBuckets < moved) {
      return "%s and more, %d buckets in all".formatted(listed, moved);
    }
    int more = sums.size() - LISTED_MOVES;
    return more > 0 ? "%s and between %d more pairs".formatted(listed, more) : listed;
  }

  private static String owner(int id) {
    return id == 0 ? "none" : Integer.toString(id);
  }
}
