# SPDX-License-Identifier: Apache-2.0
"""The control plane at its largest: Figures 23 and 24 of Beamer (NSDI '18), on one machine.

    controller (-Xmx1g) ── REST ── this script
        │
    3 ZooKeeper servers ── 100 mux readers, a process and a session each (mux_reader.c), no packets

A service of 65,535 backends and 8,388,608 buckets, dealt at random first (random_ring.c). Figure 23: how long it takes
to remove, to add and to weigh 1, 640, 6,400, 16,000 and 32,000 backends, from the REST call to its complete answer,
without readers. Figure 24: the same changes with the readers attached; from the commit (latest_gen's time in ZooKeeper)
until each reader's tables serve the generation, by the clock of the same machine; and the bytes that each received.

Readers share the machine's cores with everything else, so their own processor time is reported separately.
"""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import time

from kazoo.client import KazooClient

from bench.controller.readers import Readers
from bench.lib.command import JAR, RESULTS, ROOT, check, die, keep
from bench.lib.ensemble import CONTROLLERS_LOGIN, Controller, processes, start_ensemble

SERVICE, WINDOW_SECONDS = "size", 1
SIZES = (1, 640, 6400, 16000, 32000)
KINDS = ("remove", "add", "weight")
RING = f"/fairlead/services/{SERVICE}/ring"
CHUNK = 512 * 1024


def address(number):
    return f"10.{number >> 8}.{number & 255}.1"


def shuffle(args, client, controller):
    """Adds a snapshot of a random ring after the service's generations, like the first one of a restored service."""
    service = controller("GET", f"/v1/services/{SERVICE}")[0]
    controller.stop()
    generation = service["generation"] + 1
    command = [args.build / "bench/controller/random_ring", service["id"], generation, args.buckets, args.backends]
    command += [int(time.time()) - 10 * WINDOW_SECONDS, args.seed]
    snapshot = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE).stdout
    path = f"{RING}/gen/{generation:010d}/snapshot"
    client.create(path, makepath=True)
    for at in range(0, len(snapshot), CHUNK):
        client.create(f"{path}/{at // CHUNK:04d}", snapshot[at : at + CHUNK])
    commit = client.transaction()
    commit.set_data(f"{RING}/latest_snapshot", str(generation).encode())
    commit.set_data(f"{RING}/latest_gen", str(generation).encode())
    commit.commit()
    return len(snapshot), controller.start()


def create(args, controller):
    controller("POST", "/v1/services", {
        "name": SERVICE, "vips": ["198.18.0.1"], "ports": [{"protocol": "tcp", "port": 80}], "buckets": args.buckets,
        "vipRanges": ["198.18.0.0/15"], "windowSeconds": WINDOW_SECONDS,
    })  # fmt: skip
    return controller.change(
        SERVICE, [{"op": "add", "id": n, "address": address(n)} for n in range(1, args.backends + 1)]
    )[1]


def steps(args, draw):
    """(kind, size, changes): removes some and adds them again, gives some a random weight and restores it."""
    for size in (size for size in SIZES if size < args.backends):
        some = draw.sample(range(1, args.backends + 1), size)
        yield "remove", size, [{"op": "remove", "id": n} for n in some]
        yield "add", size, [{"op": "add", "id": n, "address": address(n)} for n in some]
        yield "weight", size, [{"op": "weight", "id": n, "weight": draw.randrange(50, 200)} for n in some]
        yield "weight", size, [{"op": "weight", "id": n, "weight": 100} for n in some]


def pause():
    """Waits until no bucket is chained any more, and every id is free again."""
    time.sleep(WINDOW_SECONDS + 1)


def measure_durations(args, controller):
    rows = []
    for repetition in range(args.repetitions):
        for kind, size, changes in steps(args, random.Random(args.seed + repetition)):
            pause()
            answer, took = controller.change(SERVICE, changes)
            rows.append({"kind": kind, "size": size, "seconds": took, "moved": answer["movedBuckets"]})
            print(f"  {kind:6s} {size:6d} backends: {answer['movedBuckets']:8d} buckets, {took:6.3f} s", flush=True)
    return rows


def commit_time(client, generation):
    """By the clock of the leading ZooKeeper server; ours may be behind it."""
    client.sync(RING)
    value, stat = client.get(f"{RING}/latest_gen")
    if int(value) != generation:
        die(f"latest_gen is {value.decode()} after generation {generation} was answered")
    return stat.mtime / 1000


