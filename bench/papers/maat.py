# SPDX-License-Identifier: Apache-2.0
"""Steering maat simulated: Figures 8 to 11 and Table II of Maat, its own algorithm and others beside two buckets.

One service, 32 servers, flow sizes of flow_sizes.json. The same on every machine; no times, so not Figure 12. With
--switch Figures 14 and 15 instead: what it costs that a switch cannot count a flow's first packet. The simulation is in
bench/papers/balancers; Othello's arrays, Maglev's table and the ring are the controller's own classes. Needs
the controller's jar: mvn -q package -DskipTests.
"""

import argparse
import json
import pathlib

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench.lib import java
from bench.lib.command import RESULTS, ROOT, die, keep
from bench.lib.figure import save

SOURCES = ROOT / "bench/papers/balancers"
SIZES = ROOT / "bench/papers/flow_sizes.json"
WORKLOADS = ("web search", "data mining")
HASH, PAPER = "hash", "Maat, the paper's"
OURS = ("maat, two buckets", "maat, Delta 1 % of the mean load")
RATIO = "variance over the paper's, by run"
MARKS = ("o", "s", "^", "v", "D", "x", "P", "*", "+")


def mean(row, name):
    return row[name]["mean"] if name in row else None


def cell(value, form, width):
    return f"{'-' if value is None else format(value, form):>{width}s}"


def methods(rows):
    return [name for name in rows if name != RATIO]


def show_variance(figure, title):
    print(f"\n{title}: standard deviation of the servers' packets over their mean; variance over that of hash\n")
    sizes = list(figure)
    print(f"{'':46s}" + "".join(f"{size:>18s}" for size in sizes))
    for name in methods(figure[sizes[0]]):
        print(f"{name:46s}", end="")
        for size in sizes:
            row, base = figure[size][name], figure[size].get(HASH)
            part = mean(row, "variance") / mean(base, "variance") if base else None
            print(f"{mean(row, 'deviation'):10.2%}" + cell(part, ".3f", 8), end="")
        print()
    for name in figure[sizes[0]][RATIO]:
        print(f"variance of '{name}' over the paper's: of the means; least and most of the runs")
        for size in sizes:
            rows, ratio = figure[size], figure[size][RATIO][name]
            of_means = mean(rows[name], "variance") / mean(rows[PAPER], "variance")
            print(f"{size:>18s}: {of_means:.3f}; {ratio['least']:.3f} to {ratio['most']:.3f}")


def show_filters(rows, title):
    print(f"\n{title}: filters; false hits and misses are packets\n")
    head = ("noted", "most open", "at once", "counters", "broken", "false hits", "misses", "hops/packet")
    print(f"{'':46s}" + "".join(f"{word:>12s}" for word in head))
    for name in methods(rows):
        row = rows[name]
        print(
            f"{name:46s}{mean(row, 'notedPart'):12.2%}{mean(row, 'mostOpen'):12,.0f}{mean(row, 'mostNoted'):12,.0f}"
            f"{mean(row, 'mostFill'):12.2%}{mean(row, 'brokenPart'):12.4%}{mean(row, 'falseHits'):12,.0f}"
            f"{mean(row, 'misses'):12,.0f}" + cell(mean(row, "hopsPerPacket"), ".2g", 12)
        )


def show_broken(rows, title):
    print(f"\n{title}: broken connections, least and most of the runs, of those open at a change; hops\n")
    head = ("broken", "least", "most", "of open", "hops/packet", "most hops", "deviation")
    print(f"{'':48s}" + "".join(f"{word:>12s}" for word in head))
    for name in methods(rows):
        row = rows[name]
        print(
            f"{name:48s}{mean(row, 'brokenPart'):12.4%}{row['broken']['least']:12,.0f}{row['broken']['most']:12,.0f}"
            + cell(mean(row, "brokenOfSeen"), ".2%", 12)
            + cell(mean(row, "hopsPerPacket"), ".2g", 12)
            + cell(row["mostHops"]["most"] if "mostHops" in row else None, ".0f", 12)
            + f"{mean(row, 'deviation'):12.2%}"
        )


def show(result):
    for workload in WORKLOADS:
        of = result[workload]
        title = f"{workload}, {of['runs']} runs"
        fewer = f"{workload}, {of['fewerRuns']} runs"
        show_variance(of["figure8"], f"Figure 8, {title}, 1 Gb/s a connection")
        show_variance(of["figure9"], f"Figure 9, {fewer}")
        show_variance(of["pace"], f"{fewer}, by the pace of a connection")
        show_variance({str(result["most"]): of["settings"]}, f"settings of two buckets, {fewer}")
        show_filters({name: of["figure8"][str(result["most"])][name] for name in (PAPER, *OURS)}, f"Figure 8, {title}")
        show_filters(of["figure10"], f"Figure 10, {fewer}, 1 Gb/s a connection")
        show_filters(of["figure10Slow"], f"Figure 10, {fewer}, 100 Mb/s a connection")
        for name, rows in of["table2"].items():
            show_broken(rows, f"Table II, {workload}, {name}")
    print("\nFigure 11: bytes of a mux\n")
    figure = result["figure11"]
    print(f"{'connections':38s}" + "".join(f"{int(size):>12,d}" for size in figure))
    for name in next(iter(figure.values())):
        print(f"{name:38s}" + "".join(f"{figure[size][name]:12,.0f}" for size in figure))


