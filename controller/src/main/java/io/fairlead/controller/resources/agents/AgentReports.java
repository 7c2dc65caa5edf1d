// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * The latest report of each server, and what servers are asked. Soft state of the leader: it is in
 * memory only, and a new leader begins with none. Reports are kept by address, so a backend that
 * gets another address, or a service that is created again under its old name, is unknown until its
 * own server reports. One lock guards everything; nothing is decoded and nothing waits under it.
 */
public final class AgentReports implements LiveConnections, ServerSignals {
  /** A load that was reported earlier than this is ignored. */
  public static final Duration LOAD_AGE = Duration.ofSeconds(10);

  private static final int HURRY_SECONDS = 1;
  private static final int CALM_SECONDS = 10;

  /** Boots of one server that are remembered, so that a late report of one changes nothing. */
  private static final int FORMER_BOOTS = 16;

  /** What is asked where nothing else is, only for the answer's moment: any bucket will do. */
  private static final BitSet DATED = BitSet.valueOf(new long[] {1});

  private static final String DATED_ENCODED = BucketSetCodec.encode(DATED);

  /** Where a backend is now. */
  public interface Directory {
    Optional<Standing> find(String service, int backend);
  }

  /**
   * @param service its id, which no other service ever has
   */
  public record Standing(int service, Address address) {}

  /** A service that a server serves, and as which of its backends. */
  public record Place(ServiceConfig config, List<Integer> backends) {
    public String service() {
      return config.name();
    }

    public int id() {
      return config.id();
    }
  }

  /**
   * What became of a report.
   *
   * @param isNew whether it is newer than those before
   */
  public record Outcome(boolean isNew, int nextSeconds, List<Report.Question> questions) {}

  /**
   * @param interval since the report before, to which {@code opened} and {@code closed} refer
   * @param offers in all reports of this server since the service was first heard of there
   * @param signals empty if the report has none
   */
  public record Heard(
      Report.Service report,
      Optional<Duration> interval,
      Offers offers,
      Optional<Signaled> signals) {}

  private record Backend(String service, int id) {}

  /** {@code service} is the id; {@code asked} is when, by the clock. */
  private record Question(
      String name, int service, BitSet buckets, String encoded, Duration asked) {}

  /** A decoded answer; {@code index} of its service in the report. */
  private record Answer(int index, Set<String> questions, long connections, BitSet buckets) {}

  /** {@code asked} is when, by the clock, if a question of the answer is open. */
  private record Entry(
      int service, Heard heard, Optional<Answer> answer, Optional<Duration> asked) {}

  private record Agent(
      Report report,
      Duration heard,
      List<String> formerBoots,
      Map<String, Entry> services,
      Map<String, Counted> counts) {}

  private final Directory directory;
  private final LongSupplier nanos;
  private final long start;
  private final long term;

  @GuardedBy("this")
  private final Map<Address, Agent> agents = new HashMap<>();

  @GuardedBy("this")
  private final Map<Backend, Question> questions = new HashMap<>();

  /** Of one watched backend of each server and service: another one with each answer. */
  @GuardedBy("this")
  private final Map<Backend, Question> dates = new HashMap<>();

  @GuardedBy("this")
  private final Map<Backend, Duration> watched = new HashMap<>();

  @GuardedBy("this")
  private long lastQuestion;

  /**
   * @param nanos a monotonic clock, as {@link System#nanoTime}
   * @param random tells the questions of this term from those of all others
   */
  public AgentReports(Directory directory, LongSupplier nanos, LongSupplier random) {
    this.directory = directory;
    this.nanos = nanos;
    start = nanos.getAsLong();
    term = random.getAsLong() >>> 16;
  }

  /** Those of a controller that does not lead: it knows no backend. */
  public static AgentReports none() {
    return new AgentReports((service, backend) -> Optional.empty(), System::nanoTime, () -> 0);
  }

  private Duration now() {
    return Duration.ofNanos(nanos.getAsLong() - start);
  }

  /** Forgets servers that have none of these addresses, and questions of other services. */
  public synchronized void retain(Collection<Address> addresses, Collection<String> services) {
    agents.keySet().retainAll(addresses);
    questions.keySet().removeIf(backend -> !services.contains(backend.service()));
    Duration now = now();
    watched.values().removeIf(since -> now.minus(since).compareTo(WATCH) >= 0);
    dates.keySet().retainAll(watched.keySet());
  }

