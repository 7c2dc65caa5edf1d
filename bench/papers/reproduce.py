# SPDX-License-Identifier: Apache-2.0
"""
Redraws the papers' figures with their own numbers beside ours: runs the benchmarks, draws, and writes
docs/research/reproduction.md.

It continues where it was interrupted: finished benchmarks are kept in a folder and run again only with --again.
Prepare with scripts/install-deps, lab/build, and `meson setup build/bench --buildtype=release && ninja -C build/bench`.
Run it as root, on an otherwise idle machine; the lab's benchmarks get network namespaces of their own.
"""

import argparse
import json
import os
import pathlib
import signal
import sys

from bench.lib.command import RESULTS, ROOT, die, keep
from bench.lib.figure import draw
from bench.papers import page, redrawn
from bench.papers.redrawn import CANNOT, beamer, concury, kth, maat, sixlb
from bench.papers.steps import STEPS, Interrupted, State, commit, kept_commit, machine

FIGURES = (*beamer.FIGURES, *concury.FIGURES, *maat.FIGURES, *sixlb.FIGURES, *kth.FIGURES)
PAGE = ROOT / "docs/research/reproduction.md"
KEPT = RESULTS / "reproduce"


def choose(words):
    """The figures that --only names: paper, or paper/figure; a space in a figure's name may be a hyphen."""
    if not words:
        return list(FIGURES)
    wanted = [word.replace(" ", "-") for each in words for word in each.split(",") if word]
    names = {figure.name for figure in FIGURES} | {figure.paper for figure in FIGURES}
    for word in wanted:
        if word not in names:
            papers = ", ".join(dict.fromkeys(figure.paper for figure in FIGURES))
            die(f"--only: '{word}' is not allowed; allowed: {papers}, or one of --list")
    return [figure for figure in FIGURES if figure.name in wanted or figure.paper in wanted]


def show_list(figures):
    print(f"{'figure':22s} {'state':10s} {'benchmarks':40s} what")
    for figure in figures:
        print(f"{figure.name:22s} {figure.state:10s} {', '.join(figure.steps):40s} {figure.title}")


def label(number):
    if number.startswith("Table"):
        return number
    return f"section {number}" if number.startswith("6.") else f"Figure {number}"


class Results:
    """Each step's result: of this run, else what was kept in bench/results."""

    def __init__(self, state, failed):
        self.state, self.failed, self.known = state, failed, {}

    def __getitem__(self, name):
        """(result, note); KeyError with a reason if there is neither."""
        if name not in self.known:
            self.known[name] = self.find(name)
        return self.known[name]

    def folder(self, name):
        """Where a step's own drawings are."""
        return RESULTS if self[name][1]["kept"] else self.state.place(STEPS[name])

    def find(self, name):
        step, kept = STEPS[name], RESULTS / f"{name}.json"
        note = self.state and self.state.done(step)
        if note:
            return self.state.result(step), note | {"kept": False}
        if name in self.failed:
            raise KeyError(f"{name} failed: {self.failed[name]}")
        if not kept.exists():
            raise KeyError(f"{name} has not run, and no results of it were kept")
        note = {"step": name, "words": [], "commit": kept_commit(kept), "kept": True}
        return json.loads(kept.read_text()), note


def rounded(value):
    """Six digits are more than any measurement here has."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def shown(path):
    """A path as results name it: within the tree, or as it is."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def redraw(figure, results, paper, folder):
    """The entry of one figure, with its SVG and JSON in `folder`."""
    entry = {
        "paper": figure.paper, "figure": figure.number, "name": figure.name, "label": label(figure.number),
        "title": figure.title, "state": figure.state, "svg": None, "data": None, "steps": [], "compared": [],
        "why": figure.why, "reason": figure.reason, "standsIn": figure.stands_in,
        "read": paper["figures"].get(figure.number, {}).get("read", "no data file has this figure"),
    }  # fmt: skip
    if not figure.steps:
        return entry
    try:
        found = {name: results[name] for name in figure.steps}
    except KeyError as error:
        return entry | {"state": CANNOT, "reason": f"{error.args[0]}."}
    entry["steps"] = [note for _, note in found.values()]
    try:
        panels, rows = figure.draw({name: result for name, (result, _) in found.items()}, stated(paper, figure))
    except (KeyError, IndexError, ValueError, StopIteration, ZeroDivisionError, AttributeError) as error:
        reason = f"the results of {', '.join(figure.steps)} are not as expected: {error!r}"
        return entry | {"state": CANNOT, "reason": f"{reason}."}
    name = figure.name.replace("/", "_").replace(".", "_")
    svg, data = folder / f"{name}.svg", folder / f"{name}.json"
    if isinstance(panels, str):  # the benchmark's own drawing
        source = results.folder(figure.steps[0]) / panels
        if not source.exists():
            return entry | {"state": CANNOT, "reason": f"{figure.steps[0]} has not drawn {panels}."}
        svg.write_text(source.read_text())
        panels = []
    else:
        draw(panels, svg)
    entry["compared"] = [row.to_json() for row in rows]
    seeds = {name: result.get("seed") for name, (result, _) in found.items()}
    kept = rounded(entry | {"panels": [p.to_json() for p in panels], "seeds": seeds})
    data.write_text(json.dumps(kept, separators=(",", ":")) + "\n")
    return entry | {"svg": shown(svg), "data": shown(data), "seeds": seeds}


