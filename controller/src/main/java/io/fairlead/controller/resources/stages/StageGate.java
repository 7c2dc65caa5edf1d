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
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether staged changes go on, by what agents report since the latest step. A step bakes from the
 * first report on, at its beginning or later, that the leader has of each changed backend: so a new
 * leader waits for a whole bake again. Without signals only the time counts.
 */
public final class StageGate {
  private static final Logger LOG = LoggerFactory.getLogger(StageGate.class);

  /** How long agents may take to report, as they do every 10 s. */
  private static final Duration HEARING = Duration.ofSeconds(15);

  /** How long they may take to find a new leader: they try it every 30 s at least. */
  private static final Duration FINDING = Duration.ofSeconds(45);

  /** A step that is older when it is seen for the first time is one of a former leader. */
  private static final Duration NEW = Duration.ofSeconds(5);

  /** Others that are compared with, at most. */
  private static final int OTHERS_MAX = 1000;

  /** The step that is looked at, and what was known at its beginning. */
  private static final class Track {
    private final Stage stage;

    /** Until when agents may take to report for the first time. */
    private final Instant heard;

    /** Since when all changed backends are counted whose agents report. */
    private Instant counting;

    private final Map<Integer, SignalCounts> first = new HashMap<>();
    private Judgement judgement;

    /** Why the latest commit was refused, which is logged once; empty: none was. */
    private String refused = "";

    private Track(Stage stage, Instant heard, Instant counting) {
      this.stage = stage;
      this.heard = heard;
      this.counting = counting;
    }

    /**
     * Of the step that {@code stage} is at; {@code before} is null of a change that is new here.
     */
    private static Track after(Track before, Stage stage, Instant now) {
      boolean isKnown = before != null && before.stage.started() == stage.started();
      if (isKnown && before.stage.since() == stage.since()) {
        return before;
      }
      Instant since = Instant.ofEpochSecond(stage.since());
      boolean isOurs = isKnown || now.isBefore(since.plus(NEW));
      return new Track(stage, isOurs ? since.plus(HEARING) : now.plus(FINDING), now);
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
        tracks.compute(image.config().id(), (id, before) -> Track.after(before, stage, now));
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

  /** What {@link #look} found last cannot be committed; it is tried again. */
  public synchronized void refused(ServiceImage image, String why) {
    Track track = tracks.get(image.config().id());
    if (!why.equals(track.refused)) {
      LOG.warn("staged change of {}: {}", image.config().name(), why);
    }
    track.refused = why;
    track.judgement = track.judgement.refused(why);
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
    boolean areAllHeard = true;
    boolean hasOthers = false;
    Optional<String> hold = Optional.empty();
    for (Member member : image.wanted().values()) {
      boolean isStaged = stage.former().containsKey(member.id());
      boolean isOut = image.transitions().health().isOut(member.id());
      hasOthers |= !isOut && stage.former().getOrDefault(member.id(), member.weight()) > 0;
      if (isStaged && isRaised(stage, member)) {
        live.watch(service, member.id());
        boolean isHeard = track.first.containsKey(member.id());
        Optional<Counts> counts = counts(track, service, member.id());
        counts.ifPresent(found -> raised.put(member.id(), found));
        areAllHeard &= counts.isPresent();
        track.counting = counts.isPresent() && !isHeard ? now : track.counting;
        if (isOut) {
          hold = Optional.of("health took backend %d out of service".formatted(member.id()));
        } else if (counts.isEmpty() && isHeard) {
          hold = Optional.of("the agent of a changed backend has fallen silent");
        }
      } else if (!isStaged && !isOut && member.weight() > 0 && reporting < OTHERS_MAX) {
        Optional<Counts> counts = counts(track, service, member.id());
        others = counts.map(others::plus).orElse(others);
        reporting += counts.isPresent() ? 1 : 0;
      }
    }
    Instant baked =
        raised.isEmpty()
            ? Instant.ofEpochSecond(stage.due())
            : track.counting.plusSeconds(stage.bakeSeconds());
    boolean isEarly = now.isBefore(baked) || !areAllHeard && now.isBefore(track.heard);
    Judgement found = Judgement.of(image.config().stagesOrDefault(), raised, others, hold, isEarly);
    return found.kind() == Judgement.Kind.FAILS && !hasOthers ? found.withoutOthers() : found;
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