def show_switch(result):
    for workload in WORKLOADS:
        of = result[workload]
        show_variance(of["figure14"], f"Figure 14, {workload}, {of['runs']} runs, 1 Gb/s a connection")
        show_filters(of["figure15"], f"Figure 15, {workload}, {of['runs']} runs, 1 Gb/s a connection")


def draw_variance(result, path):
    figure, both = plt.subplots(1, 2, figsize=(9, 4))
    for axes, workload in zip(both, WORKLOADS, strict=True):
        rows = result[workload]["figure8"]
        sizes = [int(size) for size in rows]
        for name, mark in zip(methods(next(iter(rows.values()))), MARKS, strict=True):
            points = [rows[str(size)][name]["variance"] for size in sizes]
            values = [each["mean"] for each in points]
            spread = [
                [value - each["least"] for value, each in zip(values, points, strict=True)],
                [each["most"] - value for value, each in zip(values, points, strict=True)],
            ]
            axes.errorbar(sizes, values, spread, marker=mark, markersize=4, linewidth=1, elinewidth=0.5, label=name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(sizes, [f"{size / 1000:g} K" for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("connections")
        axes.set_title(workload, fontsize=9)
    both[0].set_ylabel("variance of the servers' packets")
    both[1].legend(frameon=False, fontsize=6)
    save(figure, path)


def draw_filters(result, path):
    figure, both = plt.subplots(1, 2, figsize=(9, 3.4))
    for axes, workload in zip(both, WORKLOADS, strict=True):
        for name, pace in (("figure10", "1 Gb/s"), ("figure10Slow", "100 Mb/s")):
            points = [
                (float(label.split()[1]), 100 * row["brokenPart"]["mean"])
                for label, row in result[workload][name].items()
                if label.endswith("KiB, 3 hashes")
            ]
            axes.plot(*zip(*points, strict=True), marker=".", label=f"the paper's, {pace} a connection")
        axes.axhline(0, color="black", linewidth=1, linestyle=":", label="two buckets, any filter")
        axes.set_xlabel("KiB of the filter")
        axes.set_title(workload, fontsize=9)
        axes.legend(frameon=False, fontsize=7)
    both[0].set_ylabel("broken connections, %")
    save(figure, path)


def draw_memory(result, path):
    figure, axes = plt.subplots(figsize=(6, 3.6))
    rows = result["figure11"]
    for name, mark in zip(next(iter(rows.values())), MARKS, strict=False):
        axes.loglog([int(size) for size in rows], [row[name] / 1000 for row in rows.values()], marker=mark, label=name)
    axes.set_xlabel("connections")
    axes.set_ylabel("KB of a mux")
    axes.legend(frameon=False, fontsize=7)
    save(figure, path)


def rounded(value):
    """To six digits, which are more than the runs' spread allows, and a third of the bytes."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value


def main():
    mpl.use("svg")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=30, help="of Figure 8; others have a third or tenth (default 30)")
    parser.add_argument("--most", type=int, default=130_000, help="connections (default 130000)")
    parser.add_argument("--check", action="store_true", help="test the parts of the simulation instead")
    parser.add_argument("--switch", action="store_true", help="Figures 14 and 15 instead, in maat_switch.json")
    parser.add_argument("--json", type=pathlib.Path, help="default bench/results/maat.json")
    args = parser.parse_args()
    args.json = args.json or RESULTS / ("maat_switch.json" if args.switch else "maat.json")
    for name, value in (("--runs", args.runs), ("--most", args.most)):
        if value < 1:
            die(f"{name}: {value} is not allowed; allowed: 1 and more")
    with java.compiled(*sorted(SOURCES.glob("*.java"))) as run:
        if args.check:
            print(run("balancers.Checks"), end="")
            return
        words = (SIZES, args.seed, args.runs, args.most, str(args.switch).lower())
        figures = rounded(json.loads(run("balancers.MaatFigures", *words)))
    result = {"benchmark": "maat", "seed": args.seed, "most": args.most, **figures}
    (show_switch if args.switch else show)(result)
    keep(args.json, result, indent=None)
    print(f"\n{args.json} has every figure")
    if args.switch:
        return
    draw_variance(result, args.json.with_name("maat_variance.svg"))
    draw_filters(result, args.json.with_name("maat_filter.svg"))
    draw_memory(result, args.json.with_name("maat_memory.svg"))


if __name__ == "__main__":
    main()