  /**
   * Takes in a report.
   *
   * @param addresses those of the report
   * @param isCurrent whether the agent counts for the services as they are now; otherwise it is
   *     alive, and its numbers are not used
   * @param places where these addresses stand
   * @throws Refusal naming the field, if an answer is no answer to its question
   */
  public Outcome accept(
      Report report, Set<Address> addresses, boolean isCurrent, List<Place> places) {
    Map<String, Place> byName = new HashMap<>();
    places.forEach(place -> byName.put(place.service(), place));
    Map<String, Answer> answers = new HashMap<>();
    if (isCurrent) {
      for (int i = 0; i < report.services().size(); i++) {
        Report.Service service = report.services().get(i);
        Place place = byName.get(service.name());
        if (service.answer().isPresent() && place != null) {
          answers.put(service.name(), decode(i, service.answer().get(), place.config().buckets()));
        }
      }
    }
    synchronized (this) {
      Duration now = now();
      Map<String, Duration> asked = new HashMap<>();
      for (Map.Entry<String, Answer> answer : answers.entrySet()) {
        check(byName.get(answer.getKey()), answer.getValue())
            .ifPresent(at -> asked.put(answer.getKey(), at));
      }
      boolean isNew = true;
      for (Address address : addresses) {
        isNew &= isNewer(report, agents.get(address));
      }
      if (isNew) {
        for (Address address : addresses) {
          agents.put(
              address, agent(report, agents.get(address), isCurrent, byName, answers, asked));
        }
      }
      boolean isHurried = !isCurrent;
      List<Report.Question> further = new ArrayList<>();
      for (Place place : places) {
        date(place, isNew ? answers : Map.of(), now);
        List<Question> open = open(place);
        if (!open.isEmpty()) {
          further.add(question(place, open, Optional.ofNullable(answers.get(place.service()))));
        }
        isHurried |= !open.isEmpty() || isWatched(place, now) || place.config().wantsLoads();
      }
      return new Outcome(isNew, isHurried ? HURRY_SECONDS : CALM_SECONDS, further);
    }
  }

  @Override
  public Optional<Count> connections(String service, int backend) {
    Optional<Standing> standing = directory.find(service, backend);
    synchronized (this) {
      Duration now = now();
      return standing
          .flatMap(at -> fresh(service, at, now))
          .map(
              found -> {
                Report.Service report = found.entry().heard().report();
                return new Count(
                    report.established(),
                    report.halfOpen(),
                    found.age(),
                    found.entry().asked().map(now::minus));
              });
    }
  }

  @Override
  public Optional<Signals> signals(String service, int backend) {
    Optional<Standing> standing = directory.find(service, backend);
    synchronized (this) {
      Duration now = now();
      return standing
          .flatMap(at -> fresh(service, at, now))
          .flatMap(
              found ->
                  found
                      .entry()
                      .heard()
                      .signals()
                      .map(signaled -> new Signals(signaled.all(), found.age())));
    }
  }

  @Override
  public long connections(String service, Set<Integer> backends) {
    List<Standing> standings =
        backends.stream().flatMap(each -> directory.find(service, each).stream()).toList();
    synchronized (this) {
      Duration now = now();
      Map<String, Long> ofAgents = new HashMap<>();
      for (Standing at : standings) {
        fresh(service, at, now)
            .map(found -> found.entry().heard().report())
            .ifPresent(
                report ->
                    ofAgents.put(
                        agents.get(at.address()).report().boot(),
                        report.established() + report.halfOpen()));
      }
      return ofAgents.values().stream().mapToLong(Long::longValue).sum();
    }
  }

  @Override
  public String unknown(String service, int backend) {
    Optional<Standing> standing = directory.find(service, backend);
    if (standing.isEmpty()) {
      return "only the leader knows, to which agents report";
    }
    Optional<Seen> seen = seen(service, standing.get());
    if (seen.isEmpty()) {
      return LiveConnections.super.unknown(service, backend);
    }
    return seen.get().isSilent()
        ? "the agent of backend %d has been silent for %d s"
            .formatted(backend, seen.get().age().toSeconds())
        : "the agent of backend %d has not counted the service yet".formatted(backend);
  }

  @Override
  public Optional<String> ask(String service, int backend, BitSet buckets) {
    Backend of = new Backend(service, backend);
    Optional<Standing> standing = directory.find(service, backend);
    BitSet copy = (BitSet) buckets.clone();
    String encoded = BucketSetCodec.encode(copy);
    synchronized (this) {
      if (copy.isEmpty() || standing.isEmpty()) {
        questions.remove(of);
        return Optional.empty();
      }
      int id = standing.get().service();
      Question before = questions.get(of);
      if (before != null && before.service() == id && before.buckets().equals(copy)) {
        return Optional.of(before.name());
      }
      Question question = new Question(nextName(), id, copy, encoded, now());
      questions.put(of, question);
      return Optional.of(question.name());
    }
  }

  @GuardedBy("this")
  private String nextName() {
    return "%012x-%d".formatted(term, ++lastQuestion);
  }

