# SPDX-License-Identifier: Apache-2.0
"""Completion times on real servers under steering `maat`, beside one choice: Maat's Figure 13 in a lab.

Apache on servers that have a part of a processor each, Poisson arrivals, answers of web search's sizes in blocks of
8 KB, each of which costs the same work before it is sent. All methods have the same arrivals and sizes, and take turns.
Loads come from what the mux counts, or from agents, which read Apache's busy workers once a second. Needs lab/build,
root and CPU quotas (cgroup version 1 or 2).
"""

import argparse
import itertools
import pathlib
import statistics

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench.lib.command import RESULTS, ROOT, die, keep, load
from bench.lib.figure import save
from bench.papers import poisson_arrivals, real_servers

ONE = "one choice"
METHODS = {
    ONE: {"steering": "ring"},
    "maat, packets": {"steering": "maat", "maat": {"load": "packets"}},
    "maat, agents": {"steering": "maat", "maat": {"load": "agents"}},
}
COLOURS = {ONE: "#888888", "maat, packets": "#1f77b4", "maat, agents": "#d95f02"}
SIZES = "web search"
# A reading costs a worker's time.
BUSY = (
    "--busy",
    f"apache=http://127.0.0.1:{real_servers.STATUS_PORT}/status?auto",
    "--busy-interval-ms",
    "1000",
)  # a reading costs a worker's time
DEVIATIONS = "workDeviation", "windowDeviation", "inProgressDeviation"
WINDOW = 5  # seconds: over which work is compared between servers


def points():
    sizes = load(ROOT / "bench/papers/flow_sizes.json")
    return sizes[SIZES]["points"]


def mean_size(curve):
    return sum((a[0] + b[0]) / 2 * (b[1] - a[1]) for a, b in itertools.pairwise(curve))


def drawn(curve, part):
    """The size that this part of all flows does not exceed, between the points on a line."""
    (low, below), (high, above) = next((a, b) for a, b in itertools.pairwise(curve) if part <= b[1])
    return low + (high - low) * (part - below) / (above - below)


def queries(args, seed):
    curve = points()
    second_a_byte = args.work_ms / 1000 / mean_size(curve)

    def draw(chance):
        size = drawn(curve, chance.random())
        return size * second_a_byte, round(size / args.scale)

    return poisson_arrivals.schedule(seed, real_servers.rate(args), args.warm + args.seconds, draw)


def in_progress(answers, servers, begun, seconds):
    """Queries at each server at each second of the run."""
    series = {name: [0] * int(seconds) for name in servers}
    for each in answers:
        for second in range(int(seconds)):
            series[each["server"]][second] += each["at"] <= begun + second < each["at"] + each["seconds"]
    return series


def deviation(values):
    return statistics.pstdev(values) / statistics.mean(values)


