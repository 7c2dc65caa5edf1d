# SPDX-License-Identifier: Apache-2.0
"""A cluster of many services: how long to create one, to load all in a controller, to serve all in a mux."""

import argparse
import os
import pathlib
import statistics
import subprocess
import time

from bench.controller.readers import logged_in
from bench.lib.command import JAR, RESULTS, ROOT, check, die, keep
from bench.lib.ensemble import TIMEOUT_SECONDS, Controller, processes, start_ensemble


def create(controller, number, args):
    """Creates one service with its pool, in two requests: the seconds of each."""
    name = f"s{number}"
    pool = [
        {"op": "add", "id": n, "address": f"10.{number >> 8}.{number & 255}.{n}"} for n in range(1, args.backends + 1)
    ]
    made = controller("POST", "/v1/services", {
        "name": name, "vips": [f"198.18.{number >> 8}.{number & 255}"], "ports": [{"protocol": "tcp", "port": 80}],
        "vipRanges": ["198.18.0.0/15"], "buckets": args.buckets,
    })[1]  # fmt: skip
    return made, controller.change(name, pool)[1]


class Reader:
    """One mux; it reports the sum of all generations."""

    def __init__(self, started, program, zookeeper, login):
        command = [program, "mux0", zookeeper]
        self.process = started.start(
            "reader", command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=logged_in(login)
        )

    def until(self, generations):
        """Seconds by the clock, processor seconds, bytes and resident KB at that moment."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        for line in self.process.stdout:
            generation, at, cpu, received, resident = (int(word) for word in line.split())
            if generation >= generations:
                return at / 1e9, cpu / 1e9, received, resident
            if time.monotonic() > deadline:
                break
        die(f"the mux has not all {generations} generations after {TIMEOUT_SECONDS} s, or has ended")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench", help="of meson, release")
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--buckets", type=int, default=4096)
    parser.add_argument("--backends", type=int, default=40, help="in each service")
    parser.add_argument("--heap", default="1g", help="of the controller")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "services.json")
    args = parser.parse_args()
    check(JAR, args.build / "bench/controller/mux_reader")
    if not 1 <= args.services <= 4096 or not 1 <= args.backends <= 250:
        die("--services is 1..4096, --backends 1..250")
    return args


def main():
    args = parse()
    with processes() as started:
        zookeeper = start_ensemble(started)
        controller = Controller(started, zookeeper, args.heap)
        controller.start()
        times = [create(controller, number, args) for number in range(args.services)]
        controller.stop()
        load = controller.start()
        begun = time.time()
        login = controller.add_mux("mux0")
        reader = Reader(started, args.build / "bench/controller/mux_reader", zookeeper, login)
        served, cpu, received, resident = reader.until(2 * args.services)
        answers, changes = [], []
        for number in range(min(args.services, 50)):
            sent = time.time()
            answers.append(controller.change(f"s{number}", [{"op": "weight", "id": 1, "weight": 50}])[1])
            changes.append(reader.until(2 * args.services + number + 1)[0] - sent)
        heap = controller.heap_megabytes()
    result = {
        "benchmark": "services", "unit": "seconds", "cores": os.cpu_count(), "services": args.services,
        "buckets": args.buckets, "backends": args.backends, "heap": heap,
        "createMedian": statistics.median(time[0] for time in times),
        "fillMedian": statistics.median(time[1] for time in times),
        "controllerLoads": load, "muxServesAll": served - begun, "muxProcessor": cpu, "muxBytes": received,
        "muxResidentKb": resident, "changeAnsweredMedian": statistics.median(answers),
        "changeToMuxMedian": statistics.median(changes),
    }  # fmt: skip
    for what, value in result.items():
        print(f"{what}: {value}")
    keep(args.json, result)


if __name__ == "__main__":
    main()
