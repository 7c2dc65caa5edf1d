// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.weight;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Stage;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.OnLoss;
import io.fairlead.controller.resources.plane.WriteOptions.Stages;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.services.ServiceSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/**
 * Weights that were asked for are neither lost nor doubled, whatever else happens to a staged
 * change.
 */
class StagePropertyTest {
  private static final int BUCKETS = 512;

  private long now = 1_700_000_000;
  private ServiceImage image;
  private final SortedMap<Integer, Integer> wanted = new TreeMap<>();
  private int nextId = 1;
  private final List<String> log = new ArrayList<>();

  private WriteOptions options(Random random) {
    WriteOptions forced = WriteOptions.COMMIT.with(OnLoss.FORCE);
    return switch (random.nextInt(3)) {
      case 0 -> forced.with(Optional.of(new Stages("1,10,100", Optional.of(60))));
      case 1 -> forced.with(Optional.of(new Stages("0.1,50,100", Optional.of(60))));
      default -> forced;
    };
  }

  private int any(Random random) {
    List<Integer> ids = List.copyOf(image.pool().keySet());
    return ids.get(random.nextInt(ids.size()));
  }

  private void take(PoolPlan plan) {
    image = plan.after();
  }

  @Property(tries = 25)
  void weightsAreThoseThatWereAsked(@ForAll Random random) {
    ServiceSpec spec =
        Requests.sized("web", "10.99.0.1", BUCKETS).toBuilder()
            .slowStartSeconds(random.nextBoolean() ? 100 : 0)
            .build();
    now = 1_700_000_000;
    image = ServiceImage.create(ServiceRules.created(spec, 1, new Random(1)), now);
    wanted.clear();
    nextId = 1;
    log.clear();
    List<Change> first = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      int weight = 1 + random.nextInt(300);
      first.add(new Change.Add(nextId, "10.1.0." + nextId, weight, Optional.of(0)));
      wanted.put(nextId++, weight);
    }
    take(PoolPlan.of(image, first, ofEpochSecond(now), WriteOptions.COMMIT));
    for (int step = 0; step < 60; step++) {
      now += random.nextInt(40);
      try {
        step(random);
      } catch (Refusal e) {
        log.add("refused " + e.getMessage());
      }
      check();
    }
  }

  private void step(Random random) {
    WriteOptions options = options(random);
    SortedMap<Integer, Integer> next = new TreeMap<>(wanted);
    int what = random.nextInt(9);
    switch (what) {
      case 0 -> {
        int weight = random.nextInt(300);
        PoolPlan plan =
            PoolPlan.of(
                image,
                List.of(
                    new Change.Add(
                        nextId, "10.1." + nextId / 200 + "." + (nextId % 200 + 1), weight)),
                ofEpochSecond(now),
                options);
        next.put(nextId++, weight);
        log.add("add " + (nextId - 1) + " " + weight + options.stages());
        take(plan);
      }
      case 1 -> {
        int id = any(random);
        int weight = random.nextInt(300);
        PoolPlan plan =
            PoolPlan.of(image, List.of(weight(id, weight)), ofEpochSecond(now), options);
        log.add("weight " + id + " " + weight + options.stages());
        next.put(id, weight);
        take(plan);
      }
      case 2 -> {
        if (image.pool().size() < 3) {
          return;
        }
        int id = any(random);
        take(PoolPlan.of(image, List.of(remove(id)), ofEpochSecond(now), options));
        log.add("remove " + id);
        next.remove(id);
      }
      case 3 -> {
        Optional<Stage> stage = image.transitions().staging();
        take(PoolPlan.rolledBack(image, "", ofEpochSecond(now), options));
        log.add("rollback");
        next.putAll(stage.get().former());
      }
      case 4, 5 -> {
        take(PoolPlan.advanced(image, "", ofEpochSecond(now), options));
        log.add("advance");
      }
      case 6 -> {
        int id = any(random);
        if (image.transitions().health().isOut(id)) {
          take(
              PoolPlan.health(
                  image,
                  OutageRules.Order.back(new TreeSet<>(List.of(id))),
                  ofEpochSecond(now),
                  options));
          log.add("back " + id);
        } else if (image.pool().get(id).weight() > 0) {
          SortedMap<Integer, String> out = new TreeMap<>();
          out.put(id, "refused");
          take(
              PoolPlan.health(
                  image,
                  new OutageRules.Order(out, new TreeSet<>(), new TreeSet<>(), new TreeSet<>()),
                  ofEpochSecond(now),
                  options));
          log.add("out " + id);
        }
      }
      case 7 -> {
        int id = any(random);
        if (image.transitions().drains().containsKey(id)) {
          int weight = image.transitions().drains().get(id).weight();
          take(PoolPlan.undrain(image, List.of(id), ofEpochSecond(now), options));
          next.put(id, weight);
          log.add("undrain " + id);
        } else {
          take(
              PoolPlan.drain(
                  image,
                  new DrainOrder(List.of(id), Optional.empty(), Drain.Then.KEEP),
                  ofEpochSecond(now),
                  options));
          next.put(id, 0);
          log.add("drain " + id);
        }
      }
      default -> {
        take(PoolPlan.step(image, ofEpochSecond(now)));
        log.add("step");
      }
    }
    wanted.clear();
    wanted.putAll(next);
  }

  private String story() {
    return String.join("\n", log);
  }

  private void check() {
    SortedMap<Integer, Integer> seen = new TreeMap<>();
    image.wanted().values().forEach(member -> seen.put(member.id(), member.weight()));
    assertThat(seen).as(this::story).isEqualTo(wanted);
    int[] owned = image.ring().owned();
    boolean isServing = image.pool().values().stream().anyMatch(member -> member.weight() > 0);
    if (isServing) {
      assertThat(owned[0]).as(this::story).isZero();
      image
          .pool()
          .values()
          .forEach(
              member -> {
                if (member.weight() == 0) {
                  assertThat(owned[member.id()]).as(this::story).isZero();
                }
              });
    }
    if (isServing
        && image.transitions().staging().isEmpty()
        && image.transitions().slowStarts().isEmpty()) {
      long total = image.pool().values().stream().mapToLong(ServiceImage.Member::weight).sum();
      image
          .pool()
          .values()
          .forEach(
              member ->
                  assertThat((double) owned[member.id()])
                      .as(this::story)
                      .isBetween(
                          1.0 * BUCKETS * member.weight() / total - 1.01,
                          1.0 * BUCKETS * member.weight() / total + 1.01));
    }
    image
        .transitions()
        .staging()
        .ifPresent(stage -> assertThat(stage.former().keySet()).isSubsetOf(image.pool().keySet()));
  }
}