def windows(answers, servers, args):
    """The deviation over servers, over the mean, of the work that came to each within some seconds; their mean."""
    found = []
    for number in range(int(args.seconds // WINDOW)):
        begun = args.warm + number * WINDOW
        work = dict.fromkeys(servers, 0.0)
        for each in answers:
            if begun <= each["at"] < begun + WINDOW:
                work[each["server"]] += each["work"]
        if any(work.values()):
            found.append(deviation(work.values()))
    return statistics.mean(found) if found else None


def measure(up, name, args, seed):
    found, run = up.run(name, queries(args, seed))
    answers, failed = real_servers.answered(found, args.warm, f"{name}, seed {seed}")
    servers = [server.name for server in up.lab.servers.values()]
    by_server = {name: [each["seconds"] for each in answers if each["server"] == name] for name in servers}
    work = [sum(each["work"] for each in answers if each["server"] == name) for name in servers]
    everything = [each for each in found if "error" not in each]
    series = in_progress(everything, servers, args.warm, args.seconds)
    return {
        "seed": seed,
        "answers": len(answers),
        "failed": failed,
        "completion": real_servers.times([each["seconds"] for each in answers]),
        "meanByServer": {name: statistics.mean(times) for name, times in by_server.items() if times},
        "workDeviation": deviation(work),
        "windowDeviation": windows(answers, servers, args),
        "inProgressDeviation": statistics.mean(
            statistics.pstdev(counts) for counts in zip(*series.values(), strict=True)
        ),
        "inProgress": series,
        **run,
    }


def summary(rows, ones):
    means = [sorted(row["meanByServer"].values()) for row in rows]
    return {
        "completion": {key: statistics.mean(row["completion"][key] for row in rows) for key in rows[0]["completion"]},
        "ratioBySeed": [
            row["completion"]["mean"] / one["completion"]["mean"] for row, one in zip(rows, ones, strict=True)
        ],
        "ratio": statistics.mean(row["completion"]["mean"] for row in rows)
        / statistics.mean(one["completion"]["mean"] for one in ones),
        "fastestServer": statistics.mean(each[0] for each in means),
        "slowestServer": statistics.mean(each[-1] for each in means),
        **{key: statistics.mean(row[key] for row in rows) for key in DEVIATIONS},
        "used": statistics.mean(statistics.mean(row["used"]) for row in rows),
        "failed": sum(row["failed"] for row in rows),
    }


def show(result):
    head = ("mean s", "median", "95 %", "99 %", "of one", "by server", "", "work", f"{WINDOW} s", "queries", "failed")
    print(f"\n{'':15s}" + "".join(f"{word:>10s}" for word in head))
    for name, row in result["methods"].items():
        cells = [f"{row['completion'][key]:10.3f}" for key in ("mean", "median", "percentile95", "percentile99")]
        cells += [f"{row[key]:10.3f}" for key in ("ratio", "fastestServer", "slowestServer")]
        cells += [f"{row['workDeviation']:10.1%}", f"{row['windowDeviation']:10.1%}"]
        cells += [f"{row['inProgressDeviation']:10.2f}", f"{row['failed']:10d}"]
        print(f"{name:15s}" + "".join(cells))
    print(
        "\nby server: the mean of the fastest and of the slowest one; work: standard deviation over the servers, over"
        f"\ntheir mean, in a whole run and in {WINDOW} s; queries: deviation of those in progress, at each second"
    )


def draw(result, path):
    """Mean completion times by server, and what the busiest server and all in the mean have in progress over time."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    for name, method in result["methods"].items():
        run = method["runs"][0]
        means = sorted(run["meanByServer"].values())
        left.plot(range(1, len(means) + 1), means, "o-", color=COLOURS[name], markersize=3, linewidth=1, label=name)
        counts = list(zip(*run["inProgress"].values(), strict=True))
        right.plot([max(each) for each in counts], color=COLOURS[name], linewidth=1.1, label=f"{name}: most")
        right.plot([statistics.mean(each) for each in counts], color=COLOURS[name], linewidth=0.8, linestyle=":")
    left.set_xlabel("servers, the fastest first")
    left.set_ylabel("mean completion time, s")
    left.set_ylim(bottom=0)
    left.legend(frameon=False, fontsize=8)
    right.set_xlabel("seconds; dotted: the mean of all servers")
    right.set_ylabel("queries in progress at a server")
    right.legend(frameon=False, fontsize=8)
    save(figure, path)


def main():
    mpl.use("svg")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    real_servers.add_arguments(parser)
    parser.add_argument("--scale", type=float, default=16, help="answers have the sizes' bytes over this (default 16)")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "maat_servers.json")
    args = parser.parse_args()
    real_servers.check_arguments(args)
    if args.scale < 1:
        die(f"--scale: {args.scale:g} is not allowed; allowed: 1 and more")
    runs = {name: [] for name in METHODS}
    with real_servers.servers(args, BUSY) as up:
        for number, settings in enumerate(METHODS.values()):
            up.service(f"service{number}", **settings)
        for seed in range(args.seed, args.seed + args.seeds):
            for number, name in enumerate(METHODS):
                row = measure(up, f"service{number}", args, seed)
                runs[name].append(row)
                print(
                    f"seed {seed}, {name}: mean {row['completion']['mean']:.3f} s, deviation of work"
                    f" {row['workDeviation']:.1%}, machine {row['idle']:.0%} idle",
                    flush=True,
                )
    result = {"benchmark": "maat_servers", **real_servers.parameters(args), "sizes": SIZES, "scale": args.scale}
    result["methods"] = {name: summary(rows, runs[ONE]) | {"runs": rows} for name, rows in runs.items()}
    show(result)
    keep(args.json, result, indent=None)
    print(f"\n{args.json} has every run")
    draw(result, args.json.with_suffix(".svg"))


if __name__ == "__main__":
    main()
