# SPDX-License-Identifier: Apache-2.0
"""
Muxes and servers come and go under real TCP and MPTCP clients, in a lab: Beamer's Figures 17, 18, 20 to 22.

TCP: one server and a P4 mux; servers join one by one (Figures 18, 21, 22), then three C muxes (Figure 17); then a C
mux and the P4 mux are killed. Each second: answers by server, packets chained by each, connections that broke.
MPTCP: four servers, two muxes; a server joins, a mux is killed. Each second: the slowest answer (Figure 20); with
the servers' ids in ports, and with each subflow hashed by itself as by a balancer that knows no MPTCP. All share the
processors of one machine, so answers a second say who serves, not how much could be served. Run as root under
`unshare --net --mount`, as the lab's tests by hand (CONTRIBUTING.md); run lab/build first.
"""

import argparse
import os
import pathlib

from bench.lib.command import RESULTS, die, keep
from lab import topology
from lab.deadline import until
from lab.lab import SERVICE, Lab
from lab.mptcp import MptcpService
from lab.variant import Variant

P4 = 1
MUXES = 4
MPTCP_SERVERS = 4
assert MUXES <= topology.MUXES_MAX


class Watch:
    """What happens second by second, and what was done when."""

    def __init__(self, lab, traffic):
        self.lab, self.traffic = lab, traffic
        self.samples, self.events = [], []

    def now(self):
        return len(self.traffic.seconds())

    def tell(self, what, **more):
        self.events.append({"second": self.now(), "what": what} | more)
        print(f"{self.now():4d} s  {what}", flush=True)

    def watch(self, seconds):
        for _ in range(seconds):
            self.traffic.wait_seconds(1)
            chained = {server.name: server.chained() for server in self.lab.servers.values()}
            self.samples.append({"second": self.now(), "muxes": len(self.lab.running_muxes()), "chained": chained})


class Moves:
    """Who owned each bucket, generation by generation: what broken connections met."""

    def __init__(self, lab):
        self.lab, self.rings = lab, []
        self.note()

    def note(self):
        """After a change of the ring."""
        ring = self.lab.api("GET", f"/v1/services/{SERVICE}/ring")
        owners = [0] * ring["buckets"]
        for owner, runs in ring["runs"].items():
            for start, count in runs:
                owners[start : start + count] = [int(owner)] * count
        self.rings.append(owners)

    def line(self, bucket):
        """The bucket's owners in turn."""
        owners = [ring[bucket] for ring in self.rings]
        return [owner for at, owner in enumerate(owners) if not at or owner != owners[at - 1]]

    def of(self, broken):
        """What a broken connection met: its bucket's owners in turn, and how often that moved on from its server."""
        address, port = broken["local"].rsplit(":", 1)
        bucket = self.lab.explain(address, int(port))["bucket"]
        line = self.line(bucket)
        found = {"server": broken["server"], "kind": broken["kind"], "age": broken["age"], "bucket": bucket}
        first = int(broken["server"].removeprefix("server")) if broken["server"] else line[0]
        later = len(line) - 1 - line.index(first) if first in line else 0
        return found | {"owners": line, "moves": later}


def kill(lab, number):
    mux = lab.muxes[number]
    mux.kill()
    until(f"the route loses {mux.name}", lambda: mux.address not in lab.router.vip_hops(), 60)


