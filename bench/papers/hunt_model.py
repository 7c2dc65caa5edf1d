# SPDX-License-Identifier: Apache-2.0
"""6LB's analytic model beside a simulation of it: Figures 8 and 9. Fails if they differ by more than --tolerance.

The formulas are in hunt_formulas.py. The simulation has a finite number of servers, so it is a little above them. Needs
the controller's jar: mvn -q package -DskipTests.
"""

import argparse
import itertools
import pathlib
import statistics

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench.lib.command import RESULTS, die, keep
from bench.lib.figure import save
from bench.papers import hunt_formulas as formulas
from bench.papers import hunt_run

THRESHOLDS = (0, 2, 4, 8)
LOADS = [n / 100 for n in range(1, 100)]
PAPER_LOAD = 0.88  # of the distribution in Figure 8e
WRONG = 4.5  # %, the paper's bound for SR4 at 0.9
ONE_CHOICE = 3  # times the tolerance: its queues are longest, and so is the time over which they vary


def name(c):
    return f"SR{c}" if c else "SC"


def compare(point, percents):
    """By figure: the formula's value, the simulation's, and how far it is off; parts of servers and queries as such."""
    load, c = point["load"], point["threshold"]
    rows = {
        "seconds": (formulas.mean(load, c), statistics.mean(point["means"])),
        "fairness": (formulas.fairness(load, c), point["fairness"]),
        "percentile90": (formulas.percentile(load, c, 90), point["percentiles"][percents.index(90)]),
    }
    rows = {key: (exact, found, found / exact - 1) for key, (exact, found) in rows.items()}
    if c:
        for key, exact in (
            ("passed", formulas.at_least_c(load, c)),
            ("wronglyPassed", formulas.wrongly_passed(load, c)),
        ):
            rows[key] = (exact, point[key], point[key] - exact)
    states = formulas.at_least(load, c)
    pairs = itertools.zip_longest(point["atLeast"], states[: len(point["atLeast"])], fillvalue=0.0)
    worst = max((found - exact for found, exact in pairs), key=abs)
    rows["atLeast"] = (None, None, worst)
    return {key: {"model": row[0], "simulation": row[1], "off": row[2]} for key, row in rows.items()}


def check(result, tolerance):
    for point in result["points"]:
        point["compared"] = compare(point, result["percents"])
        limit = tolerance * (1 if point["threshold"] else ONE_CHOICE)
        for key, row in point["compared"].items():
            if abs(row["off"]) > limit:
                die(
                    f"{name(point['threshold'])} at load {point['load']}: {key} is off by {row['off']:.2%}, more than"
                    f" {limit:.1%}"
                )


def crossing(low, high, is_above):
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return high


def show(result, tolerance):
    print(
        f"{result['servers']:,} servers, {result['seeds']} times {result['queries']:,} queries: within {tolerance:.1%},"
        f" one choice {ONE_CHOICE * tolerance:.1%}\n"
    )
    print(f"{'':10s}{'mean':>27s}{'fairness':>27s}{'90 %':>27s}{'passed':>9s}{'wrongly':>9s}{'s_n':>9s}")
    print(f"{'load':10s}" + 3 * f"{'model':>9s}{'found':>9s}{'off':>9s}" + 3 * f"{'off':>9s}")
    for point in result["points"]:
        rows = point["compared"]
        print(
            f"{point['load']:.2f} {name(point['threshold']):5s}"
            + "".join(
                f"{rows[key]['model']:9.3f}{rows[key]['simulation']:9.3f}{rows[key]['off']:9.2%}"
                for key in ("seconds", "fairness", "percentile90")
            )
            + "".join(
                f"{rows[key]['off']:9.2%}" if key in rows else f"{'-':>9s}"
                for key in ("passed", "wronglyPassed", "atLeast")
            )
        )
    claims = result["claims"]
    print(f"\nSR8 is better than SR4 from load {claims['sr8FromLoad']:.4f} (paper: 0.983)")
    print(f"SR4 passes on wrongly at load 0.9: {100 * claims['wronglyPassed']:.2f} % (paper: under {WRONG} %)")
    print(f"servers under SR4 for 100 under SC, 90 % within 6: {100 * claims['serversNeeded']:.1f} (paper: 71)")


