# SPDX-License-Identifier: Apache-2.0
"""Arrays of steering othello: from the commit until all muxes serve them, and what ZooKeeper does for it.

    OthelloCommits.java (the controller's own classes) ── 3 ZooKeeper servers ── mux_reader (muxes without packets)

For each number of connections: whole arrays of another seed, then patches after a 256th of the connections moved; first
without muxes, so that what ZooKeeper does for each mux is the difference. "written": until ZooKeeper has committed,
chunks included. "served": from then until the last mux's tables have them, by the clock of the same machine. All
processes share the machine's cores, and each ZooKeeper server, which in reality has a machine of its own.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

from kazoo.client import KazooClient

from bench.controller.readers import Readers
from bench.lib.command import JAR, RESULTS, ROOT, check, die, keep
from bench.lib.ensemble import Meter, processes, start_ensemble

TARGET_SECONDS = 0.5  # of a million connections, both muxes


class Writer:
    """OthelloCommits.java."""

    def __init__(self, started, zookeeper, connections, args):
        command = ["java", f"-Xmx{args.heap}", "-cp", JAR, ROOT / "bench/controller/OthelloCommits.java"]
        command += [zookeeper, connections, args.buckets, args.seed]
        self.process = started.start("writer", command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.folder = started.folder
        self.generation = self.said()["generation"]

    def said(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else die(f"the writer has ended: see {self.folder}/writer.log")

    def commit(self, kind):
        self.process.stdin.write(f"{kind}\n".encode())
        self.process.stdin.flush()
        row = self.said()
        self.generation = row["generation"]
        return row


def commits(args, writer, meter, readers, uncounted):
    """Whole arrays and patches by turns."""
    rows = []
    for number in range(args.repetitions + uncounted):
        for kind in ("whole", "patch"):
            before = meter.read()
            row = writer.commit(kind)
            if readers.said:
                readers.wait(row["generation"])
                seen = readers.of(row["generation"], row["committed"])
                row |= {
                    "served": seen["seconds"],
                    "muxSeconds": seen["processorSeconds"],
                    "muxBytes": seen["bytesMost"],
                }
            row["zookeeper"] = {name: value - before[name] for name, value in meter.read().items()}
            row["written"] = row["committed"] - row["begun"]
            if number >= uncounted:
                rows.append(row)
    return rows


def median(rows, of):
    return statistics.median(of(row) for row in rows)


def summary(alone, served, muxes):
    """Medians of one kind; what ZooKeeper does for a mux is the difference to commits without muxes."""
    load = {}
    for name in served[0]["zookeeper"]:
        without = statistics.mean(row["zookeeper"][name] for row in alone)
        with_muxes = statistics.mean(row["zookeeper"][name] for row in served)
        load[name] = {"commit": without, "mux": (with_muxes - without) / muxes}
    return {
        "bytes": median(served, lambda row: row["bytes"]),
        "build": median(served, lambda row: row["buildSeconds"]),
        "encode": median(served, lambda row: row["encodeSeconds"]),
        "written": median(served, lambda row: row["written"]),
        "served": median(served, lambda row: row["served"][-1]),
        "both": median(served, lambda row: row["written"] + row["served"][-1]),
        "most": max(row["written"] + row["served"][-1] for row in served),
        "muxSeconds": median(served, lambda row: row["muxSeconds"] / muxes),
        "muxBytes": median(served, lambda row: row["muxBytes"]),
        "zookeeper": load,
    }


def add_muxes(zookeeper, count):
    """As a controller does, which does not run here; the cluster has no logins."""
    client = KazooClient(hosts=zookeeper, timeout=30)
    client.start(timeout=60)
    for number in range(count):
        client.create(f"/fairlead/muxes/mux{number}", b'{"format":1}', makepath=True)
    client.stop()
    client.close()


def measure(args, connections):
    with processes() as started:
        zookeeper = start_ensemble(started, args.zookeeper_heap)
        meter = Meter(started, zookeeper)
        writer = Writer(started, zookeeper, connections, args)
        readers = Readers(started, args.build / "bench/controller/mux_reader", zookeeper)
        alone = commits(args, writer, meter, readers, args.repetitions)
        add_muxes(zookeeper, args.muxes)
        readers.start(args.muxes, writer.generation)
        served = commits(args, writer, meter, readers, 1)
    kinds = {
        kind: summary(
            [row for row in alone if row["kind"] == kind],
            [row for row in served if row["kind"] == kind],
            args.muxes,
        )
        for kind in ("whole", "patch")
    }
    return {"connections": connections, "kinds": kinds, "alone": alone, "served": served}


def show(result):
    for kind, row in result["kinds"].items():
        load = row["zookeeper"]
        print(
            f"{result['connections']:10,d} {kind:5s} {row['bytes'] / 1e6:8.3f} MB: build {row['build']:.3f} s, encode "
            f"{row['encode']:.3f} s, written {row['written']:.3f} s, served {row['served']:.3f} s; both "
            f"{row['both']:.3f} s, at most {row['most']:.3f} s",
            flush=True,
        )
        for whose in ("commit", "mux"):
            print(
                f"{'':17s}ZooKeeper, for each {whose}: {load['packets_received'][whose]:.0f} requests, "
                f"{load['bytes_received_count'][whose] / 1e6:.3f} MB written, "
                f"{load['processor_seconds'][whose]:.3f} s of processors",
                flush=True,
            )


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench", help="of meson, release")
    parser.add_argument("--connections", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--buckets", type=int, default=65536)
    parser.add_argument("--muxes", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=5, help="of whole arrays and of patches")
    parser.add_argument("--heap", default="4g", help="of the writer")
    parser.add_argument("--zookeeper-heap", default="2g", help="of each server; 768m is too little for 10 M")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "arrays.json")
    args = parser.parse_args()
    check(JAR, args.build / "bench/controller/mux_reader")
    if args.muxes < 1 or args.repetitions < 1:
        die("--muxes and --repetitions are at least 1")
    return args


def main():
    args = parse()
    results = []
    for connections in args.connections:
        results.append(measure(args, connections))
        show(results[-1])
    result = {
        "benchmark": "arrays", "unit": "seconds", "cores": os.cpu_count(), "seed": args.seed, "buckets": args.buckets,
        "muxes": args.muxes, "repetitions": args.repetitions, "targetSeconds": TARGET_SECONDS, "results": results,
    }  # fmt: skip
    keep(args.json, result)


if __name__ == "__main__":
    main()
