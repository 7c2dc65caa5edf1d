# SPDX-License-Identifier: Apache-2.0
"""Response times under service hunting, simulated on 6LB's servers: its Figures 10, 11a, 11b, 11e and 11f.

48 servers of two cores and 32 workers, a backlog of 128, exponential work of 190 ms; and what a server has to know of
itself, and how soon. Load is that of the cores. A simulation, so the same on every machine; each run checks that no
query is lost and Little's law, and one choice is checked against M/M/c/K. Figure 12 needs a trace that can no longer
be had, Figures 11c and 13 real servers and muxes. Needs the controller's jar: mvn -q package -DskipTests.
"""

import argparse
import pathlib
import statistics

import matplotlib as mpl

from bench.lib.command import RESULTS, die, keep
from bench.papers import hunt_plots, hunt_run

LOADS = (
    0.05,
    0.1,
    0.15,
    0.2,
    0.25,
    0.3,
    0.35,
    0.4,
    0.45,
    0.5,
    0.55,
    0.6,
    0.65,
    0.71,
    0.76,
    0.82,
    0.87,
    0.89,
    0.93,
    0.97,
)
TARGET = 0.5  # of one choice, under SRdyn at load 0.87
ALIKE = "busy workers, SRdyn"


def spread(point):
    """The standard error of the mean over the seeds, as a part of it; 0 for one seed."""
    seconds = point["secondsBySeed"]
    return statistics.stdev(seconds) / len(seconds) ** 0.5 / point["seconds"] if len(seconds) > 1 else 0.0


def cell(point):
    return f"{point['seconds']:8.3f} {spread(point):5.1%}"


def show_loads(result):
    policies = list(result["figure10"])
    print("\nmean response in seconds, and its standard error over the seeds (Figures 10a and 11e)\n")
    print(f"{'load':6s}" + "".join(f"{policy:>14s}" for policy in policies))
    for n, load in enumerate(result["loads"]):
        print(f"{load:4.2f}  " + "".join(cell(result["figure10"][policy][n]) for policy in policies))
    for title, key, form in (
        ("99 % of the responses within, seconds", "percentile99", "14.3f"),
        ("busy workers of a server (Figure 10b)", "busy", "14.2f"),
        ("fairness of busy workers (Figure 10b)", "fairness", "14.3f"),
        ("part passed on by the first candidate", "passed", "14.1%"),
        ("part reset", "reset", "14.3%"),
    ):
        print(f"\n{title}\n")
        for n in [n for n, load in enumerate(result["loads"]) if load in (0.5, 0.71, 0.87, 0.89, 0.97)]:
            points = (result["figure10"][policy][n] for policy in policies)
            print(f"{result['loads'][n]:4.2f}  " + "".join(format(point[key], form) for point in points))


def show_signals(result):
    rows = result["signals"]["rows"]
    one, alike = rows["one choice"]["seconds"], rows[ALIKE]["seconds"]
    print(f"\nby what a server knows of itself, at load {result['signals']['load']}\n")
    print(f"{'':56s}{'mean s':>8s}{'error':>6s}{'to one':>8s}{'lost':>8s}{'passed':>8s}")
    for name, point in rows.items():
        lost = (point["seconds"] - alike) / (one - alike)
        print(f"{name:56s}{cell(point)}{point['seconds'] / one:8.3f}{lost:8.1%}{point['passed']:8.1%}")
    print(f"\nlost: of the benefit of '{ALIKE}'")
    target = result["target"]
    word = "reached" if target["ratio"] <= TARGET else "missed"
    print(f"target: SRdyn at most {TARGET} of one choice: {target['ratio']:.3f} (error {target['error']:.3f}), {word}")


def show_settings(result):
    print("\nload 0.71, mean response in seconds\n\nservers under SR4 (Figure 11a)")
    for row in result["figure11a"]:
        print(f"{row['servers']:8d}{cell(row['SR4'])}")
    names = list(result["figure11b"][-1])[1:]
    print(f"\nbuckets (Figure 11b)\n{'':8s}" + "".join(f"{name:>20s}" for name in names))
    for row in result["figure11b"]:
        print(f"{row['buckets']:8d}" + "".join(f"{cell(row[name]) if name in row else '-':>20s}" for name in names))
    print("\nlog-normal work (Figure 11f)")
    for key, first in (("sameMedian", "deviation"), ("sameMean", "variation")):
        rows = result["figure11f"][key]
        names = [name for name in rows[0] if isinstance(rows[0][name], dict)]
        print(f"\n{first:10s}{'load':>6s}" + "".join(f"{name:>14s}" for name in names))
        for row in rows:
            print(f"{row[first]:10.2f}{row.get('load', 0.71):6.2f}" + "".join(cell(row[name]) for name in names))


def target(result):
    """SRdyn to one choice by seed, which have the same arrivals and the same work."""
    rows = result["signals"]["rows"]
    pairs = zip(rows[ALIKE]["secondsBySeed"], rows["one choice"]["secondsBySeed"], strict=True)
    ratios = [hunting / one for hunting, one in pairs]
    error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else 0.0
    return {"ratio": statistics.mean(ratios), "error": error}


def main():
    mpl.use("svg")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=8, help="runs of a point (default 8)")
    parser.add_argument("--warm", type=int, default=40_000, help="queries before those that count (default 40000)")
    parser.add_argument("--queries", type=int, default=100_000, help="of a run (default 100000)")
    parser.add_argument("--loads", default=",".join(map(str, LOADS)))
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "hunt.json")
    args = parser.parse_args()
    if not all(0 < float(load) < 1 for load in args.loads.split(",")):
        die(f"--loads: {args.loads} is not allowed; allowed: numbers between 0 and 1, with commas")
    figures = hunt_run.run("LoadFigures", args.seed, args.seeds, args.warm, args.queries, args.loads)
    parameters = {"seed": args.seed, "seeds": args.seeds, "warm": args.warm, "queries": args.queries}
    result = {"benchmark": "hunt", **parameters, **figures, "target": target(figures)}
    for row in result["closedForm"]:
        print(
            f"one choice at load {row['load']}: {row['seconds']:.4f} s and {row['reset']:.2%} reset,"
            f" by M/M/c/K {row['exactSeconds']:.4f} s and {row['exactReset']:.2%}"
        )
    show_loads(result)
    show_signals(result)
    show_settings(result)
    print(f"\nLittle's law: both sides within {result['littleApart']:.1%} in each run")
    keep(args.json, result, indent=None)
    print(f"\n{args.json} has every figure")
    hunt_plots.draw_loads(result, args.json.with_name(f"{args.json.stem}_load.svg"))
    hunt_plots.draw_settings(result, args.json.with_name(f"{args.json.stem}_settings.svg"))


if __name__ == "__main__":
    main()