def tcp(args):
    variant = Variant(p4_muxes=(P4,), tagged=False)
    window = args.every * (args.servers + MUXES + 4) + 60  # longer than any connection lives
    with Lab(servers=1, muxes=MUXES, window=window, variant=variant) as lab:
        for number in range(P4 + 1, MUXES + 1):
            lab.stop_mux(number)
        with lab.traffic(args.connections, interval=0.2, short_rate=args.rate) as traffic:
            traffic.wait_open()
            watch, moves = Watch(lab, traffic), Moves(lab)
            watch.tell("one server, the P4 mux")
            watch.watch(args.every)
            for _ in range(args.servers - 1):
                server, plan = lab.add_server()
                moves.note()
                lost = plan["lostBuckets"]
                losing = f", {lost} of them from full lists" if lost else ""
                watch.tell(f"{server.name} joins, {plan['movedBuckets']} buckets move{losing}", lostBuckets=lost)
                watch.watch(args.every)
            for number in range(P4 + 1, MUXES + 1):
                lab.start_mux(number)
                watch.tell(f"mux{number} joins")
                watch.watch(args.every)
            for number in (P4 + 1, P4):
                kill(lab, number)
                watch.tell(f"mux{number} was killed")
                watch.watch(args.every)
            traffic.wait_quiet()
            broken = [moves.of(each) for each in traffic.broken()]
        keys = ("requests", "servers", "new", "broken", "slowest_ms")
        return {
            "seconds": [{key: second[key] for key in keys} for second in traffic.seconds()],
            "samples": watch.samples, "events": watch.events, "broken": traffic.total["broken"],
            "brokenOnes": broken, "connections": traffic.total["connections"], "requests": traffic.total["requests"],
        }  # fmt: skip


def mptcp(args, by_id):
    """One server joins, one mux is killed; the share of second subflows that joined, and the slowest answers."""
    with (
        Lab(servers=MPTCP_SERVERS, muxes=2, window=30) as lab,
        MptcpService(lab, by_id=by_id) as service,
        service.traffic(args.connections) as traffic,
    ):
        traffic.wait_open()
        watch = Watch(lab, traffic)
        watch.tell(f"{args.connections} MPTCP connections, {'by id' if by_id else 'hashed'}")
        watch.watch(args.every)
        counts = service.subflows()
        server, _ = lab.add_server()
        service.add(server)
        watch.tell(f"{server.name} joins")
        watch.watch(args.every)
        kill(lab, 1)
        watch.tell("mux1 was killed")
        watch.watch(args.every)
        traffic.wait_quiet()
        seconds, broken = traffic.seconds(), len(traffic.broken())
    joined = sum(count for further, count in counts.items() if further)
    return {
        "joined": joined / max(1, counts.total()), "broken": broken, "events": watch.events,
        "slowestMs": [second["slowest_ms"] for second in seconds],
    }  # fmt: skip


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--every", type=int, default=15, help="seconds between changes (default 15)")
    parser.add_argument("--servers", type=int, default=6, help="in the end (default 6)")
    parser.add_argument("--connections", type=int, default=100, help="long-lived ones (default 100)")
    parser.add_argument("--rate", type=float, default=100, help="short ones, a second (default 100)")
    parser.add_argument("--quick", action="store_true", help="4 s between changes, 3 servers, 40 connections")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "churn.json")
    args = parser.parse_args()
    if args.quick:
        args.every, args.servers, args.connections, args.rate = 4, 3, 40, 40
    for name, least, most in (("every", 2, 300), ("servers", 1, 50), ("connections", 2, 2000), ("rate", 0, 1000)):
        value = getattr(args, name)
        if not least <= value <= most:
            die(f"--{name}: {value:g} is not allowed; allowed: {least}..{most}")
    return args


def main():
    args = parse()
    result = {
        "benchmark": "churn", "cores": os.cpu_count(), "every": args.every, "connectionsHeld": args.connections,
        "rate": args.rate, "tcp": tcp(args), "mptcp": {"by id": mptcp(args, True), "hashed": mptcp(args, False)},
    }  # fmt: skip
    print(f"\nTCP: {result['tcp']['requests']} requests, {result['tcp']['broken']} broken")
    for name, found in result["mptcp"].items():
        print(f"MPTCP, {name}: {found['joined']:.0%} of second subflows joined, {found['broken']} broken")
    keep(args.json, result)
    print(f"{args.json} has every second")


if __name__ == "__main__":
    main()