def claims():
    return {
        "sr8FromLoad": crossing(0.9, 0.999, lambda load: formulas.mean(load, 8) < formulas.mean(load, 4)),
        "wronglyPassed": formulas.wrongly_passed(0.9, 4),
        "serversNeeded": formulas.servers_needed(6, 4),
    }


def draw(result, path):
    plot, rows = plt.subplots(2, 4, figsize=(12, 5.6))
    (mean, fair, slow, delayed), (shares, fewer, wrong, states) = rows
    colours = dict(zip(THRESHOLDS, ("#555555", "#4477aa", "#ee6677", "#228833"), strict=True))
    for c, colour in colours.items():
        mean.plot(LOADS, [formulas.mean(load, c) for load in LOADS], color=colour, label=name(c))
        fair.plot(LOADS, [formulas.fairness(load, c) for load in LOADS], color=colour)
        slow.plot(LOADS, [formulas.percentile(load, c, 90) for load in LOADS], color=colour)
        delayed.plot(LOADS, [formulas.mean_with_delay(load, c, 1) for load in LOADS], color=colour)
        times = [n / 4 for n in range(1, 100)]
        shares.plot(times, [1 - formulas.longer(PAPER_LOAD, c, time) for time in times], color=colour)
        states.semilogy(formulas.at_least(PAPER_LOAD, c)[:20], color=colour)
        if c:
            wrong.plot(LOADS, [formulas.wrongly_passed(load, c) for load in LOADS], color=colour)
        for point in (each for each in result["points"] if each["threshold"] == c):
            found = {key: row["simulation"] for key, row in point["compared"].items()}
            for axes, key in ((mean, "seconds"), (fair, "fairness"), (slow, "percentile90"), (wrong, "wronglyPassed")):
                if key in found:
                    axes.plot(point["load"], found[key], ".", color=colour)
            if point["load"] == PAPER_LOAD:
                levels = [percent / 100 for percent in result["percents"]]
                shares.plot(point["percentiles"], levels, ".", color=colour)
                states.semilogy(point["atLeast"][:20], ".", color=colour)
    limits = [3 + n / 2 for n in range(35)]
    fewer.plot(limits, [formulas.servers_needed(limit, 4) for limit in limits], color=colours[4])
    for axes, title, top in (
        (mean, "mean response (8a)", 10),
        (fair, "fairness (8b)", 1),
        (slow, "90 % of responses (8c)", 20),
        (delayed, "mean with delay 1 (8d)", 10),
        (shares, f"responses at {PAPER_LOAD} within (8e)", 1),
        (fewer, "servers, SR4 to SC, by limit (8f)", 1),
        (wrong, "wrongly passed on (9)", 0.5),
        (states, f"servers with n or more, {PAPER_LOAD}", 1),
    ):
        axes.set_title(title, fontsize=9)
        axes.set_ylim(1e-5 if axes is states else 0, top)
    shares.set_xlim(0, 25)
    mean.legend(frameon=False, fontsize=7)
    save(plot, path)


def main():
    mpl.use("svg")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=4, help="runs of a point (default 4)")
    parser.add_argument("--servers", type=int, default=1000)
    parser.add_argument("--warm", type=int, default=400_000, help="queries before those that count (default 400000)")
    parser.add_argument("--queries", type=int, default=600_000, help="of a run (default 600000)")
    parser.add_argument("--loads", default="0.5,0.7,0.8,0.88,0.9")
    parser.add_argument("--tolerance", type=float, default=0.01, help="three times that for one choice (default 0.01)")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "hunt_model.json")
    args = parser.parse_args()
    if not all(0 < float(load) < 1 for load in args.loads.split(",")):
        die(f"--loads: {args.loads} is not allowed; allowed: numbers between 0 and 1, with commas")
    sizes = (args.seed, args.seeds, args.servers, args.warm, args.queries)
    figures = hunt_run.run("ModelFigures", *sizes, args.loads, ",".join(map(str, THRESHOLDS)))
    result = {"benchmark": "hunt_model", "seed": args.seed, **figures, "claims": claims()}
    check(result, args.tolerance)
    show(result, args.tolerance)
    keep(args.json, result, indent=None)
    print(f"\n{args.json} has every figure")
    draw(result, args.json.with_suffix(".svg"))


if __name__ == "__main__":
    main()
