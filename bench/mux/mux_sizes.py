# SPDX-License-Identifier: Apache-2.0
"""Forwarding by one core with packets of several sizes: the mux, a stateful mux, dpdk-testpmd's macswap and io.

    net_pcap, repeats packets of one size -> mux | stateful mux | macswap | io -> net_null

As the part of bench/run mux that goes through ports, whose rounds, clocks and programs these are: one service with
65,536 buckets and SipHash. In a round each forwarder gets each size once, in a rotating order. Sizes are of frames,
without the checksum that a wire adds. net_pcap copies each packet, where a card would write it by itself, so the time
of larger packets is mostly that copy: `io`, which does nothing else, is the floor. No wire limits anything.

Writes JSON (Beamer's Figure 13).
"""

import argparse
import os
import pathlib
import shutil
import statistics
import tempfile

from bench.lib.command import ROOT, cpu_model, die, keep
from bench.mux import mux

SIZES = "64,128,256,512,1024,1500"
LEAST, MOST = 64, 1500


MODES = ("mux", "stateful", "macswap", "io")  # of bench/run mux


def run(args):
    """By mode and size the runs of all rounds."""
    turns = [(mode, size) for size in args.sizes for mode in MODES]
    runs = {turn: [] for turn in turns}
    with tempfile.TemporaryDirectory(prefix="mux.") as folder:
        args.log = f"{folder}/log"
        for size in args.sizes:
            mux.write_pcap(f"{folder}/{size}.pcap", args.flows, args.seed, size)
        for number in range(args.rounds):
            at = number * len(turns) // args.rounds
            for mode, size in turns[at:] + turns[:at]:
                args.pcap = f"{folder}/{size}.pcap"
                vdevs = (f"net_pcap0,rx_pcap={args.pcap},infinite_rx=1", "net_null0,no-rx=1")
                begin = lambda args, vdevs, mode=mode: mux.start_mode(args, vdevs, mode)  # noqa: E731
                runs[mode, size].append(mux.measure(args, begin, vdevs))
            print(f"round {number + 1} of {args.rounds}", flush=True)
    return runs


def summary(runs, sizes):
    """Medians, each with its gigabits of frames a second, and the mux's ratios to the others, round by round."""
    rows = []
    for size in sizes:
        row = {"bytes": size}
        for mode in MODES:
            found = [each["cpu"] for each in runs[mode, size]]
            rate = statistics.median(found)
            row[mode] = {"cpu": rate, "gigabits": rate * size * 8 / 1e9, "low": min(found), "high": max(found)}
            row[mode]["wall"] = statistics.median(each["wall"] for each in runs[mode, size])
        row["ratios"] = {
            other: mux.ratios({mode: runs[mode, size] for mode in MODES}, "mux", other) for other in MODES[1:]
        }
        rows.append(row)
    return rows


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help="Meson's build directory")
    parser.add_argument("--sizes", default=SIZES, help=f"bytes of frames (default {SIZES})")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--warm-up", type=float, default=0.3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--backends", type=int, default=256)
    parser.add_argument("--flows", type=int, default=4096, help="net_pcap has no more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    try:
        args.sizes = [int(word) for word in args.sizes.split(",")]
    except ValueError:
        die(f"--sizes: '{args.sizes}' is not allowed; allowed: numbers, separated by commas")
    if args.sizes != sorted(set(args.sizes)) or not all(LEAST <= size <= MOST for size in args.sizes):
        die(f"--sizes: {args.sizes} is not allowed; allowed: {LEAST}..{MOST}, ascending")
    if args.rounds < 1:
        die(f"--rounds: {args.rounds} is not allowed; allowed: 1 or more")
    if len(os.sched_getaffinity(0)) < 2:
        die("needs two cores: testpmd does not forward on its first one")
    if not (args.build / "mux/tests/still_mux").exists():
        die(f"--build: {args.build} has no mux/tests/still_mux; build it first")
    if not shutil.which(mux.TESTPMD):
        die(f"{mux.TESTPMD} is not installed; scripts/install-deps does that")
    return args


def main():
    args = parse()
    runs = run(args)
    rows = summary(runs, args.sizes)
    result = {
        "benchmark": "mux_sizes", "cpu": cpu_model(), "seed": args.seed, "backends": args.backends,
        "flows": args.flows, "rounds": args.rounds, "seconds": args.seconds, "unit": "packets per second of core time",
        "sizes": rows, "runs": [{"mode": mode, "bytes": size, "runs": each} for (mode, size), each in runs.items()],
    }  # fmt: skip
    print(f"\n{'bytes':>6s}" + "".join(f"{mode:>20s}" for mode in MODES) + "   mux / stateful, macswap, io")
    for row in rows:
        cells = "".join(f"{row[m]['cpu'] / 1e6:9.2f} M{row[m]['gigabits']:6.1f} Gb" for m in MODES)
        print(f"{row['bytes']:6d}{cells}   " + ", ".join(f"{row['ratios'][o]['median']:.2f}" for o in MODES[1:]))
    if args.json:
        keep(args.json, result)


if __name__ == "__main__":
    main()
