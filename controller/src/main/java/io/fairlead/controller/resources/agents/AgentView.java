// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.fairlead.controller.core.words.Word;
import io.fairlead.controller.resources.agents.AgentReports.Heard;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What is known of one backend by its server's agent. Without a fresh report, numbers are those of
 * the last one; they are absent if that said nothing of the service.
 *
 * @param openedPerSecond between the last two reports; absent after the first
 */
public record AgentView(
    String service,
    int backend,
    String address,
    State state,
    Optional<Double> ageSeconds,
    Optional<String> version,
    Optional<String> mode,
    Optional<Long> lostEvents,
    Optional<Report.Form> form,
    Optional<Long> established,
    Optional<Long> halfOpen,
    Optional<Report.AcceptQueue> acceptQueue,
    Optional<Double> openedPerSecond,
    Optional<Double> closedPerSecond,
    Optional<Load> load,
    Optional<Signals> signals) {
  private static final double MILLIS = 1000;
  private static final double NANOS_PER_MILLI = 1e6;

  /**
   * Of services whose connections have two buckets, if the last report says it.
   *
   * @param offered of all reports since this controller leads and hears the agent, as {@code taken}
   *     and {@code passed}
   * @param offeredPerSecond between the last two reports; absent after the first
   * @param latest the last report alone
   * @param passedShare of those that were taken or passed then; absent if there were none
   */
  public record Load(
      Optional<Long> busy,
      long offered,
      long taken,
      long passed,
      Optional<Double> offeredPerSecond,
      Optional<Double> passedShare,
      @JsonIgnore Report.Load latest) {
    private static Optional<Load> of(Heard heard) {
      return heard
          .report()
          .load()
          .map(
              load ->
                  new Load(
                      load.busy(),
                      heard.offers().offered(),
                      heard.offers().taken(),
                      heard.offers().passed(),
                      rate(heard, load.offered()),
                      Offers.NONE.plus(load).passedShare(),
                      load));
    }
  }

  /**
   * How connections fare, if the last report says it.
   *
   * @param counts of all reports since this controller leads and hears the agent
   * @param refusedPerSecond between the last two reports, as all that follow; absent after the
   *     first
   * @param resetsPerSecond sent or received
   * @param retransmittedShare of the segments sent; absent if none was
   * @param rttMilliseconds mean; absent if it is not known of any connection
   */
  public record Signals(
      @JsonUnwrapped SignalCounts counts,
      Optional<Double> refusedPerSecond,
      Optional<Double> resetsPerSecond,
      Optional<Double> retransmittedShare,
      Optional<Double> rttMilliseconds) {
    private static Optional<Signals> of(Heard heard) {
      return heard.signals().map(signaled -> of(heard, signaled));
    }

    private static Signals of(Heard heard, Signaled signaled) {
      Optional<SignalCounts> latest = heard.interval().map(any -> signaled.latest());
      return new Signals(
          signaled.all(),
          latest.flatMap(SignalCounts::refused).flatMap(count -> rate(heard, count)),
          latest.flatMap(SignalCounts::resets).flatMap(count -> rate(heard, count)),
          latest.flatMap(SignalCounts::retransmittedShare),
          latest.flatMap(SignalCounts::rtt).map(rtt -> rtt.toNanos() / NANOS_PER_MILLI));
    }
  }

  /** Whether the agent reports. */
  public enum State implements Word {
    REPORTING,
    /** It is heard, and has said nothing yet of the service as it is now. */
    COUNTING,
    SILENT,
    NEVER_HEARD;

    @Override
    public String toString() {
      return word();
    }
  }

  static AgentView of(String service, int backend, String address, Optional<Seen> seen) {
    Optional<Heard> heard = seen.flatMap(Seen::service);
    return new AgentView(
        service,
        backend,
        address,
        seen.map(AgentView::state).orElse(State.NEVER_HEARD),
        seen.map(each -> rounded(seconds(each.age()))),
        seen.map(Seen::version),
        seen.map(Seen::mode),
        seen.map(Seen::lostEvents),
        seen.flatMap(Seen::form),
        heard.map(each -> each.report().established()),
        heard.map(each -> each.report().halfOpen()),
        heard.flatMap(each -> each.report().acceptQueue()),
        heard.flatMap(each -> rate(each, each.report().opened())),
        heard.flatMap(each -> rate(each, each.report().closed())),
        heard.flatMap(Load::of),
        heard.flatMap(Signals::of));
  }

  /** Whether the agent says that no server is attached, which takes no packet of muxes then. */
  @JsonIgnore
  public boolean isDetached() {
    return (state == State.REPORTING || state == State.COUNTING)
        && form.filter(each -> !each.attached()).isPresent();
  }

  /** By service, then by number. */
  record Key(String service, int backend) implements Comparable<Key> {
    private static final Pattern TEXT = Pattern.compile("(.+)[.]([0-9]{1,5})");

    static Key parse(String cursor) {
      Matcher matcher = TEXT.matcher(cursor);
      if (!matcher.matches()) {
        throw Refusal.invalid("cursor", cursor, "a service, a dot and the id of a backend");
      }
      return new Key(matcher.group(1), Integer.parseInt(matcher.group(2)));
    }

    @Override
    public int compareTo(Key other) {
      int byService = service.compareTo(other.service);
      return byService != 0 ? byService : Integer.compare(backend, other.backend);
    }

    @Override
    public String toString() {
      return service + "." + backend;
    }
  }

  Key key() {
    return new Key(service, backend);
  }

  private static State state(Seen seen) {
    if (seen.isSilent()) {
      return State.SILENT;
    }
    return seen.service().isPresent() ? State.REPORTING : State.COUNTING;
  }

  private static Optional<Double> rate(Heard heard, long count) {
    return heard
        .interval()
        .filter(interval -> interval.toMillis() > 0)
        .map(interval -> rounded(count / seconds(interval)));
  }

  private static double rounded(double number) {
    return Math.round(number * 10) / 10.0;
  }

  private static double seconds(Duration duration) {
    return duration.toMillis() / MILLIS;
  }
}
