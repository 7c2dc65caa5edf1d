# SPDX-License-Identifier: Apache-2.0
"""The P4 mux at speed, in one run, beside the C mux and DPDK's own forwarder.

    net_pcap -> p4 mux interpreted, p4 mux compiled, mux, dpdk-testpmd's macswap -> net_null

As the part of bench/run mux that goes through ports, whose rounds, clocks and packets these are: 64 bytes, one service
with SipHash, ratios of processor time by rounds. The P4 mux is bench/mux/still_p4mux: the program's own ports, workers,
tables and pipelines, with a ring that does not come from ZooKeeper. Needs a build with -Dp4_compiled=true.

Writes JSON.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import tempfile

from bench.lib.command import ROOT, cpu_model, die, keep
from bench.mux import mux

MILLION = 1 << 20


class P4Mux(mux.Mux):
    """Counts packets as the C mux does; all of them must have gone through the pipeline."""

    program = "bench/mux/still_p4mux"
    memory = 1024

    def __init__(self, args, vdevs, pipeline, **settings):
        self.options = ["--pipeline", pipeline]
        super().__init__(args, vdevs, **settings)

    def count(self):
        counts = self.ask()
        past = counts["service"] - counts["pipeline"]
        if past > counts["service"] // 100:
            die(f"{past} of {counts['service']} packets did not go through the pipeline")
        return counts["service"]


def modes():
    """What takes turns: a name, and how to start it."""
    shapes = {
        "": {}, ", 1 M buckets": {"buckets": MILLION}, ", changes": {"changes": True},
        ", 1 M buckets, changes": {"buckets": MILLION, "changes": True}, ", two cores": {"workers": 2},
    }  # fmt: skip
    found = {}
    for shape, settings in shapes.items():
        found["mux" + shape] = lambda args, vdevs, settings=settings: mux.Mux(args, vdevs, **settings)
        for pipeline in ("interpreted", "compiled"):
            found[pipeline + shape] = lambda args, vdevs, pipeline=pipeline, settings=settings: P4Mux(
                args, vdevs, pipeline, **settings
            )
    found["macswap"] = lambda args, vdevs: mux.Testpmd(args, vdevs, "macswap")
    return found


def measure_all(args):
    with tempfile.TemporaryDirectory(prefix="p4.") as folder:
        args.log, args.pcap = f"{folder}/log", f"{folder}/flows.pcap"
        mux.write_pcap(args.pcap, args.flows, args.seed)
        vdevs = (f"net_pcap0,rx_pcap={args.pcap},infinite_rx=1", "net_null0,no-rx=1")
        starts = modes()
        names, runs = list(starts), {name: [] for name in starts}
        for number in range(args.rounds):
            at = number % len(names)
            for name in names[at:] + names[:at]:
                runs[name].append(mux.measure(args, starts[name], vdevs))
        profiles = {name: mux.profile(args, starts[name], vdevs) for name in ("interpreted", "compiled")}
    medians = {n: {k: statistics.median(r[k] for r in runs[n]) for k in ("wall", "cpu", "share")} for n in names}
    kinds = ("interpreted", "compiled")
    wanted = [(name, name.replace(kind, "mux")) for kind in kinds for name in names if kind in name]
    wanted += [("compiled", "interpreted"), ("compiled", "macswap"), ("mux", "macswap")]
    wanted += [(f"{kind}{shape}", kind) for kind in ("mux", *kinds) for shape in (", changes", ", two cores")]
    return {
        "rounds": args.rounds, "seconds": args.seconds, "flows": args.flows, "unit": "packets per second",
        "median": medians, "ratios": {f"{a} / {b}": mux.ratios(runs, a, b) for a, b in wanted},
        "runs": runs, "profiles": profiles,
    }  # fmt: skip


def report(result):
    print(f"\nthrough ports, 64 bytes, {result['flows']} flows, {result['rounds']} rounds\n")
    print(f"{'':36s} Mpps of core time   (lowest..highest)   ns a packet   cores had")
    for name, median in result["median"].items():
        rates = [run["cpu"] / 1e6 for run in result["runs"][name]]
        print(
            f"{name:36s} {median['cpu'] / 1e6:17.2f}   {min(rates):7.2f}..{max(rates):<7.2f}"
            f" {1e9 / median['cpu']:13.1f} {median['share']:10.0%}"
        )
    print("\nratios of core time, median of the rounds (lowest..highest):")
    for name, ratio in result["ratios"].items():
        print(f"  {name:60s} {ratio['median']:.2f} ({ratio['low']:.2f}..{ratio['high']:.2f})")
    for name, lines in result["profiles"].items():
        print(f"\ntop ten, {name}:")
        for line in lines:
            print("  " + line)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help="Meson's build directory")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--warm-up", type=float, default=0.5)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--backends", type=int, default=256)
    parser.add_argument("--flows", type=int, default=4096, help="net_pcap has no more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    if args.rounds < 1:
        die(f"--rounds: {args.rounds} is not allowed; allowed: 1 or more")
    if len(os.sched_getaffinity(0)) < 2:
        die("needs two cores: testpmd does not forward on its first one")
    for program in ("mux/tests/still_mux", "bench/mux/still_p4mux", "p4/compiled/mux_run.c"):
        if not (args.build / program).exists():
            die(f"--build: {args.build} has no {program}; build it first, with -Dp4_compiled=true")
    if not shutil.which(mux.TESTPMD):
        die(f"{mux.TESTPMD} is not installed; scripts/install-deps does that")
    return args


def main():
    args = parse()
    result = {
        "benchmark": "p4", "cpu": cpu_model(), "seed": args.seed, "backends": args.backends, "frame_bytes": 64,
        **measure_all(args),
    }  # fmt: skip
    report(result)
    if args.json:
        keep(args.json, result)


if __name__ == "__main__":
    main()
