# SPDX-License-Identifier: Apache-2.0
"""Tables for flow state beside the stateless mux: operations by load, sharing between cores, memory, delay.

    flow_state ops       ns of each operation of each table, by load up to and beyond its capacity, and its memory
    flow_state packets   Mpps of threads that do the mux's work on packets and look up their flows: a table for each
                         core, or one for all behind a mutex or a readers-writer lock, or without locks
    flow_state delay     how long each burst of packets takes, fed into a queue with Poisson arrivals

Rows take turns; a row's figure is the median of its rounds, a ratio the median of each round's own. Figures for 4 and 8
cores are a model. Draws the counterparts of Figures 5.1 to 5.7 of the KTH report beside its JSON, and prints the tables
of docs/research/flow-tables.md; --page puts them there.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

from bench.lib.command import ROOT, die, git, keep, load
from bench.mux import flow_tables_model as model
from bench.mux import flow_tables_plots as plots
from bench.mux import flow_tables_text as text

LOADS = [10, 30, 50, 65, 70, 80, 90, 95, 100, 110, 120]
SHARED = ["rte_hash", "rte_hash, lock-free", "Cuckoo++", "std::unordered_map", "hopscotch", "absl::flat_hash_map"]
SHARED += ["libcuckoo"]
FULL = {"slots_bits": 20, "rounds": 11, "slice_ms": 20, "loads": LOADS, "sizes": [12, 16, 22]}
QUICK = {"slots_bits": 18, "rounds": 5, "slice_ms": 20, "loads": [30, 65, 80, 95, 100, 120], "sizes": [12]}
NEEDED = (65, 80, 95)  # loads that tables and figures name
MB_OF_SLOT = 1.2e-4  # DPDK's memory for a slot in one table, with room


def flow_state(args, part, **options):
    """Rows of flow_state; malloc's memory is on transparent huge pages, as DPDK's is."""
    command = [args.build / "bench/mux/flow_state", part]
    for name, value in options.items():
        command += ["--" + name.replace("_", "-"), ",".join(map(str, value)) if isinstance(value, list) else value]
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    print("flow_tables: " + " ".join(str(word) for word in command[1:]), file=sys.stderr)
    done = subprocess.run([str(word) for word in command], capture_output=True, env=environment, check=False)
    if done.returncode:
        die(f"{' '.join(map(str, command))} failed: {done.stderr.decode(errors='replace').strip()[-400:]}")
    return json.loads(done.stdout)


def memory(bits, tables):
    return max(512, int(tables * (1 << bits) * MB_OF_SLOT) + 256)


def measure(args):
    common = {"seed": args.seed, "runs": args.rounds}
    at = {**common, "slots_bits": args.slots_bits}
    shared = {
        "threads": 2, "slice_ms": args.slice_ms, "tables": ";".join(SHARED), "memory": memory(args.slots_bits, 22),
    }  # fmt: skip
    ops = flow_state(args, "ops", **at, loads=args.loads, memory=memory(args.slots_bits, 4))
    commit = git("describe", "--always", "--dirty", "--abbrev=12") or "unknown"
    sizes = {bits: {**common, "slots_bits": bits, "memory": memory(bits, 4)} for bits in args.sizes}
    return {
        "benchmark": "flow_tables", "cpu": ops["cpu"], "commit": commit, "seed": args.seed, "rounds": args.rounds,
        "slots": 1 << args.slots_bits, "capacity": ops["capacity"], "cycles_per_ns": ops["cycles_per_ns"],
        "model": model.STATEMENT, "loads": args.loads,
        "ops": ops["rows"],
        "sizes": {
            str(bits): flow_state(args, "ops", **options, loads=[80])["rows"] for bits, options in sizes.items()
        } | {str(args.slots_bits): [row for row in ops["rows"] if row["load"] == 80]},
        "packets": flow_state(args, "packets", **at, **shared, loads=args.loads)["rows"],
        "short": flow_state(args, "packets", **at, **shared, loads=[80], packets_per_flow=20)["rows"],
        "delay": flow_state(args, "delay", **at, **shared, loads=[65, 95])["rows"],
    }  # fmt: skip


def numbers(name, low, high):
    def parse(words):
        try:
            values = [int(word) for word in words.split(",")]
        except ValueError:
            values = []
        if not values or values != sorted(values) or not all(low <= value <= high for value in values):
            die(f"{name}: '{words}' is not allowed; allowed: whole numbers of {low} to {high}, ascending, with commas")
        return values

    return parse


def number(name, low, high):
    def parse(word):
        if not word.isascii() or not word.isdigit() or not low <= int(word) <= high:
            die(f"{name}: '{word}' is not allowed; allowed: {low} to {high}")
        return int(word)

    return parse


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help="Meson's build directory")
    parser.add_argument("--quick", action="store_true", help="smaller tables, fewer rounds and loads: a minute")
    parser.add_argument("--seed", type=number("--seed", 1, (1 << 23) - 1), default=1)
    parser.add_argument("--rounds", type=number("--rounds", 1, 101), help="of each row, in turns")
    parser.add_argument("--slots-bits", type=number("--slots-bits", 10, 24), help="2^N slots in a table")
    parser.add_argument("--slice-ms", type=number("--slice-ms", 1, 10000), help="a turn of threads")
    parser.add_argument("--loads", type=numbers("--loads", 1, 200), help="percent of a table's capacity")
    parser.add_argument("--sizes", type=numbers("--sizes", 10, 24), help="other sizes, as --slots-bits")
    parser.add_argument("--from", dest="kept", type=pathlib.Path, help="draws and prints a kept JSON; measures nothing")
    parser.add_argument("--page", type=pathlib.Path, help="whose marked block becomes the printed tables")
    parser.add_argument("--json", type=pathlib.Path, help="the figures stand beside it")
    args = parser.parse_args()
    for name, value in (QUICK if args.quick else FULL).items():
        if getattr(args, name, None) is None:
            setattr(args, name, value)
    if missing := [load for load in NEEDED if load not in args.loads]:
        die(f"--loads: {args.loads} has not {missing}; allowed: any that include {list(NEEDED)}")
    if args.kept:
        return args
    if len(os.sched_getaffinity(0)) < 2:
        die("needs two processors; allowed: a machine, or an affinity, with at least 2")
    if not (args.build / "bench/mux/flow_state").exists():
        die(f"--build: {args.build} has no bench/mux/flow_state; allowed: where `ninja bench/mux/flow_state` was run")
    return args


def main():
    args = parse()
    result = load(args.kept, "--from", "allowed: what --json wrote") if args.kept else measure(args)
    report = load(ROOT / "bench/papers/data/flow_tables.json")
    summary = model.Summary(result)
    block = text.block(result, summary, report)
    print(block)
    if args.json:
        keep(args.json, model.rounded(result), indent=None)
        plots.draw(summary, report, args.json.parent)
    if args.page:
        text.replace(args.page, block)


if __name__ == "__main__":
    main()