def stated(paper, figure):
    return redrawn.Stated(paper["figures"][figure.number])


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="everything at its smallest: minutes, not hours")
    parser.add_argument("--kept", action="store_true", help="run nothing: draw the results kept in bench/results")
    parser.add_argument("--list", action="store_true", help="list the figures and their benchmarks, and end")
    parser.add_argument("--only", nargs="+", metavar="FIGURE", help="of these papers or figures, as --list names them")
    parser.add_argument("--again", action="store_true", help="run benchmarks again that finished before")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write what was drawn and compared")
    parser.add_argument("--state", type=pathlib.Path, default=ROOT / "build/reproduce", help="where finished runs are")
    parser.add_argument(
        "--page", type=pathlib.Path, help="default docs/research/reproduction.md; quick or --only: in --state"
    )
    args = parser.parse_args()
    if args.quick and args.kept:
        die("--kept: is not allowed with --quick; allowed: one of the two")
    if args.again and args.kept:
        die("--again: is not allowed with --kept, which runs nothing; allowed: one of the two")
    for name in ("json", "page"):
        path = getattr(args, name)
        if path and not path.parent.is_dir():
            die(f"--{name}: {path.parent} is no folder; allowed: a file in a folder that exists")
    if args.state.exists() and not args.state.is_dir():
        die(f"--state: {args.state} is no folder; allowed: a folder, or a name that is free")
    return args


def interrupt(number, frame):
    raise Interrupted


def run(args, figures, mode):
    """Runs the benchmarks of these figures; returns their state and what failed."""
    state = State((args.state / mode).resolve(), args.quick)
    state.folder.mkdir(parents=True, exist_ok=True)
    names = dict.fromkeys(name for figure in figures for name in figure.steps)
    steps = [STEPS[name] for name in names if STEPS[name].words(args.quick) is not None]
    for name in names:
        if STEPS[name].words(args.quick) is None:
            print(f"{name}: is not part of a quick run; kept results are drawn", flush=True)
    if args.again:
        state.forget(steps)
    return state, state.run(steps)


def main():
    args = parse()
    figures = choose(args.only)
    if args.list:
        show_list(figures)
        return
    papers = redrawn.papers()
    mode = "kept" if args.kept else "quick" if args.quick else "full"
    signal.signal(signal.SIGTERM, interrupt)
    try:
        state, failed = (None, {}) if args.kept else run(args, figures, mode)
    except (Interrupted, KeyboardInterrupt):
        die("interrupted; the same command continues with what has not finished")
    whole = mode != "quick" and not args.only
    folder = KEPT if whole else (args.state / mode / "figures").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(state, failed)
    entries = [redraw(figure, results, papers[figure.paper], folder) for figure in figures]
    result = {
        "benchmark": "reproduce", "mode": mode, "machine": machine(), "commit": commit(),
        "load": round(os.getloadavg()[0], 1), "papers": {name: paper["source"] for name, paper in papers.items()},
        "failed": failed, "figures": entries,
    }  # fmt: skip
    target = args.page or (PAGE if whole else args.state / mode / "reproduction.md")
    target.write_text(page.page(result, target.resolve().parent))
    print(target)
    if args.json:
        keep(args.json, result)
        print(args.json)
    for entry in entries:
        agree = sum(row["agrees"] for row in entry["compared"])
        print(f"{entry['name']:22s} {entry['state']:10s} {agree} of {len(entry['compared'])} numbers agree")
    for name, reason in failed.items():
        print(f"reproduce: {name} failed: {reason}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except redrawn.PaperError as error:
        die(str(error))
