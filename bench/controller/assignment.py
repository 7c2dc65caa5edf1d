# SPDX-License-Identifier: Apache-2.0
"""Who owns which bucket: Beamer's (NSDI '18) Table 1, Figures 5 and 25 and table of A.3, with the controller's classes.

Evenness, rules and churn are properties of the algorithms, the same on every machine; the times at the end are not.
Needs the controller's jar: mvn -q package -DskipTests.
"""

import argparse
import itertools
import json
import pathlib
import statistics

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench.lib import java
from bench.lib.command import RESULTS, ROOT, die, keep
from bench.lib.figure import save

COLOURS = ("#ffffff", "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee")


def measure(args):
    figures = java.run(ROOT / "bench/controller/AssignmentFigures.java", args.seed, args.runs)
    return {"benchmark": "assignment", **json.loads(figures)}


def show(result):
    print(f"1,000 servers, 65,536 buckets, {result['runs']} pools of random ids; means\n")
    print(f"{'method':24s} {'imbalance':>9s} {'rules':>8s} {'churn 1 %':>10s} {'churn 5 %':>10s}")
    for method, row in result["table1"].items():
        mean = {key: statistics.mean(values) for key, values in row.items()}
        print(
            f"{method:24s} {mean['imbalance']:9.3f} {mean['rules']:8.0f} {mean['churn1']:10.2%} {mean['churn5']:10.2%}"
        )
    print("\nrules per server after one operation on a fresh ring of 1,048,576 buckets\n")
    print(f"{'servers':>8s} {'changed':>8s} {'added':>7s} {'removed':>8s} {'evenly':>7s}")
    for row in result["fragmentation"]:
        gone = [f"{row[key]:.2f}" if key in row else "-" for key in ("removed", "removedEvenly")]
        print(f"{row['servers']:8d} {row['percent']:6.1f} % {row['added']:7.2f} {gone[0]:>8s} {gone[1]:>7s}")
    print("\ndefragmenting 10,000 servers from one rule per bucket to one per server\n")
    for series in result["figure25"]:
        moved = series["points"][-1][0]
        print(
            f"at most {series['maxMoves']:3d} moves: {series['iterations']:3d} iterations, {moved:.1%} of buckets moved"
        )
    print("\nseconds of one core for 8,388,608 buckets and 65,535 servers\n")
    for what, seconds in result["seconds"].items():
        print(f"{what:28s} {seconds:6.2f}")


def draw_owners(result, path):
    figure, rows = plt.subplots(len(result["figure5"]), 1, figsize=(8, 3.6))
    for axes, (method, owners) in zip(rows, result["figure5"].items(), strict=True):
        axes.imshow(
            [owners],
            aspect="auto",
            interpolation="nearest",
            cmap=mpl.colors.ListedColormap(COLOURS),
            vmax=5.5,
            vmin=-0.5,
        )
        rules = 1 + sum(a != b for a, b in itertools.pairwise(owners))
        axes.set_ylabel(method, rotation=0, ha="right", va="center")
        axes.set_yticks([])
        axes.set_xticks([])
        axes.annotate(f"{rules} rules", (1.01, 0.5), xycoords="axes fraction", va="center", fontsize=8)
    rows[-1].set_xlabel("256 buckets, five servers")
    save(figure, path)


def draw_defragmentation(result, path):
    figure, (by_moves, by_time) = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True)
    for series in result["figure25"]:
        moved, rates = zip(*series["points"], strict=True)
        label = f"at most {series['maxMoves']} moves"
        by_moves.plot([100 * each for each in moved], rates, label=label)
        by_time.plot([4 / 60 * n for n in range(len(rates))], rates, label=label)
    by_moves.set_xlabel("buckets moved, % of the ring")
    by_moves.set_ylabel("rules per server")
    by_time.set_xlabel("hours, one iteration per 4 minutes")
    by_time.legend(frameon=False)
    save(figure, path)


def main():
    mpl.use("svg")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=20, help="pools for the table (default 20)")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "assignment.json")
    args = parser.parse_args()
    if args.runs < 1:
        die(f"--runs: {args.runs} is not allowed; allowed: 1 and more")
    result = measure(args)
    show(result)
    keep(args.json, result, indent=None)
    print(f"\n{args.json} has every figure")
    draw_owners(result, args.json.with_name("assignment_owners.svg"))
    draw_defragmentation(result, args.json.with_name("assignment_defragmentation.svg"))


if __name__ == "__main__":
    main()
