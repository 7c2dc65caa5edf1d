# SPDX-License-Identifier: Apache-2.0
"""How long packets are in the mux: through a memif, at 10 %, 50 % and 90 % of its capacity, and overloaded.

    mux_delay, one core  ====  memif, shared memory  ====  mux | dpdk-testpmd macswap, the other core

In each round the mux's capacity is measured first; then both forwarders get the same loads, parts of it, in turns. Last
a mux that tags what it sends, and so is slower than the other end, is offered a tenth more than its own capacity: then
the ring of packets before it is full, a packet waits for all that are in it, and those that find no place are refused.
macswap's time is that of the memif, the other end and the machine; the mux's additional time is its own. Percentiles
are medians over short windows: a shared machine takes a core away for milliseconds from time to time. The mux is
mux/tests/still_mux, 65,536 buckets, SipHash; "spin": its worker does not sleep while there are packets.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

from bench.lib.command import ROOT, cpu_model, die, keep

PARTS = (0.1, 0.5, 0.9)
OVERLOAD = 1.1  # as in the paper: 6.6 of 6 Mpps
OVERLOADED_LONGER = 4  # than other windows: an excess of a tenth takes 1.5 ms to fill the ring
RING = 2048  # packets of a memif's ring: rsize=11
TAGGED = "mux, tags"
KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
SPINS = "mux, spin"
SPIN = 1_000_000  # microseconds, the most: it does not sleep while there are packets
FORWARDERS = ("mux", SPINS, "macswap")
ADDED = {"mux": "added", SPINS: "added_spin"}
PERCENTILES = ("p50", "p99", "p999")


def forwarder(args, name, device, folder):
    """The command that returns packets on the memif they came from."""
    if name.startswith("mux"):
        backends = [f"10.1.{1 + n // 200}.{1 + n % 200}" for n in range(args.backends)]
        still_mux = args.build / "mux/tests/still_mux"
        key = ["--tag-key", folder / "key"] if name == TAGGED else []
        spin = ["--spin", SPIN] if name == SPINS else []
        command = ["taskset", "-c", args.cores[1], still_mux, *key, *spin, "--via", "0", "--port", device]
        return [*command, "10.99.0.1", "80", "65536", *backends]
    command = ["dpdk-testpmd", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--no-shconf", "--iova-mode=va"]
    command += ["--lcores", f"0@{args.cores[0]},1@{args.cores[1]}", "--log-level=error", "--vdev", device, "--", "-i"]
    command += ["--forward-mode=macswap", "--nb-cores=1", "--port-topology=loop", "--total-num-mbufs=32767"]
    return [*command, "--auto-start"]


def measure(args, name, rate, longer=1):
    """mux_delay's figures at a rate, medians over its windows; rate 0: as fast as possible.

    `longer`: by so much windows are longer, and as many fewer.
    """
    with tempfile.TemporaryDirectory(prefix="delay.") as folder, open(f"{folder}/log", "w+") as log:
        socket, key = f"{folder}/memif", pathlib.Path(folder, "key")
        key.touch(mode=0o600)
        key.write_text(f"{KEY}\n")
        words = ["taskset", "-c", args.cores[0], args.build / "bench/mux/mux_delay", "--socket", socket, "--rate", rate]
        words += ["--windows", max(1, args.windows // longer), "--seconds", args.seconds * longer]
        words += ["--flows", args.flows, "--seed", args.seed, "--steady", int(longer > 1)]
        mine = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=log, text=True)
        mine.stdout.readline()
        device = f"net_memif0,role=client,id=0,rsize=11,socket-abstract=no,mac=02:00:00:00:00:01,socket={socket}"
        command = list(map(str, forwarder(args, name, device, pathlib.Path(folder))))
        theirs = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log, text=True)
        try:
            text, _ = mine.communicate(timeout=120)
        finally:
            mine.kill()
            theirs.terminate()
            theirs.wait(20)
        if mine.returncode:
            log.seek(0)
            die(f"{name} at {rate} packets a second: {log.read()[-400:]}")
        windows = [json.loads(line) for line in text.splitlines()]
        result = {name: statistics.median(window[name] for window in windows) for name in ("pps", *PERCENTILES)}
        return result | {name: sum(window[name] for window in windows) for name in ("sent", "lost", "refused")}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help="Meson's build directory")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--windows", type=int, default=200, help="of each round, load and forwarder")
    parser.add_argument("--seconds", type=float, default=0.005, help="of a window")
    parser.add_argument("--backends", type=int, default=256)
    parser.add_argument("--flows", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    args.cores = sorted(os.sched_getaffinity(0))
    if args.rounds < 3:
        die(f"--rounds: {args.rounds} is not allowed; allowed: 3 or more")
    if len(args.cores) < 2:
        die("needs two cores: one forwards, the other one sends and receives")
    for program in ("mux/tests/still_mux", "bench/mux/mux_delay"):
        if not (args.build / program).exists():
            die(f"--build: {args.build} has no {program}; build it first")
    if not shutil.which("dpdk-testpmd"):
        die("dpdk-testpmd is not installed; scripts/install-deps does that")
    return args


def run(args):
    rounds = []
    for number in range(args.rounds):
        turn = FORWARDERS if number % 2 else FORWARDERS[::-1]
        capacity = {name: measure(args, name, 0)["pps"] for name in turn}
        loads = []
        for part in PARTS:
            rate = round(part * capacity["mux"])
            loads.append({"part": part, "rate": rate} | {name: measure(args, name, rate) for name in turn})
        most = measure(args, TAGGED, 0)["pps"]
        overload = {"capacity": most} | measure(args, TAGGED, round(OVERLOAD * most), OVERLOADED_LONGER)
        rounds.append({"capacity": capacity, "loads": loads, "overload": overload})
    return rounds


def overloaded(rounds):
    """Medians of the mux's percentiles, and the share of the offered packets that did not come back.

    `full` is how long a full ring takes, at the rate at which packets came back.
    """
    runs = [one["overload"] for one in rounds]
    result = {key: statistics.median(each[key] for each in runs) for key in ("capacity", "pps", *PERCENTILES)}
    offered = sum(each["sent"] + each["refused"] for each in runs)
    dropped = sum(each["lost"] + each["refused"] for each in runs) / offered
    full = RING * 1e9 / max(1, result["pps"])
    return result | {"part": OVERLOAD, "ring": RING, "dropped": dropped, "full": full}


def summary(rounds, at):
    """For one load: medians of each forwarder's percentiles, their difference, and the losses."""
    loads = [one["loads"][at] for one in rounds]
    result = {"part": loads[0]["part"], "pps": statistics.median(load["rate"] for load in loads)}
    for name in FORWARDERS:
        sent = sum(load[name]["sent"] for load in loads)
        result[name] = {p: statistics.median(load[name][p] for load in loads) for p in PERCENTILES}
        result[name] |= {what: sum(load[name][what] for load in loads) / sent for what in ("lost", "refused")}
    for name, key in ADDED.items():
        result[key] = {p: statistics.median(load[name][p] - load["macswap"][p] for load in loads) for p in PERCENTILES}
    return result


