# SPDX-License-Identifier: Apache-2.0
"""
How many changes a second a controller commits and muxes follow, among many services.

    this script ── REST, an open loop ── controller ── 3 ZooKeeper servers ── mux readers (mux_reader.c), no packets

At each rate, requests begin at equal distances, regardless of the answers; each weighs one backend of the next service,
under an idempotency key, and is one generation. A change lasts from the time at which its request was to begin until
the last mux serves the generation, by the clock of the machine that has all parts. All of a rate are waited for before
the next one begins. Sustained is a rate of which at least 95 % are answered a second, by the time of the last answer.
"""

import argparse
import asyncio
import bisect
import json
import os
import pathlib
import random
import time
import uuid

from bench.controller.readers import Readers
from bench.lib.command import JAR, RESULTS, ROOT, check, die, keep
from bench.lib.ensemble import Controller, Meter, processes, processor_seconds, start_ensemble
from bench.papers.steps import commit

CONNECTIONS = 512
SUSTAINED = 0.95
WEIGHTS = (100, 50)
SECONDS_OF = ("controller", "zookeeper", "muxes", "this script")


class Connections:
    """Kept-alive connections to the controller, each for one request at a time."""

    def __init__(self, controller):
        self.port = controller.port
        self.authorization = controller.authorization["Authorization"]
        self.idle = []
        self.few = asyncio.Semaphore(CONNECTIONS)

    async def call(self, method, path, body):
        """The answer, which dies if it is an error."""
        content = json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: {self.authorization}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
            f"Idempotency-Key: {uuid.uuid4()}\r\n\r\n"
        )
        async with self.few:
            streams = self.idle.pop() if self.idle else await asyncio.open_connection("127.0.0.1", self.port)
            streams[1].write(head.encode() + content)
            answer = await streams[0].readuntil(b"\r\n\r\n")
            status = int(answer[9:12])
            length = int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            text = await streams[0].readexactly(length)
            self.idle.append(streams)
        if status >= 400:
            die(f"{method} {path}: {status} {text.decode()[:500]}")
        return json.loads(text)


async def create(connections, args):
    """The generation of each service, by its name."""
    made = {}

    async def one(number):
        name = f"s{number}"
        answer = await connections.call("PUT", f"/v1/services/{name}", {
            "vips": [f"198.18.{number >> 8}.{number & 255}"], "ports": [{"protocol": "tcp", "port": 80}],
            "buckets": args.buckets, "windowSeconds": 1, "vipRanges": ["198.18.0.0/15"],
            "pool": [
                {"id": n, "address": f"10.{number >> 8}.{number & 255}.{n}", "weight": WEIGHTS[0]}
                for n in range(1, args.backends + 1)
            ],
        })  # fmt: skip
        made[name] = answer["generation"]

    for first in range(0, args.services, 16):
        await asyncio.gather(*(one(number) for number in range(first, min(first + 16, args.services))))
    return made


class Changes:
    """The next change, so that each makes a generation: services take turns, and so do the backends of each."""

    def __init__(self, args):
        draw = random.Random(args.seed)
        self.order = draw.sample(range(args.services), args.services)
        self.backends = args.backends
        self.count = 0

    def __next__(self):
        turn, place = divmod(self.count, len(self.order))
        weighed, backend = divmod(turn, self.backends)
        self.count += 1
        weight = WEIGHTS[(weighed + 1) % len(WEIGHTS)]
        return f"s{self.order[place]}", {"changes": [{"op": "weight", "id": backend + 1, "weight": weight}]}


async def load(connections, changes, rate, seconds):
    """(service, generation, Unix seconds at which it was to begin, and was answered) of each change."""
    rows = []

    async def one(at):
        name, body = next(changes)
        answer = await connections.call("POST", f"/v1/services/{name}/changes?force=true", body)
        rows.append((name, answer["generation"], at, time.time()))

    begun, calls = time.time(), []
    for number in range(round(rate * seconds)):
        at = begun + number / rate
        wait = at - time.time()
        if wait > 0:
            await asyncio.sleep(wait)
        calls.append(asyncio.create_task(one(at)))
    await asyncio.gather(*calls)
    return rows


def spent(controller, meter, readers):
    """What each part has done so far."""
    now = meter.read()
    seconds = (
        processor_seconds(controller.process.pid),
        now.pop("processor_seconds"),
        sum(processor_seconds(process.pid) for process in readers.started),
        time.process_time(),
    )
    return dict(zip(SECONDS_OF, seconds, strict=True)), now


def percentiles(values):
    """Milliseconds."""
    of = sorted(values)
    return {f"p{percent:g}": 1000 * of[min(len(of) - 1, int(len(of) * percent / 100))] for percent in (50, 90, 99, 100)}


def served(log):
    """By service, its generations that a mux has served, ascending, and when, in Unix seconds."""
    by_service = {}
    for line in log.read_text().splitlines():
        name, generation, at = line.split()
        generations, times = by_service.setdefault(name, ([], []))
        generations.append(int(generation))
        times.append(int(at) / 1000)
    return by_service


