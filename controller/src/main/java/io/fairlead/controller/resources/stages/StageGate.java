// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.ServiceImage.Member;
import io.fairlead.controller.core.image.Stage;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.agents.ServerSignals;
import io.fairlead.controller.resources.agents.ServerSignals.Signals;
import io.fairlead.controller.resources.agents.SignalCounts;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Whether staged changes go on, by what agents report since the latest step. A step bakes from the
 * first report on, at its beginning or later, that the leader has of each changed backend: so a new
 * leader waits for a whole bake again. Without signals only the time counts.
 */
public final class StageGate {
  /** For which agents that are not heard may take to report, as they do every 10 s. */
  private static final int HEARING_SECONDS = 15;

  /** Others that are compared with, at most. */
  private static final int OTHERS_MAX = 1000;

  /** The step that is looked at, and what was known at its beginning. */
  private static final class Track {
    private final Stage stage;

    /** Since when all changed backends are counted whose agents report. */
    private Instant counting;

    private final Map<Integer, SignalCounts> first = new HashMap<>();
    private Judgement judgement;

    private Track(Stage stage, Instant counting) {
      this.stage = stage;
      this.counting = counting;
    }
  }

  private final ServerSignals signals;
  private final LiveConnections live;

  /** By the service's id. */
  @GuardedBy("this")
  private final Map<Integer, Track> tracks = new HashMap<>();

  public StageGate(ServerSignals signals, LiveConnections live) {
    this.signals = signals;
    this.live = live;
  }

  /** What is found now of the change that the image stages; asks its agents for reports. */
  public synchronized Judgement look(ServiceImage image, Instant now) {
    Stage stage = image.transitions().staging().orElseThrow();
    Track track =
        tracks.compute(
            image.config().id(),
            (id, before) ->
                before != null
                        && before.stage.started() == stage.started()
                        && before.stage.since() == stage.since()
                    ? before
                    : new Track(stage, now));
    track.judgement = judged(image, stage, track, now);
    return track.judgement;
  }

  /** What {@link #look} found last, of the step that {@code image} is at. */
  public synchronized Optional<Judgement> seen(ServiceImage image) {
    return image
        .transitions()
        .staging()
        .map(stage -> tracks.get(image.config().id()))
        .filter(track -> track.stage.since() == image.transitions().stage().get().since())
        .map(track -> track.judgement);
  }

  /** A staged change of this service is over. */
  public synchronized void forget(ServiceImage image) {
    tracks.remove(image.config().id());
  }

  @GuardedBy("this")
  private Judgement judged(ServiceImage image, Stage stage, Track track, Instant now) {
    String service = image.config().name();
    SortedMap<Integer, Counts> raised = new TreeMap<>();
    Counts others = Counts.NONE;
    int reporting = 0;
    boolean isSilent = false;
    for (Member member : image.pool().values()) {
      boolean isHeard = false;
      boolean isStaged = stage.former().containsKey(member.id());
      if (member.weight() == 0 || (isStaged ? !isRaised(stage, member) : reporting == OTHERS_MAX)) {
        continue;
      }
      if (isStaged) {
        live.watch(service, member.id());
        isHeard = track.first.containsKey(member.id());
      }
      Optional<Counts> counts = counts(track, service, member.id());
      if (isStaged) {
        counts.ifPresent(found -> raised.put(member.id(), found));
        isSilent |= counts.isEmpty() && isHeard;
        track.counting = counts.isPresent() && !isHeard ? now : track.counting;
      } else if (counts.isPresent()) {
        others = others.plus(counts.get());
        reporting++;
      }
    }
    Instant due =
        raised.isEmpty()
            ? Instant.ofEpochSecond(stage.since() + Math.max(stage.bakeSeconds(), HEARING_SECONDS))
            : track.counting.plusSeconds(stage.bakeSeconds());
    return Judgement.of(
        image.config().stagesOrDefault(), raised, others, isSilent, now.isBefore(due));
  }

  private static boolean isRaised(Stage stage, Member member) {
    Integer former = stage.former().get(member.id());
    return former != null && former < member.weight();
  }

  /** Since the step began, or since the agent did. */
  private Optional<Counts> counts(Track track, String service, int id) {
    return signals
        .signals(service, id)
        .filter(found -> found.age().compareTo(LiveConnections.SILENCE) <= 0)
        .map(Signals::counts)
        .map(found -> Counts.of(found.since(track.first.computeIfAbsent(id, any -> found))));
  }
}