  /**
   * Asks a server with a watched backend something, so that its next report says by the question's
   * name when it was written at the earliest. A hold's question does not: it keeps its name while
   * the same is held. So this one goes with it, about what the hold asks, and adds no buckets.
   */
  @GuardedBy("this")
  private void date(Place place, Map<String, Answer> answers, Duration now) {
    Optional<Backend> first = Optional.empty();
    for (int id : place.backends()) {
      Backend backend = new Backend(place.service(), id);
      if (first.isEmpty() && isWatched(backend, now)) {
        first = Optional.of(backend);
      } else {
        dates.remove(backend);
      }
    }
    if (first.isEmpty()) {
      return;
    }
    Question last = dates.get(first.get());
    Answer answer = answers.get(place.service());
    if (last == null
        || last.service() != place.id()
        || (answer != null && answer.questions().contains(last.name()))) {
      Optional<Question> held = held(place).stream().findFirst();
      dates.put(
          first.get(),
          new Question(
              nextName(),
              place.id(),
              held.map(Question::buckets).orElse(DATED),
              held.map(Question::encoded).orElse(DATED_ENCODED),
              now));
    }
  }

  @Override
  public Optional<Occupied> occupied(String service, int backend) {
    Optional<Standing> standing = directory.find(service, backend);
    synchronized (this) {
      Question question = questions.get(new Backend(service, backend));
      if (question == null || standing.filter(at -> at.service() == question.service()).isEmpty()) {
        return Optional.empty();
      }
      Duration now = now();
      Optional<Fresh> found = fresh(service, standing.get(), now);
      return found
          .flatMap(fresh -> fresh.entry().answer())
          .filter(answer -> answer.questions().contains(question.name()))
          .map(
              answer -> {
                BitSet left = (BitSet) answer.buckets().clone();
                left.and(question.buckets());
                return new Occupied(
                    left,
                    answer.connections(),
                    question.name(),
                    found.get().age(),
                    now.minus(question.asked()));
              });
    }
  }

  @Override
  public synchronized void watch(String service, int backend) {
    watched.put(new Backend(service, backend), now());
  }

  /** What is known of the agent at an address, fresh or not, and of one service there. */
  public synchronized Optional<Seen> seen(String service, Standing at) {
    Duration now = now();
    return Optional.ofNullable(agents.get(at.address()))
        .map(
            agent ->
                new Seen(
                    now.minus(agent.heard()),
                    agent.report().version(),
                    agent.report().mode(),
                    agent.report().lostEvents(),
                    agent.report().form(),
                    Optional.ofNullable(agent.services().get(service))
                        .filter(entry -> entry.service() == at.service())
                        .map(Entry::heard)));
  }

  /** How busy the servers of a service's backends are, by those who said so lately. */
  public synchronized SortedMap<Integer, Long> loads(ServiceImage image) {
    String name = image.config().name();
    Duration now = now();
    SortedMap<Integer, Long> loads = new TreeMap<>();
    for (ServiceImage.Member member : image.pool().values()) {
      fresh(name, new Standing(image.config().id(), member.address()), now)
          .filter(found -> found.age().compareTo(LOAD_AGE) <= 0)
          .flatMap(found -> found.entry().heard().report().load())
          .flatMap(Report.Load::busy)
          .ifPresent(busy -> loads.put(member.id(), busy));
    }
    return loads;
  }

  /**
   * The backends of a service whose agents reported once and have been silent for so long, while
   * that of another server reports: otherwise it is this controller that hears none.
   */
  public synchronized Set<Integer> silent(ServiceImage image, Duration silence) {
    Duration now = now();
    Set<Integer> silent = new HashSet<>();
    boolean isAnyHeard = false;
    for (ServiceImage.Member member : image.pool().values()) {
      Agent agent = agents.get(member.address());
      if (agent != null && now.minus(agent.heard()).compareTo(silence) > 0) {
        silent.add(member.id());
      }
      // Agents report every 10 s: two that fall silent at one moment are not heard for half of 30.
      isAnyHeard |= agent != null && now.minus(agent.heard()).compareTo(silence.dividedBy(2)) <= 0;
    }
    return isAnyHeard ? silent : Set.of();
  }

  private record Fresh(Entry entry, Duration age) {}

  @GuardedBy("this")
  private Optional<Fresh> fresh(String service, Standing at, Duration now) {
    Agent agent = agents.get(at.address());
    if (agent == null || now.minus(agent.heard()).compareTo(SILENCE) > 0) {
      return Optional.empty();
    }
    return Optional.ofNullable(agent.services().get(service))
        .filter(entry -> entry.service() == at.service())
        .map(entry -> new Fresh(entry, now.minus(agent.heard())));
  }

  private static boolean isNewer(Report report, Agent last) {
    return last == null
        || (last.report().boot().equals(report.boot())
            ? last.report().sequence() < report.sequence()
            : !last.formerBoots().contains(report.boot()));
  }

