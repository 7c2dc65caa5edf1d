# SPDX-License-Identifier: Apache-2.0
"""Hostile agents, all at once: whether the controller still leads, its heap, and how long other requests take."""

import argparse
import asyncio
import gzip
import json
import os
import pathlib
import random
import time
from collections import Counter

from bench.controller.agent_load import server_token
from bench.lib.command import JAR, RESULTS, check, die, keep
from bench.lib.ensemble import ADMIN, Controller, processes, secret, start_ensemble

INFLATED = 16 << 20
PAUSE_SECONDS = 0.1
SLOW_SECONDS = 0.5
AGAIN_SECONDS = 1

# How a body begins, and what is repeated until it has 16 MiB
BODIES = {
    "empty objects": (b'{"services":[', b'{"":0},'),
    "entries without fields": (b'{"services":[', b"{},"),
    "deep lists": (b'{"services":', b"["),
    "deep objects": (b'{"form":', b'{"form":'),
    "a long text": (b'{"boot":"', b"a"),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=1000, help="each with a token of its own")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--heap", default="1g", help="of the controller")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "hostile.json")
    args = parser.parse_args()
    check(JAR)
    if not len(BODIES) < args.agents <= 60_000:
        die(f"--agents is {len(BODIES) + 1}..60000")
    return args


def packed(begin, repeated):
    return gzip.compress(begin + repeated * ((INFLATED - len(begin)) // len(repeated)), 9)


class Flood:
    """Agent n sends the n-th kind of body again and again; the last kind sends its body a byte at a time."""

    def __init__(self, port, agents):
        self.port, self.agents = port, agents
        self.bodies = [packed(*body) for body in BODIES.values()]
        self.statuses, self.is_over = Counter(), False

    async def run(self):
        await asyncio.gather(*(self.agent(number, token) for number, token in enumerate(self.agents)))

    async def agent(self, number, token):
        kind = number % (len(self.bodies) + 1)
        while not self.is_over:
            try:
                status = await (self.slow(token) if kind == len(self.bodies) else self.send(token, self.bodies[kind]))
            except OSError:
                status = "closed"
            self.statuses[status] += 1
            await asyncio.sleep(AGAIN_SECONDS)

    def head(self, token, length):
        return (
            f"POST /v1/agent/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
        ).encode()

    async def send(self, token, body):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(self.head(token, len(body)) + body)
            return (await reader.readline()).decode()[9:12] or "closed"
        finally:
            writer.close()

    async def slow(self, token):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(self.head(token, len(self.bodies[0])))
            for byte in self.bodies[0]:
                if self.is_over or reader.at_eof() or writer.is_closing():
                    break
                writer.write(bytes((byte,)))
                await writer.drain()
                await asyncio.sleep(SLOW_SECONDS)
            return "slow"
        finally:
            writer.close()


async def other(controller, seconds):
    """Reads and writes of an admin, one after the other: the seconds of each."""
    took, end, number = {"GET": [], "PATCH": []}, time.monotonic() + seconds, 0
    while time.monotonic() < end:
        number += 1
        for method, body in (("GET", None), ("PATCH", {"windowSeconds": 10 + number % 2})):
            _, one = await asyncio.to_thread(controller, method, "/v1/services/web", body)
            took[method].append(one)
        await asyncio.sleep(PAUSE_SECONDS)
    return {
        method: {"count": len(each), "median": sorted(each)[len(each) // 2], "most": max(each)}
        for method, each in took.items()
    }


async def run(controller, agents, args):
    quiet = await other(controller, args.seconds / 2)
    flood = Flood(controller.port, agents)
    task = asyncio.create_task(flood.run())
    loud = await other(controller, args.seconds)
    flood.is_over = True
    await task
    return {"secondsBefore": quiet, "secondsMeanwhile": loud, "answers": dict(flood.statuses)}


def main():
    args = parse()
    draw = random.Random(args.seed)
    agents = [server_token(draw) for _ in range(args.agents)]
    with processes() as started:
        lines = [f"s{n} server=10.{n // 62500}.{n // 250 % 250}.{1 + n % 250} plain:{t}" for n, t in enumerate(agents)]
        tokens = secret(started.folder / "tokens", f"admin admin plain:{ADMIN}", *lines)
        zookeeper = start_ensemble(started)
        controller = Controller(started, zookeeper, args.heap, tokens=tokens)
        controller.start()
        epoch = controller("GET", "/healthz")[0]["epoch"]
        spec = {"vips": ["198.18.0.1"], "ports": [{"protocol": "tcp", "port": 80}], "vipRanges": ["198.18.0.0/15"]}
        controller("PUT", "/v1/services/web", spec)
        found = asyncio.run(run(controller, agents, args))
        health = controller("GET", "/healthz")[0]
        if not health["leader"] or health["epoch"] != epoch:
            die(f"the controller led in epoch {epoch}, and now: {health}")
        heap = controller.heap_megabytes()
    result = {
        "benchmark": "hostile", "cores": os.cpu_count(), "seed": args.seed, "agents": args.agents,
        "heapLimit": args.heap, "heapMegabytes": heap,
    } | found  # fmt: skip
    print(json.dumps(result, indent=1))
    keep(args.json, result)


if __name__ == "__main__":
    main()
