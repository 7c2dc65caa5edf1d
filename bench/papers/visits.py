# SPDX-License-Identifier: Apache-2.0
"""
What lists of former owners and notices cost, in a lab: visits of servers a packet, and packets of notices a change.

Visits: servers leave and return in turn, all the time, under TCP connections that are closed and replaced after a time
of exponential distribution. A packet of a client visits the server to which the mux sends it, and each one that gets it
from another; so the mean is what servers count, delivered, dropped and sent on, divided by what muxes steer. A row for
each mean life, with a hold that agents end, and with a window alone. Measured once a window has passed, so that lists
are as long as they get. Notices: half of the largest ring moves; what muxes count before and after.

Run as root under `unshare --net --mount`, as the lab's tests by hand (CONTRIBUTING.md); run lab/build first.
"""

import argparse
import os
import pathlib
import time

from bench.lib.command import RESULTS, die, keep
from lab.deadline import until
from lab.lab import SERVICE, Lab
from lab.variant import Variant

MUXES = 2
HOLD = 3600  # seconds
WEIGHT = 100
INTERVAL = 0.25  # seconds between the requests of a connection
VISITED = ("deliver_", "drop_", "chain")  # counters of the ways out of a server
NOTICES = ("sent", "repeated", "refreshed", "failed")
OPEN = 0.8  # of the connections; some are being replaced at any time
REFRESH = 12  # seconds: longer than until a mux repeats what is acknowledged


def counted(lab):
    """What servers and muxes have counted so far."""
    servers = [server.show()["counters"] for server in lab.servers.values()]
    muxes = [mux.metrics() for mux in lab.muxes.values()]
    return {
        "packets": sum(mux[f'fairlead_mux_service_packets_total{{service="{SERVICE}"}}'] for mux in muxes),
        "visits": sum(count for each in servers for name, count in each.items() if name.startswith(VISITED)),
        "chained": sum(each["chain"] + each["chain_by_kernel"] for each in servers),
        "stale": sum(each["drop_stale"] for each in servers),
    }


class Churn:
    """Each time the next server leaves, or returns: so one is away half of the time, a different one each time."""

    def __init__(self, lab, servers, every):
        self.lab, self.servers, self.every, self.number, self.moved = lab, servers, every, 0, 0

    def run(self, traffic, seconds):
        """Returns how many changes there were, and the part of the buckets that each moved."""
        self.moved, number, end = 0, self.number, time.monotonic() + seconds
        while time.monotonic() < end:
            away = self.number // 2 % self.servers + 1
            plan = self.lab.weights({away: WEIGHT if self.number % 2 else 0})
            self.moved += plan["movedBuckets"]
            self.number += 1
            traffic.wait_seconds(self.every)
        changes = self.number - number
        return changes, self.moved / changes / self.lab.service()["buckets"]


def visits(args, life, hold):
    variant = Variant(agents=hold, hold=HOLD if hold else 0)
    with Lab(servers=args.servers, muxes=MUXES, window=args.window, variant=variant) as lab:
        if hold:
            lab.wait_reporting(60)
        with lab.traffic(args.connections, interval=INTERVAL, short_rate=0, life=life) as traffic:
            until("most connections are open", lambda: traffic.held() >= OPEN * args.connections, 120)
            churn = Churn(lab, args.servers, args.every)
            churn.run(traffic, max(args.window, life) + 4 * args.every)
            before = counted(lab)
            changes, part = churn.run(traffic, args.seconds)
            found = {name: count - before[name] for name, count in counted(lab).items()}
            traffic.wait_quiet()
        return {
            "meanLife": life, "hold": hold, "changes": changes, "movedPartOfAChange": part,
            "mean": found["visits"] / found["packets"], "connections": traffic.total["connections"],
            "broken": traffic.total["broken"], **found,
        }  # fmt: skip


def told(lab):
    """Packets of notices so far, of all muxes, by result."""
    muxes = [mux.metrics() for mux in lab.muxes.values()]
    return {each: sum(mux[f'fairlead_mux_notices_total{{result="{each}"}}'] for mux in muxes) for each in NOTICES}


def notices(args):
    """Half of the servers leave at once, so half of the buckets move. No packets: notices alone tell servers."""
    with Lab(servers=4, muxes=MUXES, window=600, buckets=args.buckets) as lab:
        lab.wait_applied()
        before = told(lab)
        plan = lab.change(*({"op": "weight", "id": number, "weight": 0} for number in (1, 2)))
        lab.wait_applied(120)
        at_once = told(lab)
        time.sleep(REFRESH)
        later = told(lab)
        pairs = len(lab.servers) * len(lab.muxes)
    return {
        "buckets": args.buckets, "movedBuckets": plan["movedBuckets"], "servers": 4, "muxes": MUXES,
        "untilApplied": {each: at_once[each] - before[each] for each in NOTICES},
        "refreshSeconds": REFRESH, "later": {each: later[each] - before[each] for each in NOTICES},
        "aServerAndMux": sum(at_once[each] - before[each] for each in NOTICES) / pairs,
    }  # fmt: skip


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--servers", type=int, default=10, help="of which one leaves or returns at a time (default 10)")
    parser.add_argument("--every", type=int, default=10, help="seconds between changes (default 10)")
    parser.add_argument("--lives", default="5,20,60", help="mean seconds of connections, a row each (default 5,20,60)")
    parser.add_argument("--window", type=int, default=60, help="seconds (default 60)")
    parser.add_argument("--seconds", type=int, default=120, help="that are measured of each row (default 120)")
    parser.add_argument("--connections", type=int, default=400, help="at a time (default 400)")
    parser.add_argument("--buckets", type=int, default=8_388_608, help="of the ring that moves by half (default 8 Mi)")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "visits.json")
    args = parser.parse_args()
    limits = (("servers", 2, 30), ("every", 1, 300), ("window", 1, 600), ("seconds", 1, 3600), ("connections", 2, 2000))
    for name, least, most in limits:
        if not least <= getattr(args, name) <= most:
            die(f"--{name}: {getattr(args, name)} is not allowed; allowed: {least}..{most}")
    try:
        args.lives = [float(each) for each in args.lives.split(",")]
    except ValueError:
        die(f"--lives: '{args.lives}' is not allowed; allowed: seconds with commas between them")
    if min(args.lives) <= 0:
        die(f"--lives: {min(args.lives):g} is not allowed; allowed: above 0")
    return args


def main():
    args = parse()
    rows = []
    for hold in (True, False):
        for life in args.lives:
            rows.append(visits(args, life, hold))
            row = rows[-1]
            print(
                f"{'hold' if hold else 'window':6s}  life {life:5.1f} s  {row['mean']:.3f} visits a packet"
                f"  ({row['packets']:,.0f} packets, {row['changes']} changes of {row['movedPartOfAChange']:.1%},"
                f" {row['broken']} of {row['connections']} broke)",
                flush=True,
            )
    found = notices(args)
    result = {
        "benchmark": "visits", "cores": os.cpu_count(), "servers": args.servers, "muxes": MUXES, "every": args.every,
        "window": args.window, "interval": INTERVAL, "connections": args.connections, "rows": rows, "notices": found,
    }  # fmt: skip
    print(f"{found['movedBuckets']:,} of {found['buckets']:,} buckets moved: {found['aServerAndMux']:.2f} notices a")
    print(f"server and mux until all muxes had applied it: {found['untilApplied']}; later: {found['later']}")
    keep(args.json, result)


if __name__ == "__main__":
    main()
