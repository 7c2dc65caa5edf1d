# SPDX-License-Identifier: Apache-2.0
"""
Connections that break when the pool shrinks: by buckets and by a table of flows, in a lab with real TCP clients.

Beamer (NSDI '18, 6.2), two tables. `scaling`: two muxes and eight servers; some servers are drained, then a mux dies.
`flood`: a SYN flood runs, then clients connect, then some servers are drained; the muxes stay. Stateful is the mux
with a table of flows (mux/flowtable), without chaining by servers. It drops no entry for a new one: its table is full
of the flood when the clients come, where the paper's table loses the entries of clients that came before. Run as root
under `unshare --net --mount`, as the lab's tests by hand (CONTRIBUTING.md); run lab/build first.
"""

import argparse
import os
import pathlib
import statistics

from bench.lib.command import RESULTS, die, keep
from bench.papers import stateful
from lab.deadline import until
from lab.lab import Lab
from lab.variant import USUAL

SERVERS, MUXES = 8, 2
METHODS = ("Beamer", "Stateful")
FLOOD_RATE = 15_000
FLOOD_BEFORE = 4  # seconds in which the table fills
TABLE = 4096  # flows a worker, in the flood: fewer than arrive before the clients do
LONG_TABLE = 65_536


def run(method, removed, flood, args):
    """Broken connections of one lab; each begins with muxes and servers of its own."""
    variant = stateful.variant(TABLE if flood else LONG_TABLE) if method == "Stateful" else USUAL
    with Lab(servers=SERVERS, muxes=MUXES, window=120, variant=variant) as lab:
        attack = lab.syn_flood(FLOOD_RATE, args.flood) if flood else None
        with lab.traffic(0, short_rate=20) as before:
            before.wait_seconds(FLOOD_BEFORE if flood else 1)
        with lab.traffic(args.connections, short_rate=0) as traffic:
            traffic.wait_open()
            traffic.wait_seconds(2)
            if removed:
                lab.weights(dict.fromkeys(sorted(lab.servers)[:removed], 0))
                lab.wait_applied()
            traffic.wait_seconds(3)
            if not flood:
                mux = lab.running_muxes()[0]
                mux.kill()
                until(f"the route loses {mux.name}", lambda: mux.address not in lab.router.vip_hops(), 60)
            traffic.wait_seconds(3)
            traffic.wait_quiet()
        packets = attack.finish(args.flood + 60)[-1]["packets"] if attack else 0
        total = traffic.total
        row = {
            "broken": total["broken"], "connections": total["connections"], "requests": total["requests"],
            "kinds": total["by_kind"], "floodPackets": packets, "chained": lab.chained_packets(),
        }  # fmt: skip
    what = "flood" if flood else "scaling"
    print(f"{what}, {method}, {removed} drained: {row['broken']} of {args.connections} broke", flush=True)
    return row


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--connections", type=int, default=700, help="held by the clients (default 700, the paper's)")
    parser.add_argument("--removed", default="0,1,2,4", help="servers that are drained (default 0,1,2,4)")
    parser.add_argument("--runs", type=int, default=1, help="of each number (default 1)")
    parser.add_argument("--flood", type=float, default=40, help="seconds of the flood (default 40)")
    parser.add_argument("--quick", action="store_true", help="100 connections, one run, 2 servers")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "affinity.json")
    args = parser.parse_args()
    if args.quick:
        args.connections, args.removed, args.runs = 100, "2", 1
    try:
        args.removed = [int(word) for word in args.removed.split(",")]
    except ValueError:
        die(f"--removed: '{args.removed}' is not allowed; allowed: numbers, separated by commas")
    if not all(0 <= number < SERVERS for number in args.removed):
        die(f"--removed: {args.removed} is not allowed; allowed: 0..{SERVERS - 1}")
    if not 2 <= args.connections <= 4000:
        die(f"--connections: {args.connections} is not allowed; allowed: 2..4000")
    if args.runs < 1:
        die(f"--runs: {args.runs} is not allowed; allowed: 1 or more")
    if not 20 <= args.flood <= 60:
        die(f"--flood: {args.flood:g} is not allowed; allowed: 20..60 s")
    return args


def main():
    args = parse()
    result = {
        "benchmark": "affinity", "cores": os.cpu_count(), "servers": SERVERS, "muxes": MUXES, "runs": args.runs,
        "connections": args.connections, "removed": args.removed, "floodRate": FLOOD_RATE, "table": TABLE,
    }  # fmt: skip
    for name, flood in (("scaling", False), ("flood", True)):
        result[name] = {
            method: {
                str(removed): [run(method, removed, flood, args) for _ in range(args.runs)] for removed in args.removed
            }
            for method in METHODS
        }
    for name in ("scaling", "flood"):
        print(f"\n{name}: broken of {args.connections}, by servers that were drained, median of {args.runs}")
        for method, found in result[name].items():
            cells = [f"{k}: {statistics.median(row['broken'] for row in rows):g}" for k, rows in found.items()]
            print(f"  {method:10s} {'   '.join(cells)}")
    keep(args.json, result)
    print(f"\n{args.json} has every run")


if __name__ == "__main__":
    main()