def main():
    args = parse()
    rounds = run(args)
    capacity = {name: statistics.median(one["capacity"][name] for one in rounds) for name in FORWARDERS}
    result = {
        "benchmark": "delay", "cpu": cpu_model(), "seed": args.seed, "flows": args.flows, "backends": args.backends,
        "unit": "nanoseconds", "windows": args.windows, "seconds": args.seconds, "capacity": capacity,
        "median": [summary(rounds, at) for at in range(len(PARTS))], "overload": overloaded(rounds), "rounds": rounds,
    }  # fmt: skip
    print(f"capacity by memif: mux {capacity['mux'] / 1e6:.2f} Mpps, macswap {capacity['macswap'] / 1e6:.2f} Mpps\n")
    print("microseconds                  median      99 %    99.9 %      lost    refused")
    for load in result["median"]:
        print(f"{load['part']:.0%}, {load['pps'] / 1e6:.2f} Mpps")
        for name in FORWARDERS:
            row = load[name]
            print(
                f"  {name:24s}"
                + "".join(f"{row[p] / 1000:10.2f}" for p in PERCENTILES)
                + f"{row['lost']:10.1e} {row['refused']:10.1e}"
            )
        for name, key in ADDED.items():
            print(f"  {f'what {name} adds':24s}" + "".join(f"{load[key][p] / 1000:10.2f}" for p in PERCENTILES))
    row = result["overload"]
    what = f"{row['dropped']:.1%} of packets dropped, a full ring takes {row['full'] / 1000:.2f}"
    print(f"{OVERLOAD:.0%} of the capacity of a mux that tags, {row['capacity'] / 1e6:.2f} Mpps: {what}")
    print(f"  {TAGGED:24s}" + "".join(f"{row[p] / 1000:10.2f}" for p in PERCENTILES))
    if args.json:
        keep(args.json, result)


if __name__ == "__main__":
    main()
