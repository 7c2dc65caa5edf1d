# SPDX-License-Identifier: Apache-2.0
"""The figures of bench/run hunt."""

import math

from matplotlib import pyplot as plt

from bench.lib.figure import save

COLOURS = {
    "SC": "#555555",
    "SR4": "#ee6677",
    "SR8": "#228833",
    "SR16": "#ccbb44",
    "SRdyn": "#4477aa",
    "round robin": "#aa3377",
    "feedback": "#66ccee",
}
SMOOTHED = 10  # seconds


def lines(axes, xs, rows, names, **style):
    """Means over xs by policy, with an error bar of two standard errors."""
    for name in names:
        points = [row[name] for row in rows]
        means = [point["seconds"] for point in points]
        axes.errorbar(xs, means, [2 * error(point) for point in points], color=COLOURS[name], label=name, **style)


def error(point):
    seconds = point["secondsBySeed"]
    mean = sum(seconds) / len(seconds)
    return math.sqrt(sum((each - mean) ** 2 for each in seconds) / max(1, len(seconds) - 1) / len(seconds))


def smoothed(values):
    """An exponential moving average over SMOOTHED samples, one a second."""
    mean, means = values[0], []
    for value in values:
        mean += (value - mean) / SMOOTHED
        means.append(mean)
    return means


def draw_loads(result, path):
    plot, rows = plt.subplots(2, 3, figsize=(10, 5.8))
    (mean, central, busy), (low, high, fair) = rows
    points = result["figure10"]
    by_load = [{name: points[name][n] for name in points} for n in range(len(result["loads"]))]
    lines(mean, result["loads"], by_load, ("SC", "SR4", "SR8", "SR16", "SRdyn"), linewidth=1)
    lines(central, result["loads"], by_load, ("SC", "round robin", "feedback", "SRdyn"), linewidth=1)
    for axes, title in ((mean, "mean response, s (10a)"), (central, "central policies (11e)")):
        axes.set_ylim(0, 1.2)
        axes.set_xlabel("load")
        axes.set_title(title, fontsize=9)
        axes.legend(frameon=False, fontsize=7)
    for axes, (load, distributions) in zip((low, high), result["distributions"].items(), strict=True):
        for name, percentiles in distributions.items():
            axes.plot(percentiles, [n / 100 for n in range(100)], color=COLOURS[name], linewidth=1)
        axes.set_xlim(0, 3)
        axes.set_xlabel("seconds")
        axes.set_title(f"responses within, load {load} (10c)", fontsize=9)
    for name, samples in result["series"].items():
        busy.plot(smoothed([sample[0] for sample in samples]), color=COLOURS[name], linewidth=1)
        fair.plot(smoothed([sample[1] for sample in samples]), color=COLOURS[name], linewidth=1)
    busy.set_title("busy workers, load 0.89 (10b)", fontsize=9)
    fair.set_title("fairness (10b)", fontsize=9)
    fair.set_xlabel("seconds")
    save(plot, path)


def draw_settings(result, path):
    plot, (late, servers, buckets, median) = plt.subplots(1, 4, figsize=(12, 3.2))
    rows = result["signals"]["rows"]
    for policy, label, colour in (
        ("connections in work, SRdyn, every", "SRdyn", "SRdyn"),
        ("the same, and those taken since, every", "SRdyn, and those taken since", "feedback"),
        ("connections in work, SR4, every", "SR4", "SR4"),
    ):
        found = {int(name.split()[-2]): point["seconds"] for name, point in rows.items() if name.startswith(policy)}
        late.semilogx(list(found), list(found.values()), marker=".", color=COLOURS[colour], label=label)
    late.axhline(rows["one choice"]["seconds"], color=COLOURS["SC"], linewidth=0.8, linestyle=":")
    late.set_title(f"mean response, s, load {result['signals']['load']}", fontsize=9)
    late.set_xlabel("ms between readings")
    late.legend(frameon=False, fontsize=6)
    lines(servers, [row["servers"] for row in result["figure11a"]], result["figure11a"], ("SR4",), linewidth=1)
    most = result["figure11b"][-1]
    servers.axhline(most["one choice"]["seconds"], color=COLOURS["SC"], linewidth=0.8, linestyle=":")
    servers.set_title("SR4 with fewer servers (11a)", fontsize=9)
    servers.set_xlabel("servers; dotted: one choice with 48")
    for name, colour in (("one choice", "SC"), ("Algorithm 3, SR4", "SR4"), ("two buckets, SR4", "SRdyn")):
        found = [(row["buckets"], row[name]["seconds"]) for row in result["figure11b"] if name in row]
        buckets.semilogx(*zip(*found, strict=True), marker=".", color=COLOURS[colour], label=name)
    buckets.set_ylim(0.2, 0.6)
    buckets.set_title("buckets (11b)", fontsize=9)
    buckets.legend(frameon=False, fontsize=7)
    rows = result["figure11f"]["sameMedian"]
    lines(median, [row["deviation"] for row in rows], rows, ("SC", "SR4", "SRdyn", "round robin"), linewidth=1)
    median.set_ylim(0, 1)
    median.set_title("log-normal work (11f)", fontsize=9)
    median.set_xlabel("standard deviation, s")
    median.legend(frameon=False, fontsize=7)
    save(plot, path)