def until_last_mux(rows, muxes):
    """Seconds of each change, by what muxes have served. They say milliseconds, so it may be one less."""
    found = []
    for name, generation, at, _ in rows:
        last = 0
        for mux in muxes:
            generations, times = mux[name]
            last = max(last, times[bisect.bisect_left(generations, generation)])
        found.append(last - at)
    return found


def show(row):
    answered, last = row["answered"], row.get("lastMux")
    until = f", until the last mux {last['p50']:.0f}, {last['p99']:.0f}" if last else ""
    parts = ", ".join(f"{name} {cores:.2f}" for name, cores in row["cores"].items())
    print(
        f"{row['rate']:g} a second: {row['answeredRate']:.1f} answered, sustained: {row['sustained']}; "
        f"ms until the answer {answered['p50']:.0f}, {answered['p99']:.0f} (p50, p99){until}\n"
        f"    cores: {parts}; ZooKeeper's packets a change: {row['packetsPerChange']:.1f}",
        flush=True,
    )


async def measure(args, connections, controller, meter, readers, generations):
    """A row for each rate, and its changes."""
    changes, found = Changes(args), []

    async def run(rate, seconds):
        rows = await load(connections, changes, rate, seconds)
        for name, generation, _, _ in rows:
            generations[name] = max(generations[name], generation)
        if args.muxes:
            await asyncio.to_thread(readers.wait, sum(generations.values()))
        return rows

    for rate in args.rates:
        await run(rate, args.warm_up)
        before, packets = spent(controller, meter, readers)
        begun = time.time()
        rows = await run(rate, args.seconds)
        took = time.time() - begun
        after, packets_after = spent(controller, meter, readers)
        answered = len(rows) / (max(row[3] for row in rows) - begun)
        row = {
            "rate": rate, "changes": len(rows), "generations": len({row[:2] for row in rows}),
            "answeredRate": answered, "sustained": answered >= SUSTAINED * rate,
            "answered": percentiles(row[3] - row[2] for row in rows), "allServedSeconds": took,
            "cores": {name: (after[name] - before[name]) / took for name in after},
            "packetsPerChange": sum(packets_after[name] - packets[name] for name in Meter.COUNTERS[:2]) / len(rows),
        }  # fmt: skip
        found.append((row, rows))
    return found


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench", help="of meson, release")
    parser.add_argument("--rates", type=lambda text: [float(rate) for rate in text.split(",")], default=[100, 200, 500])
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--muxes", type=int, default=100)
    parser.add_argument("--buckets", type=int, default=1024, help="of each service")
    parser.add_argument("--backends", type=int, default=10, help="in each service")
    parser.add_argument("--seconds", type=float, default=20, help="of each rate")
    parser.add_argument("--warm-up", type=float, default=10, help="seconds before, at the same rate")
    parser.add_argument("--heap", default="1g", help="of the controller")
    parser.add_argument("--seed", type=int, default=1, help="of the order of services")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "commit_rate.json")
    args = parser.parse_args()
    check(JAR, args.build / "bench/controller/mux_reader")
    if not 1 <= args.services <= 4096 or not 2 <= args.backends <= 250 or args.muxes < 0:
        die("--services is 1..4096, --backends 2..250, --muxes at least 0")
    if min(args.rates) <= 0 or args.seconds <= 0 or args.warm_up < 0:
        die("--rates and --seconds are above 0, --warm-up at least 0")
    return args


async def run(args, started):
    zookeeper = start_ensemble(started)
    controller = Controller(started, zookeeper, args.heap)
    controller.start()
    connections = Connections(controller)
    generations = await create(connections, args)
    logs = [started.folder / f"mux{number}.log" for number in range(args.muxes)]
    logins = [controller.add_mux(log.stem) for log in logs]
    program = args.build / "bench/controller/mux_reader"
    readers = Readers(started, program, zookeeper, logins, [[log] for log in logs])
    if args.muxes:
        readers.start(args.muxes, sum(generations.values()))
    meter = Meter(started, zookeeper)
    found = await measure(args, connections, controller, meter, readers, generations)
    readers.end()
    muxes = [served(log) for log in logs]
    for row, rows in found:
        if muxes:
            row["lastMux"] = percentiles(until_last_mux(rows, muxes))
        show(row)
    return [row for row, _ in found], controller.heap_megabytes()


def main():
    args = parse()
    with processes() as started:
        rows, heap = asyncio.run(run(args, started))
    keep(args.json, {
        "benchmark": "commit_rate", "unit": "milliseconds", "cores": os.cpu_count(), "commit": commit(),
        "seed": args.seed, "services": args.services, "muxes": args.muxes, "buckets": args.buckets,
        "backends": args.backends, "seconds": args.seconds, "warmUp": args.warm_up, "heap": heap, "rows": rows,
    })  # fmt: skip


if __name__ == "__main__":
    main()