def measure_propagation(args, controller, client, readers):
    rows = []
    draw = random.Random(args.seed)
    for kind, size, changes in steps(args, draw):
        for one in [changes] if size > 1 else [changes, *small(args, draw)]:
            pause()
            generation = controller.change(SERVICE, one)[0]["generation"]
            committed = commit_time(client, generation)
            readers.wait(generation)
            row = readers.of(generation, committed)
            rows.append({"kind": kind if one is changes else "weight", "size": size} | row)
            times = row["seconds"]
            label = rows[-1]["kind"]
            print(
                f"  {label:6s} {size:6d} backends: median {statistics.median(times):6.3f} s, last {times[-1]:6.3f} s, "
                f"{row['bytesMost']:9d} bytes, {row['processorSeconds']:6.2f} s of the readers' own",
                flush=True,
            )
    return rows


def small(args, draw):
    """More changes of one backend, for a median of many commits."""
    for _ in range(args.small):
        yield [{"op": "weight", "id": draw.randrange(1, args.backends + 1), "weight": draw.randrange(50, 200)}]


def targets(durations, propagation, heap):
    slowest = max(durations, key=lambda row: row["seconds"])
    large = [row for row in propagation if row["size"] == max(SIZES)]
    one = [s for row in propagation if row["size"] == 1 for s in row["seconds"]]
    rows = [("slowest operation, seconds", slowest["seconds"], 2), ("heap of the controller, MB", heap["used"], 1024)]
    if propagation:
        rows += [
            ("most bytes a mux received for one change", max(row["bytesMost"] for row in propagation), 10_000_000),
            ("one backend, median of all muxes and commits, seconds", statistics.median(one), 0.050),
        ]
    if large:
        last = max(large, key=lambda row: row["seconds"][-1])
        rows += [("32,000 backends at the last mux, seconds", last["seconds"][-1], 5)]
        rows += [("  of which readers' own processor time / cores", last["processorSeconds"] / os.cpu_count(), None)]
    return [{"what": what, "value": value, "target": target} for what, value, target in rows]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench", help="of meson, release")
    parser.add_argument("--buckets", type=int, default=8388608)
    parser.add_argument("--backends", type=int, default=65535)
    parser.add_argument("--readers", type=int, default=100, help="muxes; 0 leaves Figure 24 out")
    parser.add_argument("--repetitions", type=int, default=3, help="of Figure 23")
    parser.add_argument("--small", type=int, default=5, help="further commits of one backend after each, for Figure 24")
    parser.add_argument("--heap", default="1g", help="of the controller")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "size.json")
    args = parser.parse_args()
    check(JAR, args.build / "bench/controller/mux_reader", args.build / "bench/controller/random_ring")
    if args.repetitions < 1 or args.readers < 0 or args.small < 0:
        die("--repetitions is at least 1, --readers and --small at least 0")
    return args


def main():
    args = parse()
    with processes() as started:
        zookeeper = start_ensemble(started)
        client = KazooClient(hosts=zookeeper, timeout=30, auth_data=[("digest", CONTROLLERS_LOGIN)])
        client.start(timeout=60)
        controller = Controller(started, zookeeper, args.heap)
        controller.start()
        filled = create(args, controller)
        print(f"{args.backends} backends added to an empty ring in one request: {filled:.3f} s", flush=True)
        snapshot_bytes, load = shuffle(args, client, controller)
        print(
            f"a random ring, a snapshot of {snapshot_bytes} bytes: the controller leads after {load:.3f} s", flush=True
        )
        print("duration of an operation (Figure 23)", flush=True)
        durations = measure_durations(args, controller)
        propagation = []
        if args.readers:
            print(f"from the commit to {args.readers} muxes (Figure 24)", flush=True)
            logins = [controller.add_mux(f"mux{number}") for number in range(args.readers)]
            readers = Readers(started, args.build / "bench/controller/mux_reader", zookeeper, logins)
            readers.start(args.readers, int(client.get(f"{RING}/latest_gen")[0]))
            propagation = measure_propagation(args, controller, client, readers)
        heap = controller.heap_megabytes()
        client.stop()
    result = {
        "benchmark": "size", "unit": "seconds", "cores": os.cpu_count(), "seed": args.seed, "buckets": args.buckets,
        "backends": args.backends, "readers": args.readers, "repetitions": args.repetitions, "heap": heap,
        "fillSeconds": filled, "loadSeconds": load, "snapshotBytes": snapshot_bytes,
        "targets": targets(durations, propagation, heap), "durations": durations, "propagation": propagation,
    }  # fmt: skip
    for row in result["targets"]:
        target = "" if row["target"] is None else f" (target: under {row['target']:,})"
        print(f"{row['what']}: {row['value']:,.3f}{target}")
    keep(args.json, result)
    print(f"{args.json} has every sample; bench/run size_plot draws it")


if __name__ == "__main__":
    main()
