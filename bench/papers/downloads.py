# SPDX-License-Identifier: Apache-2.0
"""
How long downloads by MPTCP take while servers join and muxes are killed, in a lab: Beamer's Figures 19 and 20.

Closed loops of real MPTCP clients with two addresses each get the same file again and again. It begins with one server
and four muxes; servers join one by one; then muxes are killed one by one until one is left. Each server's link has a
rate of its own, as the paper's servers have their network cards, and so servers add capacity although all share the
processors of one machine. `Beamer`: the servers' ids in ports, buckets, chaining. `Stateful`: muxes with a table of
flows (mux/flowtable), each subflow hashed by itself, no chaining. The hash key is fixed, clients' ports are chosen by
the kernel.

Run as root under `unshare --net --mount`, as the lab's tests by hand (CONTRIBUTING.md); run lab/build first.
"""

import argparse
import os
import pathlib
import statistics
import time

from bench.lib.command import RESULTS, die, keep
from bench.papers import stateful
from lab.deadline import until
from lab.lab import Lab
from lab.mptcp import PORT, MptcpService
from lab.traffic import TestClient
from lab.variant import USUAL

METHODS = ("Beamer", "Stateful")
TABLE = 65_536  # flows of a mux
QUEUE = ("burst", "32kb", "latency", "100ms")  # of a server's link


def limit(server, megabits):
    """Gives the server's link a rate, for what it sends; packets that it chains do not wait there."""
    server.run("tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", f"{megabits:g}mbit", *QUEUE)


class Downloads:
    """The clients' loops, and what was done meanwhile."""

    def __init__(self, lab, args):
        self.began = time.monotonic()  # of one clock for all processes of the machine
        self.events = []
        each = args.loops // len(lab.clients)
        options = ["--loops", str(each), "--bytes", str(args.bytes), "--mptcp-port", str(PORT)]
        self.clients = [TestClient(node, "downloads", *options, timeout=args.timeout) for node in lab.clients]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for client in self.clients if kind else []:
            client.kill()

    def now(self):
        return time.monotonic() - self.began

    def tell(self, what, servers, muxes):
        self.events.append({"at": round(self.now(), 2), "what": what, "servers": servers, "muxes": muxes})
        print(f"{self.now():6.1f} s  {what}", flush=True)

    def wait(self, seconds):
        """Until so long after the last event."""
        until("downloads go on", lambda: self.now() >= self.events[-1]["at"] + seconds, seconds + 30, pause=0.05)
        for client in self.clients:
            client.expect_alive()

    def finish(self, patience):
        lines = [line for client in self.clients for line in client.finish(patience)]
        found = [
            {"at": line["began"] - self.began + line["seconds"]} | {k: line[k] for k in ("seconds", "server", "failed")}
            for line in lines
        ]
        return sorted(found, key=lambda line: line["at"])


def run(method, args):
    by_id = method == "Beamer"
    variant = USUAL if by_id else stateful.variant(TABLE)
    with Lab(servers=1, muxes=args.muxes, window=round(4 * args.every * args.servers), variant=variant) as lab:
        service = MptcpService(lab, by_id=by_id).__enter__()  # it ends with the lab
        for server in lab.servers.values():
            limit(server, args.megabits)
        with Downloads(lab, args) as downloads:
            change(lab, service, downloads, method, args)
            end, counters = downloads.now(), service.counters()
            found = downloads.finish(args.timeout + 30)
    return summary(method, downloads.events, found, end, counters)


def change(lab, service, downloads, method, args):
    """All that happens while the clients load."""
    downloads.tell(f"{method}: one server, {args.muxes} muxes", 1, args.muxes)
    downloads.wait(args.every)
    for number in range(2, args.servers + 1):
        server, _ = lab.add_server()
        limit(server, args.megabits)
        service.add(server)
        downloads.tell(f"{server.name} joins", number, args.muxes)
        downloads.wait(args.every)
    for number in range(1, args.muxes):
        mux = lab.muxes[number]
        mux.kill()
        downloads.tell(f"{mux.name} is killed", args.servers, args.muxes - number)
        until(f"the route loses {mux.name}", lambda mux=mux: mux.address not in lab.router.vip_hops(), 60)
        downloads.events[-1]["routedAround"] = round(downloads.now(), 2)
        downloads.wait(args.every)


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def figures(found):
    seconds = [each["seconds"] for each in found if not each["failed"]]
    times = {"median": statistics.median(seconds), "p99": quantile(seconds, 0.99)} if seconds else {}
    return {"downloads": len(seconds), "failed": len(found) - len(seconds)} | times


def summary(method, events, found, end, counters):
    """By second, and by phase: from one event to the next. A download counts when it ends, as in the paper."""
    ends = [event["at"] for event in events[1:]] + [end]
    phases = [
        event | figures([each for each in found if event["at"] <= each["at"] < until_])
        for event, until_ in zip(events, ends, strict=True)
    ]
    seconds = [
        {"second": second} | figures([each for each in found if second <= each["at"] < second + 1])
        for second in range(int(end) + 1)
    ]
    opened = max(1, counters["MPCapableACKRX"])
    print(f"{method}: {len(found)} downloads, {sum(bool(each['failed']) for each in found)} failed")
    return {
        "phases": phases, "seconds": seconds, "joined": counters["MPJoinAckRx"] / opened,
        "connections": opened, "noToken": counters["MPJoinNoTokenFound"],
        "failed": [each for each in found if each["failed"]],
    }  # fmt: skip


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--every", type=float, default=6, help="seconds between changes (default 6)")
    parser.add_argument("--servers", type=int, default=6, help="in the end (default 6)")
    parser.add_argument("--muxes", type=int, default=4, help="at first (default 4)")
    parser.add_argument("--loops", type=int, default=40, help="downloads at the same time (default 40)")
    parser.add_argument("--bytes", type=int, default=250_000, help="of a download (default 250000)")
    parser.add_argument("--megabits", type=float, default=50, help="a second, of a server's link (default 50)")
    parser.add_argument("--timeout", type=float, default=15, help="seconds after which one has failed (default 15)")
    parser.add_argument("--quick", action="store_true", help="3 s between changes, 3 servers, 2 muxes")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "downloads.json")
    args = parser.parse_args()
    if args.quick:
        args.every, args.servers, args.muxes = 3, 3, 2
    for name, least, most in (
        ("every", 1, 300),
        ("servers", 2, 50),
        ("muxes", 2, 9),
        ("loops", 2, 400),
        ("bytes", 1, 1 << 30),
        ("megabits", 1, 10_000),
        ("timeout", 1, 120),
    ):
        value = getattr(args, name)
        if not least <= value <= most:
            die(f"--{name}: {value:g} is not allowed; allowed: {least}..{most}")
    return args


def main():
    args = parse()
    names = ("every", "servers", "muxes", "loops", "bytes", "megabits", "timeout")
    result = {"benchmark": "downloads", "cores": os.cpu_count()} | {name: getattr(args, name) for name in names}
    result["methods"] = {method: run(method, args) for method in METHODS}
    for method, found in result["methods"].items():
        print(f"\n{method}: {found['joined']:.0%} of {found['connections']} connections had a second subflow")
        for phase in found["phases"]:
            times = "".join(f"{name} {phase[name]:6.2f} s  " for name in ("median", "p99") if name in phase)
            print(f"  {phase['what']:28s} {times} {phase['downloads']:5d} downloads, {phase['failed']} failed")
    keep(args.json, result)
    print(f"{args.json} has every second")


if __name__ == "__main__":
    main()
