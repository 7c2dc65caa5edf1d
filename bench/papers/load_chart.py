# SPDX-License-Identifier: Apache-2.0
"""
Draws what steering by load gains, from the results of bench/run hunt and bench/run maat, for docs/load.md: the mean
response time of one choice and of hunt, and how unevenly servers are loaded under ring and under maat.
"""

import argparse
import pathlib

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench.lib.command import RESULTS, load
from bench.lib.figure import save
from bench.papers.hunt_plots import COLOURS

POLICIES = {
    "SC": ("ring: one choice", "SC"),
    "SR4": ("hunt, static 4", "SR4"),
    "SRdyn": ("hunt, dynamic", "SRdyn"),
}
METHODS = {
    "hash": ("ring: one choice", "SC"),
    "Maat, the paper's": ("Maat, the paper's", "SR16"),
    "maat, Delta 1 % of the mean load": ("maat, defaults", "SRdyn"),
}
WORKLOADS = ("web search", "data mining")
WIDTH = 0.27


def read(path):
    return load(path, "--results", f"run the benchmark {path.stem}")


def draw_responses(axes, hunt):
    for name, (label, colour) in POLICIES.items():
        means = [point["seconds"] for point in hunt["figure10"][name]]
        axes.plot(hunt["loads"], means, color=COLOURS[colour], linewidth=1.2, label=label)
    axes.set_ylim(0, 1.2)
    axes.set_xlabel("load of the servers' cores")
    axes.set_ylabel("mean response, s")
    axes.set_title("48 servers, exponential work of 190 ms", fontsize=9)
    axes.legend(frameon=False, fontsize=8)


def draw_deviations(axes, maat):
    for at, (name, (label, colour)) in enumerate(METHODS.items()):
        found = [maat[workload]["figure8"][str(maat["most"])][name]["deviation"] for workload in WORKLOADS]
        means = [100 * each["mean"] for each in found]
        spread = [
            [100 * (each["mean"] - each["least"]) for each in found],
            [100 * (each["most"] - each["mean"]) for each in found],
        ]
        places = [n + WIDTH * (at - 1) for n in range(len(WORKLOADS))]
        bars = axes.bar(places, means, WIDTH * 0.92, yerr=spread, color=COLOURS[colour], label=label, ecolor="#999999")
        axes.bar_label(bars, fmt="%.1f", fontsize=7)
    axes.set_ylim(0, 15)
    axes.set_xticks(range(len(WORKLOADS)), WORKLOADS)
    axes.set_ylabel("deviation of packets, % of mean")
    axes.set_title(f"32 servers, {maat['most']:,} connections, one mux", fontsize=9)
    axes.legend(frameon=False, fontsize=8)


def main():
    mpl.use("svg")
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="folder of hunt.json and maat.json")
    parser.add_argument("--svg", type=pathlib.Path, default=RESULTS / "load.svg")
    args = parser.parse_args()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    draw_responses(left, read(args.results / "hunt.json"))
    draw_deviations(right, read(args.results / "maat.json"))
    save(figure, args.svg)


if __name__ == "__main__":
    main()
