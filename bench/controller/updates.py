# SPDX-License-Identifier: Apache-2.0
"""Packets steered by othello while the control plane works: Concury's (SoCC '20) Figures 14 to 19, on one machine.

    OthelloLoad.java: connections and agents ── REST ── controller ── 3 ZooKeeper servers ── mux_reader: control thread
    this script: changes of the pool          ── REST ──┘                                    └ worker, a core alone

The worker steers packets by the mux's packet path (mux_packet.c), on tables that the mux's own reader keeps: deltas,
arrays, patches. It has one core, everything else shares the other one. While it works, connections are opened, reported
and closed at a rate, and the pool changes so often a second. States take turns, each once in a round:

    static    one set of arrays, no moves open, nothing changes
    updates   connections and changes, for so long that arrays are committed meanwhile
    after     right after it: both arrays, moves open, nothing changes

"updates" to "static" is what an operator sees. "updates" to "after" is what the control plane's work itself takes, by
caches and memory; the rest is that packets are looked up in two arrays and carry more.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import threading
import time

from bench.controller.readers import logged_in
from bench.lib.command import JAR, RESULTS, ROOT, check, die, keep
from bench.lib.ensemble import ADMIN, TIMEOUT_SECONDS, Controller, processes, processor_seconds, secret, start_ensemble

SERVICE = "updates"
STATES = ("static", "updates", "after")
MOST_SECONDS = 2  # of changes that the mux may be behind at any moment
MOST_LEAST = 5  # generations: a commit and its arrays are several
PAPER = {"staticMpps": 65, "updatesMpps": 42, "ratio": 42 / 65}  # one thread of an i7-6700, 10 changes a second


class Mux:
    """mux_reader with a worker."""

    def __init__(self, started, zookeeper, login, args):
        command = [args.build / "bench/controller/mux_reader", "mux1", zookeeper, args.core, args.priority]
        command += [args.connections, args.seed]
        self.process = started.start(
            "mux", command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=logged_in(login)
        )
        self.generation, self.received, self.steered = 0, 0, []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            words = line.split()
            if words[0] == b"steered":
                self.steered.append([int(word) for word in words[1:]])
            else:
                self.generation, self.received = int(words[0]), int(words[3])

    def order(self, seconds):
        self.process.stdin.write(f"{round(1000 * seconds)}\n".encode())
        self.process.stdin.flush()

    def result(self, count):
        """Of the order with this number; Mpps by the time that steering took."""
        wait(f"order {count} of the worker", lambda: len(self.steered) >= count)
        packets, processor, clock, others, thread = self.steered[count - 1]
        if others:
            die(f"{others} of {packets} packets were not sent to a server")
        return {
            "packets": packets,
            "mpps": 1e3 * packets / processor,
            "mppsByClock": 1e3 * packets / clock,
            "seconds": thread / 1e9,
        }


class Load:
    """OthelloLoad.java."""

    def __init__(self, started, controller, zookeeper, args):
        command = ["java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", JAR, ROOT / "bench/controller/OthelloLoad.java"]
        command += [f"127.0.0.1:{controller.port}", zookeeper, SERVICE, args.backends, args.age, args.connections]
        command += [args.seed, controller.logins]
        self.process = started.start("load", command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = None
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.last = json.loads(line)

    def rate(self, each_second):
        self.process.stdin.write(f"{each_second}\n".encode())
        self.process.stdin.flush()


class Changes(threading.Thread):
    """Another backend's weight, at a pace; a change that is not answered in time delays those after it."""

    def __init__(self, controller, mux, args, draw):
        super().__init__(daemon=True)
        self.controller, self.mux, self.args, self.draw = controller, mux, args, draw
        self.took, self.moved, self.behind, self.is_over = [], 0, 0, False
        self.start()

    def run(self):
        begun = time.monotonic()
        while not self.is_over:
            pause = begun + len(self.took) / self.args.changes - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            backend, weight = self.draw.randrange(1, self.args.backends + 1), self.draw.randrange(80, 121)
            answer, took = self.controller.change(SERVICE, [{"op": "weight", "id": backend, "weight": weight}])
            self.took.append(took)
            self.moved += answer["movedBuckets"]
            self.behind = max(self.behind, answer["generation"] - self.mux.generation)

    def end(self):
        self.is_over = True
        self.join()


def wait(what, true, seconds=TIMEOUT_SECONDS):
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            die(f"gave up after {seconds} s of waiting for {what}")
        time.sleep(0.05)