  private Agent agent(
      Report report,
      Agent last,
      boolean isCurrent,
      Map<String, Place> places,
      Map<String, Answer> answers,
      Map<String, Duration> asked) {
    Duration now = now();
    boolean isSameBoot = last != null && last.report().boot().equals(report.boot());
    List<String> former = last == null ? List.of() : last.formerBoots();
    if (last != null && !isSameBoot) {
      List<String> more = new ArrayList<>(former);
      more.add(last.report().boot());
      former = List.copyOf(more.subList(Math.max(0, more.size() - FORMER_BOOTS), more.size()));
    }
    Optional<Duration> interval =
        isSameBoot ? Optional.of(now.minus(last.heard())) : Optional.empty();
    Map<String, Counted> counts =
        Counted.of(report, last == null ? Map.of() : last.counts(), isSameBoot, isCurrent, places);
    Map<String, Entry> services = new HashMap<>();
    for (Report.Service service : report.services()) {
      Place place = places.get(service.name());
      if (isCurrent && place != null) {
        Counted counted = counts.get(service.name());
        services.put(
            service.name(),
            new Entry(
                place.id(),
                new Heard(
                    service,
                    interval,
                    counted.offers(),
                    service.signals().flatMap(any -> counted.signals())),
                Optional.ofNullable(answers.get(service.name())),
                Optional.ofNullable(asked.get(service.name()))));
      }
    }
    return new Agent(report, now, former, services, counts);
  }

  private static Answer decode(int index, Report.Answer answer, int buckets) {
    try {
      return new Answer(
          index,
          new HashSet<>(List.of(answer.question().split("\\+"))),
          answer.connections(),
          BucketSetCodec.decode(answer.buckets(), buckets));
    } catch (BucketSetCodec.MalformedException e) {
      throw Refusal.invalid(
          field(index) + ".buckets",
          "%s (%s)".formatted(shortened(answer.buckets()), e.reason()),
          "base64 of runs, each a skip and a count, of a ring of %d buckets".formatted(buckets));
    }
  }

  /**
   * An answer to questions that are all open has only buckets of these.
   *
   * @return when the latest of its open questions was asked, by the clock
   */
  @GuardedBy("this")
  private Optional<Duration> check(Place place, Answer answer) {
    List<Question> asked =
        open(place).stream().filter(each -> answer.questions().contains(each.name())).toList();
    BitSet foreign = (BitSet) answer.buckets().clone();
    asked.forEach(question -> foreign.andNot(question.buckets()));
    // A question that was replaced meanwhile is not used, and may have asked for others.
    if (asked.size() == answer.questions().size() && !foreign.isEmpty()) {
      throw Refusal.invalid(
          field(answer.index()) + ".buckets",
          "bucket " + foreign.nextSetBit(0),
          "buckets of the question");
    }
    return asked.stream().map(Question::asked).max(Comparator.naturalOrder());
  }

  private static String field(int index) {
    return "services[%d].answer".formatted(index);
  }

  private static String shortened(String text) {
    return text.length() <= 40 ? text : text.substring(0, 40) + "...";
  }

  @GuardedBy("this")
  private List<Question> open(Place place) {
    List<Question> open = new ArrayList<>(held(place));
    open.addAll(of(place, dates));
    return open;
  }

  /** What holds ask. */
  @GuardedBy("this")
  private List<Question> held(Place place) {
    return of(place, questions);
  }

  private static List<Question> of(Place place, Map<Backend, Question> questions) {
    return place.backends().stream()
        .map(id -> questions.get(new Backend(place.service(), id)))
        .filter(question -> question != null && question.service() == place.id())
        .toList();
  }

  @GuardedBy("this")
  private boolean isWatched(Place place, Duration now) {
    for (int id : place.backends()) {
      if (isWatched(new Backend(place.service(), id), now)) {
        return true;
      }
    }
    return false;
  }

  @GuardedBy("this")
  private boolean isWatched(Backend backend, Duration now) {
    Duration since = watched.get(backend);
    return since != null && now.minus(since).compareTo(WATCH) < 0;
  }

  /** One question for all backends of a service that a server is; mostly there is one. */
  private static Report.Question question(
      Place place, List<Question> open, Optional<Answer> answer) {
    List<String> names = open.stream().map(Question::name).toList();
    String name = String.join("+", names);
    if (answer.filter(each -> each.questions().equals(new HashSet<>(names))).isPresent()) {
      return new Report.Question(place.service(), name, Optional.empty());
    }
    String encoded = open.get(0).encoded();
    if (open.size() > 1) {
      BitSet all = new BitSet();
      open.forEach(question -> all.or(question.buckets()));
      encoded = BucketSetCodec.encode(all);
    }
    return new Report.Question(place.service(), name, Optional.of(encoded));
  }
}
