# SPDX-License-Identifier: Apache-2.0
"""Which connections lose their server when servers are removed or added: 6LB's Figures 7 and 11d, and Fairlead's ring.

One choice, 6LB's table of candidates (Algorithm 3), and two buckets of a ring by the controller's own classes. Exact
or drawn at random with a seed, so the same on every machine. Needs the controller's jar: mvn -q package -DskipTests.
"""

import argparse
import pathlib
import statistics

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench.lib.command import RESULTS, die, keep
from bench.lib.figure import save
from bench.papers import hunt_run

PRINTED = (1, 2, 3, 4, 8, 16, 30)
PAPER_K, PAPER_GAIN = 8, -0.44


def means(rows):
    return [statistics.mean(draws) for draws in rows]


def show(result):
    figure = result["figure7"]
    for change in ("removed", "added"):
        print(f"\nconnections of remaining servers without their server, % ({change} of {figure['servers']:,})\n")
        counts = [(n, k) for n, k in enumerate(figure["changed"]) if k in PRINTED]
        print(f"{'':44s}" + "".join(f"{k:8d}" for _, k in counts))
        series = {name: means(rows) for name, rows in figure[change].items()}
        for name, rates in series.items():
            print(f"{name:44s}" + "".join(f"{100 * rates[n]:8.2f}" for n, _ in counts))
        gains = [series["Algorithm 3"][n] / series["one choice"][n] - 1 for n, _ in counts]
        print(f"{'Algorithm 3 against one choice':44s}" + "".join(f"{gain:8.1%}" for gain in gains))
    print(f"\nin the paper: {PAPER_GAIN:.0%} for {PAPER_K} removed servers")
    figure = result["figure11d"]
    print(f"\n% of {figure['connections']:,} long connections reset, {figure['servers']} servers (Figure 11d)\n")
    print(f"{'removed':44s}" + "".join(f"{k:8d}" for k in figure["changed"]))
    for name, rows in figure["resets"].items():
        print(f"{name:44s}" + "".join(f"{100 * rate:8.2f}" for rate in means(rows)))


def draw(result, path):
    plot, (removed, added, resets) = plt.subplots(1, 3, figsize=(10, 3.4))
    figure = result["figure7"]
    for axes, change in ((removed, "removed"), (added, "added")):
        for name, rows in figure[change].items():
            style = "--" if "former" in name else "-"
            axes.plot(figure["changed"], [100 * rate for rate in means(rows)], style, label=name)
        axes.set_xlabel(f"servers {change}, of {figure['servers']:,}")
    removed.set_ylabel("connections without their server, %")
    removed.legend(frameon=False, fontsize=6)
    figure = result["figure11d"]
    for name, rows in figure["resets"].items():
        if "on removed" not in name:
            resets.plot(figure["changed"], [100 * rate for rate in means(rows)], marker=".", label=name)
    resets.set_xlabel(f"servers removed, of {figure['servers']}")
    resets.set_ylabel("connections of others reset, %")
    resets.legend(frameon=False, fontsize=6)
    save(plot, path)


def main():
    mpl.use("svg")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=20, help="of permutations and changed servers (default 20)")
    parser.add_argument("--small", action="store_true", help="100 servers, 4,096 buckets, only 3 of them changed")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "hunt_candidates.json")
    args = parser.parse_args()
    if args.draws < 1:
        die(f"--draws: {args.draws} is not allowed; allowed: 1 and more")
    figures = hunt_run.run("CandidateFigures", args.seed, args.draws, "small" if args.small else "full")
    result = {"benchmark": "hunt_candidates", "seed": args.seed, **figures}
    show(result)
    keep(args.json, result, indent=None)
    print(f"\n{args.json} has every figure")
    draw(result, args.json.with_suffix(".svg"))


if __name__ == "__main__":
    main()
