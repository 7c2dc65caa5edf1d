// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Response times by policy (6LB, Figures 10, 11a, 11b, 11e and 11f) and by what a server knows of
 * itself, on the paper's servers. Prints one JSON document.
 *
 * <p>Run by bench/run hunt as {@code LoadFigures SEED SEEDS WARM QUERIES LOADS}, loads with commas.
 */
public final class LoadFigures {
  static final int SERVERS = 48;
  static final Farm.Shape SHAPE = new Farm.Shape(SERVERS, 2, 32, 128);
  static final double MEAN = 0.19;
  static final double CAPACITY = SERVERS * 2 / MEAN;
  private static final double HIGH = 0.87;
  private static final double[] DISTRIBUTIONS = {0.71, 0.89};
  private static final int PAPER_QUERIES = 80_000;
  private static final double[] READINGS = {0.01, 0.05, 0.2, 1};

  private LoadFigures() {}

  public static void main(String[] args) throws Exception {
    Points points =
        new Points(
            Long.parseLong(args[0]),
            Integer.parseInt(args[1]),
            Integer.parseInt(args[2]),
            Integer.parseInt(args[3]));
    double[] loads = Arrays.stream(args[4].split(",")).mapToDouble(Double::parseDouble).toArray();
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("closedForm", ClosedForm.check(Long.parseLong(args[0])));
    result.put("loads", loads);
    result.put("figure10", figure10(points, loads));
    result.put("distributions", distributions(points));
    result.put("series", series(Long.parseLong(args[0]), points));
    result.put("signals", signals(points));
    result.put("figure11a", SettingFigures.figure11a(points));
    result.put("figure11b", SettingFigures.figure11b(points));
    result.put("figure11f", SettingFigures.figure11f(points));
    result.put("littleApart", points.worstLittle());
    System.out.println(new ObjectMapper().writeValueAsString(result));
  }

  /** The paper's policies, by their names there. */
  static Map<String, Acceptance> policies() {
    Map<String, Acceptance> policies = new LinkedHashMap<>();
    policies.put("SC", Acceptance.always());
    for (int c : new int[] {4, 8, 16}) {
      policies.put("SR" + c, Acceptance.fixed(Acceptance.Signal.WORKERS, c));
    }
    policies.put("SRdyn", dynamic(Acceptance.Signal.WORKERS));
    return policies;
  }

  static Acceptance dynamic(Acceptance.Signal signal) {
    return Acceptance.dynamic(
        signal, signal == Acceptance.Signal.QUEUE ? SHAPE.backlog() : SHAPE.workers());
  }

  static Run.Plan plan(Points points, Acceptance acceptance, double load) {
    return new Run.Plan(
        SHAPE, acceptance, Work.exponential(MEAN), load * CAPACITY, points.warm, points.queries, 0);
  }

  /** Any servers: one if the policy takes all that comes. */
  static Dispatch uniform(Acceptance acceptance) {
    return Dispatch.uniform(SERVERS, acceptance.equals(Acceptance.always()) ? 1 : 2);
  }

  /** Figures 10a and 11e: by policy, of each load. */
  private static Map<String, Object> figure10(Points points, double[] loads) {
    Map<String, Object> rows = new LinkedHashMap<>();
    policies()
        .forEach(
            (name, acceptance) ->
                rows.put(
                    name,
                    Arrays.stream(loads)
                        .mapToObj(
                            load ->
                                points.of(
                                    plan(points, acceptance, load), seed -> uniform(acceptance)))
                        .toList()));
    rows.put(
        "round robin",
        Arrays.stream(loads)
            .mapToObj(
                load ->
                    points.of(
                        plan(points, Acceptance.always(), load),
                        seed -> Dispatch.roundRobin(SERVERS)))
            .toList());
    Acceptance polled = Acceptance.always().readEvery(0.2);
    rows.put(
        "feedback",
        Arrays.stream(loads)
            .mapToObj(
                load -> points.of(plan(points, polled, load), seed -> Dispatch.feedback(SERVERS)))
            .toList());
    return rows;
  }

  /** Figure 10c. */
  private static Map<String, Object> distributions(Points points) {
    Map<String, Object> rows = new LinkedHashMap<>();
    for (double load : DISTRIBUTIONS) {
      Map<String, Object> row = new LinkedHashMap<>();
      policies()
          .forEach(
              (name, acceptance) ->
                  row.put(
                      name,
                      Points.distribution(
                          points.runs(
                              plan(points, acceptance, load), seed -> uniform(acceptance)))));
      rows.put("" + load, row);
    }
    return rows;
  }

  /** Figure 10b: the mean of busy workers and fairness each second of a run that starts empty. */
  private static Map<String, Object> series(long seed, Points points) {
    Map<String, Object> rows = new LinkedHashMap<>();
    policies()
        .forEach(
            (name, acceptance) -> {
              Run.Plan plan =
                  new Run.Plan(
                      SHAPE,
                      acceptance,
                      Work.exponential(MEAN),
                      DISTRIBUTIONS[1] * CAPACITY,
                      0,
                      Math.min(PAPER_QUERIES, 20 * points.queries),
                      1);
              rows.put(name, Run.of(plan, uniform(acceptance), seed).samples());
            });
    return rows;
  }

  /** By what a server knows of itself, and how late, at one high load. */
  private static Map<String, Object> signals(Points points) {
    Acceptance inWork = dynamic(Acceptance.Signal.IN_WORK);
    Acceptance four = Acceptance.fixed(Acceptance.Signal.IN_WORK, 4);
    Map<String, Acceptance> rows = new LinkedHashMap<>();
    rows.put("one choice", Acceptance.always());
    rows.put("busy workers, SR4", policies().get("SR4"));
    rows.put("busy workers, SRdyn", policies().get("SRdyn"));
    rows.put("connections in work, SRdyn", inWork);
    for (double every : READINGS) {
      String late = ", every %d ms".formatted(Math.round(1000 * every));
      rows.put("connections in work, SRdyn" + late, inWork.readEvery(every));
      rows.put("the same, and those taken since" + late, inWork.readEvery(every).counting());
      rows.put("connections in work, SR4" + late, four.readEvery(every));
    }
    Acceptance stall = Acceptance.fixed(Acceptance.Signal.STALL, 50);
    rows.put("PSI, half of the last 50 ms", stall.readEvery(0.05));
    rows.put("PSI, half of the last 200 ms", stall.readEvery(0.2));
    rows.put("accept queue, 1 or more", Acceptance.fixed(Acceptance.Signal.QUEUE, 1));
    rows.put("accept queue, SRdyn", dynamic(Acceptance.Signal.QUEUE));
    Map<String, Object> results = new LinkedHashMap<>();
    results.put("load", HIGH);
    Map<String, Object> figures = new LinkedHashMap<>();
    rows.forEach(
        (name, acceptance) ->
            figures.put(
                name, points.of(plan(points, acceptance, HIGH), seed -> uniform(acceptance))));
    results.put("rows", figures);
    return results;
  }
}