def tokens(folder, servers):
    """Of the benchmark, and of each server's agent as OthelloLoad.java has it."""
    agents = [f"s{n} server=10.2.{n // 256}.{n % 256} plain:agent-of-server-{n}" for n in range(1, servers + 1)]
    return secret(folder / "tokens", f"admin admin plain:{ADMIN}", *agents)


class Bench:
    def __init__(self, args, started, draw):
        self.args, self.draw, self.folder = args, draw, started.folder
        zookeeper = start_ensemble(started)
        self.zookeepers = [process.pid for process in started.all]
        self.controller = Controller(started, zookeeper, args.heap, tokens=tokens(started.folder, args.backends))
        self.controller.start()
        self.create()
        self.mux = Mux(started, zookeeper, self.controller.add_mux("mux1"), args)
        self.load = Load(started, self.controller, zookeeper, args)
        self.orders = 0

    def create(self):
        args = self.args
        self.controller("POST", "/v1/services", {
            "name": SERVICE, "vips": ["10.99.0.0"], "ports": [{"protocol": "tcp", "port": 80}], "buckets": args.buckets,
            "vipRanges": ["10.99.0.0/16"], "windowSeconds": args.window, "steering": "othello",
            "othello": {"reportAgeSeconds": args.age, "spacingSeconds": args.spacing},
        })  # fmt: skip
        pool = [
            {"op": "add", "id": n, "address": f"10.2.{n // 256}.{n % 256}"} for n in range(1, self.args.backends + 1)
        ]
        self.controller.change(SERVICE, pool)

    def status(self):
        return self.controller("GET", f"/v1/services/{SERVICE}/othello")[0]

    def fill(self):
        """Opens all connections, then changes the pool once, so that there are arrays."""
        self.load.rate(self.args.rate)
        wait("connections", lambda: self.load.last and self.load.last["known"] >= 0.99 * self.args.connections)
        self.load.rate(0)
        self.controller.change(SERVICE, [{"op": "weight", "id": 1, "weight": 80}])

    def settle(self):
        """One set of arrays, which the mux has, and no open move."""

        def is_settled():
            arrays = self.status().get("arrays")
            return arrays and "previous" not in arrays

        wait("settled arrays", is_settled)
        time.sleep(self.args.window + 1)
        wait("settled arrays", is_settled)

    def builds(self):
        """How many arrays of another seed, and changes of the ones before."""
        connection = http.client.HTTPConnection("127.0.0.1", self.controller.port, timeout=TIMEOUT_SECONDS)
        connection.request("GET", "/metrics", headers=self.controller.authorization)
        text = connection.getresponse().read().decode()
        connection.close()
        found = re.findall(r'fairlead_othello_builds_total\{kind="(\w+)".* ([0-9.]+)$', text, re.MULTILINE)
        return {kind: float(count) for kind, count in found}

    def numbers(self):
        status = self.status()
        return {
            "generation": status["generation"], "mux": self.mux.generation, "muxBytes": self.mux.received,
            "builds": self.builds(), "miscoded": status["miscoded"], "load": self.load.last,
            "controllerSeconds": processor_seconds(self.controller.process.pid),
            "zookeeperSeconds": sum(processor_seconds(pid) for pid in self.zookeepers),
            "muxSeconds": processor_seconds(self.mux.process.pid),
            "loadSeconds": processor_seconds(self.load.process.pid),
        }  # fmt: skip

    def steer(self, seconds):
        self.orders += 1
        self.mux.order(seconds)
        return self.mux.result(self.orders)

    def static(self):
        self.settle()
        return self.steer(self.args.seconds)

    def after(self):
        return self.steer(self.args.seconds)

    def updates(self):
        """Half of it runs before the worker does, so that reports and arrays are under way."""
        args = self.args
        self.load.rate(args.rate)
        changes = Changes(self.controller, self.mux, args, self.draw)
        time.sleep(args.lead)
        before, made, begun = self.numbers(), len(changes.took), time.monotonic()
        row = self.steer(args.updates)
        after, took = self.numbers(), time.monotonic() - begun
        done = changes.took[made:]
        changes.end()
        self.load.rate(0)
        if changes.behind > max(MOST_SECONDS * args.changes, MOST_LEAST):
            die(f"the mux was {changes.behind} generations behind: see {self.folder}/mux.log")
        for name in ("opened", "reported", "closed"):
            row[f"{name}PerSecond"] = (after["load"][name] - before["load"][name]) / (
                after["load"]["at"] - before["load"]["at"]
            )
        for name in ("controller", "zookeeper", "load", "mux"):
            row[f"{name}Share"] = (after[f"{name}Seconds"] - before[f"{name}Seconds"]) / took
        row["muxShare"] -= row["seconds"] / took  # the worker's own
        return row | {
            "changesPerSecond": len(done) / took,
            "changeSeconds": statistics.median(done) if done else None,
            "built": {kind: count - before["builds"][kind] for kind, count in after["builds"].items()},
            "generationsBehind": changes.behind,
            "muxBytesPerSecond": (after["muxBytes"] - before["muxBytes"]) / took,
            "miscoded": after["miscoded"], "known": after["load"]["known"], "refused": after["load"]["refused"],
        }  # fmt: skip


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench", help="of meson, release")
    parser.add_argument("--connections", type=int, default=1_000_000, help="open at a time; also the packets' flows")
    parser.add_argument("--rate", type=int, default=100_000, help="opened, reported and closed a second")
    parser.add_argument("--changes", type=float, default=10, help="of the pool, a second")
    parser.add_argument("--buckets", type=int, default=65536)
    parser.add_argument("--backends", type=int, default=128)
    parser.add_argument("--window", type=int, default=30)
    parser.add_argument("--age", type=int, default=3, help="reportAgeSeconds")
    parser.add_argument("--spacing", type=int, default=8, help="spacingSeconds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="of the worker in states without changes")
    parser.add_argument("--updates", type=float, default=12, help="seconds of the worker under updates")
    parser.add_argument("--lead", type=float, default=8, help="seconds of updates before")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="of the worker")
    parser.add_argument("--priority", type=int, default=0, help="of the worker by SCHED_FIFO, on a busy machine")
    parser.add_argument("--heap", default="2g", help="of the controller")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "updates.json")
    args = parser.parse_args()
    check(JAR, args.build / "bench/controller/mux_reader")
    if len(os.sched_getaffinity(0)) < 2:
        die("needs two cores: one is the worker's")
    if args.rounds < 1 or args.changes <= 0:
        die("--rounds is at least 1, --changes above 0")
    return args


