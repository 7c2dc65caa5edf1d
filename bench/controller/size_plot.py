# SPDX-License-Identifier: Apache-2.0
"""
Draws the results of bench/run size: durations as Figure 23 and propagation as Figure 24 of Beamer (NSDI '18). Prints
the table of bench/README.md.
"""

import argparse
import pathlib
import statistics

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench.lib.command import RESULTS, load
from bench.lib.figure import save

KINDS = {"add": "adding", "remove": "removing", "weight": "weighing"}


def draw_durations(result, path):
    figure, axes = plt.subplots(figsize=(7, 4))
    sizes = sorted({row["size"] for row in result["durations"]})
    for at, (kind, label) in enumerate(KINDS.items()):
        most = [max(r["seconds"] for r in result["durations"] if (r["kind"], r["size"]) == (kind, s)) for s in sizes]
        bars = axes.bar([n + 0.27 * (at - 1) for n in range(len(sizes))], most, 0.25, label=label)
        axes.bar_label(bars, fmt="%.2f", fontsize=7)
    axes.axhline(2, linewidth=0.8, linestyle="--", color="grey")
    axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    axes.set_xlabel(f"backends of {result['backends']:,}, in a ring of {result['buckets']:,} buckets")
    axes.set_ylabel("seconds, the longest of each")
    axes.legend(frameon=False)
    save(figure, path)


def draw_propagation(result, path):
    figure, axes = plt.subplots(figsize=(7, 4))
    sizes = sorted({row["size"] for row in result["propagation"]})
    for size in sizes:
        rows = [row for row in result["propagation"] if row["size"] == size and (row["kind"] == "add" or size == 1)]
        times = sorted(seconds for row in rows for seconds in row["seconds"])
        what = "1 backend" if size == 1 else f"adding {size:,}"
        axes.step(times, [(n + 1) / len(times) for n in range(len(times))], where="post", label=what)
    axes.set_xscale("log")
    axes.set_ylim(0, 1)
    axes.set_xlabel(f"seconds from the commit until a mux has applied it; {result['readers']} muxes")
    axes.set_ylabel("share of muxes")
    axes.legend(frameon=False)
    save(figure, path)


def summarize(result):
    """The rows of bench/README.md: for every size, the longest of each kind; seconds, KB."""
    print("\n| backends | add, remove, weigh | to the muxes: median, last | readers' own, over the cores | KB a mux |")
    print("| --- | --- | --- | --- | --- |")
    for size in sorted({row["size"] for row in result["durations"]}):
        took = [
            max(row["seconds"] for row in result["durations"] if (row["kind"], row["size"]) == (kind, size))
            for kind in KINDS
        ]
        cells = [f"{size:,}", ", ".join(f"{seconds:.2f} s" for seconds in took)]
        # The first change after the muxes' start is left out: they begin with the deltas since the latest snapshot.
        rows = [row for row in result["propagation"][1:] if row["size"] == size]
        if rows:
            last = max(row["seconds"][-1] for row in rows)
            own = max(row["processorSeconds"] for row in rows) / result["cores"]
            middle = statistics.median([seconds for row in rows for seconds in row["seconds"]])
            cells += [f"{middle:.3f} s, {last:.2f} s", f"{own:.2f} s"]
            cells += [f"{max(row['bytesMost'] for row in rows) / 1000:,.0f}"]
        print(f"| {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "size.json")
    args = parser.parse_args()
    mpl.use("svg")
    result = load(args.json, "--json", "run the benchmark size")
    draw_durations(result, args.json.with_name("size_durations.svg"))
    if result["propagation"]:
        draw_propagation(result, args.json.with_name("size_propagation.svg"))
    summarize(result)


if __name__ == "__main__":
    main()
