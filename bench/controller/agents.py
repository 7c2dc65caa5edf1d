# SPDX-License-Identifier: Apache-2.0
"""Many agents that report to one controller: its processor time, its memory, and how long reports take."""

import argparse
import asyncio
import http.client
import json
import os
import pathlib
import random
import resource
import time

from bench.controller.agent_load import Load, server_token
from bench.lib.command import JAR, RESULTS, check, die, keep
from bench.lib.ensemble import ADMIN, Controller, processes, secret, start_ensemble

TICKS = os.sysconf("SC_CLK_TCK")
POINTS = (0.5, 0.9, 0.99, 0.999, 1)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--services", type=int, default=20, help="each server is a backend of one")
    parser.add_argument("--buckets", type=int, default=65536, help="of each service")
    parser.add_argument(
        "--asked", type=float, default=0.1, help="share of the servers that are drained, and then asked"
    )
    parser.add_argument("--seconds", type=int, default=60, help="of each measurement")
    parser.add_argument("--settle", type=int, default=30, help="seconds before each measurement")
    parser.add_argument("--heap", default="1g", help="of the controller")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "agents.json")
    args = parser.parse_args()
    check(JAR)
    if not 1 <= args.services <= args.agents <= 60_000:
        die("--agents is 1..60000, --services 1..agents")
    return args


def allow_sockets(needed):
    """For this process and the controller, which inherits it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        die(f"{needed} open files are needed, {hard} are allowed: see ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def tokens(folder, servers):
    lines = [f"admin admin plain:{ADMIN}"]
    lines += [f"server{number} server={address} plain:{token}" for number, (address, token) in enumerate(servers)]
    return secret(folder / "tokens", *lines)


def make_services(controller, args, servers):
    """Server n is backend 1 + n // services of service n % services."""
    for number in range(args.services):
        mine = servers[number :: args.services]
        body = {"vips": [f"198.18.{number >> 8}.{number & 255}"], "ports": [{"protocol": "tcp", "port": 80}]}
        body |= {"vipRanges": ["198.18.0.0/15"]}
        body |= {"buckets": args.buckets, "windowSeconds": 1, "holdSeconds": 86400}
        body |= {"pool": [{"id": 1 + n, "address": address} for n, (address, _) in enumerate(mine)]}
        controller("PUT", f"/v1/services/s{number}", body)


def drain(controller, args):
    """The first backends of each service: all their buckets move and are held, and their agents are asked."""
    each = args.agents // args.services
    count = max(1, int(each * args.asked))
    for number in range(args.services):
        changes = [{"op": "weight", "id": 1 + n, "weight": 0} for n in range(min(count, each - 1) or 1)]
        controller.change(f"s{number}", changes)
    return count * args.services


class Meter:
    """Processor seconds and memory of the controller."""

    def __init__(self, process):
        self.process = process

    def seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_megabytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) // 1024


def scrape(controller):
    """Seconds that the metrics take, the second time."""
    for _ in range(2):
        begun = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", controller.port, timeout=60)
        connection.request("GET", "/metrics", headers=controller.authorization)
        text = connection.getresponse().read()
        connection.close()
    if b"fairlead_controller_agent_connections" not in text:
        die("the metrics lack agents")
    return time.monotonic() - begun


async def measure(what, load, meter, args):
    await asyncio.sleep(args.settle)
    load.reset()
    before = meter.seconds()
    begun = load.loop.time()
    late = await load.lag(args.seconds)
    took = load.loop.time() - begun
    delays = sorted(load.delays)
    if not delays:
        die("no report was answered")
    return {
        "what": what,
        "seconds": took,
        "reportsPerSecond": len(delays) / took,
        "withQuestionPerSecond": load.questions / took,
        "processorShare": (meter.seconds() - before) / took,
        "processorMicrosecondsPerReport": (meter.seconds() - before) / len(delays) * 1e6,
        "delayMilliseconds": {str(at): 1000 * delays[min(int(at * len(delays)), len(delays) - 1)] for at in POINTS},
        "generatorLateMilliseconds": 1000 * late,
        "residentMegabytes": meter.resident_megabytes(),
        "errors": load.errors,
        "refused": load.refused,
    }


async def run(controller, servers, args):
    load = Load(controller.port, args.seed)
    meter = Meter(controller.process)
    idle = meter.resident_megabytes()
    before = meter.seconds()
    await asyncio.sleep(args.settle)
    idle_share = (meter.seconds() - before) / args.settle
    await load.connect(servers)
    rows = [await measure("nothing is asked", load, meter, args)]
    asked = await asyncio.to_thread(drain, controller, args)
    rows.append(await measure(f"{asked} agents are asked", load, meter, args))
    load.is_over = True
    scrape_seconds = await asyncio.to_thread(scrape, controller)
    listing, list_seconds = await asyncio.to_thread(controller, "GET", "/v1/agents")
    states = {state: sum(each["state"] == state for each in listing) for state in {each["state"] for each in listing}}
    if states != {"reporting": args.agents}:
        die(f"all {args.agents} agents should be reporting, but: {states}")
    return {
        "residentBefore": idle,
        "processorShareBefore": idle_share,
        "rows": rows,
        "listSeconds": list_seconds,
        "scrapeSeconds": scrape_seconds,
    }


def main():
    args = parse()
    allow_sockets(args.agents + 1000)
    draw = random.Random(args.seed)
    servers = [(f"10.{1 + n // 62500}.{n // 250 % 250}.{1 + n % 250}", server_token(draw)) for n in range(args.agents)]
    with processes() as started:
        zookeeper = start_ensemble(started)
        controller = Controller(started, zookeeper, args.heap, tokens=tokens(started.folder, servers))
        controller.start()
        make_services(controller, args, servers)
        found = asyncio.run(run(controller, servers, args))
        heap = controller.heap_megabytes()
    result = {
        "benchmark": "agents", "cores": os.cpu_count(), "seed": args.seed, "agents": args.agents,
        "services": args.services, "buckets": args.buckets, "heap": heap,
    } | found  # fmt: skip
    print(json.dumps(result, indent=1))
    keep(args.json, result)


if __name__ == "__main__":
    main()