def ratios(rows, state, other):
    values = [row[state]["mpps"] / row[other]["mpps"] for row in rows]
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def measure(args):
    with processes() as started:
        bench = Bench(args, started, random.Random(args.seed))
        print("opening connections", flush=True)
        bench.fill()
        rows = []
        for number in range(args.rounds):
            row = {state: getattr(bench, state)() for state in STATES}
            rows.append(row)
            text = ", ".join(f"{state} {row[state]['mpps']:.2f}" for state in STATES)
            print(f"round {number + 1}: Mpps {text}; {summary(row['updates'])}", flush=True)
    return rows


def summary(row):
    return (
        f"{row['changesPerSecond']:.1f} changes/s in {1000 * (row['changeSeconds'] or 0):.0f} ms, "
        f"{row['reportedPerSecond']:,.0f} reported/s, {row['miscoded']:,d} miscoded, at most "
        f"{row['generationsBehind']} generations behind, "
        f"built {row['built']}; cores: controller {row['controllerShare']:.2f}, "
        f"ZooKeeper {row['zookeeperShare']:.2f}, mux's control {row['muxShare']:.2f}, agents {row['loadShare']:.2f}"
    )


def main():
    args = parse()
    # What is started from here on inherits it; the worker's thread takes its own core.
    os.sched_setaffinity(0, os.sched_getaffinity(0) - {args.core})
    rows = measure(args)
    wanted = (("updates", "static"), ("after", "static"), ("updates", "after"))
    result = {
        "benchmark": "updates", "unit": "Mpps of the worker's processor time", "seed": args.seed,
        "connections": args.connections, "rate": args.rate, "changes": args.changes, "buckets": args.buckets,
        "backends": args.backends, "window": args.window, "age": args.age, "spacing": args.spacing,
        "median": {state: statistics.median(row[state]["mpps"] for row in rows) for state in STATES},
        "ratios": {f"{a} / {b}": ratios(rows, a, b) for a, b in wanted}, "paper": PAPER, "rounds": rows,
    }  # fmt: skip
    for name, ratio in result["ratios"].items():
        print(f"{name}: {ratio['median']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f})")
    print(f"the paper's: {PAPER['ratio']:.2f}")
    keep(args.json, result)


if __name__ == "__main__":
    main()
