# SPDX-License-Identifier: Apache-2.0
"""The mux at speed, in one run: in process, and through ports beside DPDK's own forwarder and a stateful mux.

    mux_packet, in process        ns and cycles a packet, by stage: rings, services, flows, changes, a table of flows
    net_pcap -> ... -> net_null   mux, stateful mux, dpdk-testpmd's macswap and io; net_pcap repeats 64-byte packets

Those through ports take turns: each round runs all of them in a rotating order, so that other load on the machine
affects all alike. A round counts packets for some seconds after a warm-up. It reports packets a second by the clock,
and packets a second of the time that the forwarding threads really had a core (/proc/PID/task/TID/schedstat): on a
shared machine this is the fairer number, and ratios are made of it, for each round. The mux is mux/tests/still_mux: the
program's own ports, workers and tables, with a ring that does not come from ZooKeeper. Its buffers lie side by side;
testpmd's too, and besides as by default with small pages, one on each.

Writes JSON, and beside it Figures 13 and 15 of Beamer (NSDI '18) with these results and the paper's own values.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import tempfile
import time

from bench.lib.command import ROOT, cpu_model, die, keep
from bench.lib.figure import save

PCAP_MAC = bytes.fromhex("027063617000")  # of net_pcap's first port
MODES = {
    "mux": {}, "mux, 1 M buckets": {"buckets": 1 << 20}, "mux, all the time changed": {"changes": True},
    "mux, two cores": {"workers": 2}, "hunt": {"steering": "hunt"}, "maat": {"steering": "maat"},
    "othello": {"steering": "othello"}, "othello, all the time changed": {"steering": "othello", "changes": True},
    "stateful": {"flows": 65536},
    "macswap": None, "macswap, a buffer a page": None, "io": None, "io, a buffer a page": None,
}  # fmt: skip
METHODS = ("hunt", "maat", "othello")
PAPER = {"mux": 6.0, "flows": [1e3, 1e8], "stateful": [3.9, 2.3]}  # Mpps of one core: section 6.1, Figures 13 and 15
TESTPMD = "dpdk-testpmd"


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def packet(source, port, size=64):
    """A TCP segment to 10.99.0.1:80, a frame of `size` bytes; 64 are an ACK with padding."""
    length = 40 if size <= 64 else size - 14
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, length, 0, 0x4000, 64, 6, 0, source, 0x0A630001)
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    tcp = struct.pack("!HHIIBBHHH", port, 80, 1, 1, 0x50, 0x10, 1024, 0, 0)
    return (PCAP_MAC + bytes.fromhex("020000000002") + b"\x08\x00" + ip + tcp).ljust(size, b"\0")


def write_pcap(path, flows, seed, size=64):
    rng = random.Random(seed)
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for _ in range(flows):
            data = packet(rng.randrange(0x0B000000, 0x0C000000), rng.randrange(1024, 65536), size)
            out.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


def threads_ns(pid, wanted):
    """Nanoseconds for which the threads with names that begin with `wanted` had a core, and the number of threads."""
    tasks = [t for t in pathlib.Path(f"/proc/{pid}/task").iterdir() if (t / "comm").read_text().startswith(wanted)]
    if not tasks:
        die(f"process {pid} has no thread '{wanted}'")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks), len(tasks)


class Mux:
    """Counts the packets that the mux encapsulated and gave to net_null."""

    thread = "worker "
    program, memory, options = "mux/tests/still_mux", 256, ()
    stateful = "bench/mux/flowtable/still_stateful_mux"

    def __init__(self, args, vdevs, buckets=65536, workers=1, flows=0, changes=False, steering="ring"):
        backends = [f"10.1.{1 + n // 200}.{1 + n % 200}" for n in range(args.backends)]
        cores = str(args.core) if workers == 1 else ",".join(map(str, sorted(os.sched_getaffinity(0))[:workers]))
        rx = vdevs[0] if workers == 1 else vdevs[0].replace("rx_pcap=", f"rx_pcap={args.pcap},rx_pcap=")
        program = (
            [self.stateful, "--flows", str(flows)] if flows else [self.program, "--steering", steering, *self.options]
        )
        command = ["taskset", "-c", cores, args.build / program[0], *program[1:], "--memory", str(self.memory)]
        command += ["--via", "1", "--port", rx, "--port", vdevs[1]]
        command += ["--workers", str(workers)]
        command += (["--changes", "yes"] if changes else []) + ["10.99.0.1", "80", str(buckets), *backends]
        self.process = start(args, command)
        if not json.loads(self.process.stdout.readline() or "{}").get("ready"):
            die(f"the mux is not ready: {pathlib.Path(args.log).read_text()[-300:]}")
        self.process.stdout.readline()

    def ask(self):
        """All that was counted since the last time."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        counts = json.loads(self.process.stdout.readline())
        others = {name: n for name, n in counts.items() if n and name not in ("service", "seconds", "pipeline")}
        if others:
            die(f"not every packet was served: {others}")
        return counts

    def count(self):
        return self.ask()["service"]

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class Testpmd:
    """Counts the packets that testpmd gave to net_null. Its second core forwards, its first one waits for commands."""

    def __init__(self, args, vdevs, mode, is_packed=True):
        other = next(core for core in sorted(os.sched_getaffinity(0)) if core != args.core)
        command = ["stdbuf", "-oL", TESTPMD, "--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--no-shconf"]
        command += ["--iova-mode=va", "--lcores", f"0@{other},1@{args.core}", "--log-level=error"]
        command += ["--vdev", vdevs[0], "--vdev", vdevs[1]]
        command += ["--", "-i", f"--forward-mode={mode}", "--nb-cores=1", "--total-num-mbufs=32767"]
        command += ["--rxd=2048", "--txd=2048", "--burst=32"]
        command += ["--mp-alloc=anon", "--no-iova-contig"] if is_packed else []  # as the mux's pool
        self.process = start(args, command)
        self.ask("start")
        self.thread = self.forwarding_thread()

    def forwarding_thread(self):
        names = [(t / "comm").read_text().strip() for t in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()]
        return next((n for n in names if n.startswith(("rte-worker-1", "lcore-worker-1"))), None) or die(
            f"testpmd has no forwarding thread among {names}"
        )

    def ask(self, command):
        """The command's output: "set verbose" after it changes nothing and prints a known last line."""
        self.process.stdin.write(f"{command}\nset verbose 0\n")
        self.process.stdin.flush()
        lines = []
        while True:
            line = self.process.stdout.readline()
            if not line:
                die("testpmd ended: " + "".join(lines[-5:]))
            if "Change verbose level" in line:
                return lines
            lines.append(line)

    def count(self):
        lines = self.ask("show port stats 1")
        total = next(int(line.split()[1]) for line in lines if "TX-packets:" in line)
        last, self.last = getattr(self, "last", 0), total
        return total - last

    def stop(self):
        self.process.stdin.write("quit\n")
        self.process.stdin.flush()
        self.process.communicate(timeout=20)


def start(args, command):
    with open(args.log, "a") as log:
        return subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )


def start_mode(args, vdevs, mode):
    forward, _, layout = mode.partition(", ")
    return Testpmd(args, vdevs, forward, not layout) if MODES[mode] is None else Mux(args, vdevs, **MODES[mode])


def measure(args, begin, vdevs):
    """Packets a second by the clock, and by the time that the forwarding threads had a core."""
    runner = begin(args, vdevs)
    try:
        time.sleep(args.warm_up)
        runner.count()
        wall, (cpu, threads) = time.monotonic_ns(), threads_ns(runner.process.pid, runner.thread)
        time.sleep(args.seconds)
        packets = runner.count()
        wall, cpu = time.monotonic_ns() - wall, threads_ns(runner.process.pid, runner.thread)[0] - cpu
    finally:
        runner.stop()
    return {"packets": packets, "wall": packets * 1e9 / wall, "cpu": packets * 1e9 * threads / cpu, "share": cpu / wall}


def profile(args, begin, vdevs):
    """A mux's top ten by perf's clock sampling; a sentence if perf can't sample."""
    if not shutil.which("perf"):
        return ["perf is not installed"]
    runner = begin(args, vdevs)
    try:
        time.sleep(args.warm_up)
        with tempfile.TemporaryDirectory() as folder:
            data = f"{folder}/perf.data"
            record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-o", data, "-p", str(runner.process.pid)]
            done = subprocess.run(
                [*record, "--", "sleep", str(args.seconds)], capture_output=True, text=True, check=False
            )
            if done.returncode:
                return [f"perf can't sample here: {done.stderr.strip()}"]
            report = ["perf", "report", "-i", data, "--stdio", "-F", "overhead,dso,symbol", "--percent-limit", "0.5"]
            text = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    finally:
        runner.stop()
    return [line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#")][:10]


def in_process(args):
    """mux_packet's JSON; its table is printed meanwhile."""
    with tempfile.NamedTemporaryFile() as out:
        command = [args.build / "bench/mux/mux_packet", "--json", out.name, "--seed", str(args.seed)]
        command += ["--runs", str(args.runs), "--most-flows", str(args.most_flows)]
        if subprocess.run([str(word) for word in command], stderr=subprocess.DEVNULL, check=False).returncode:
            die("mux_packet failed")
        return json.loads(pathlib.Path(out.name).read_text())


def ratios(runs, mode, other):
    """The ratio of each round by itself, so that a disturbance in a round affects both sides."""
    values = [a["cpu"] / b["cpu"] for a, b in zip(runs[mode], runs[other], strict=True)]
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def through_ports(args):
    with tempfile.TemporaryDirectory(prefix="mux.") as folder:
        args.log = f"{folder}/log"
        args.pcap = f"{folder}/flows.pcap"
        write_pcap(args.pcap, args.flows, args.seed)
        vdevs = (f"net_pcap0,rx_pcap={args.pcap},infinite_rx=1", "net_null0,no-rx=1")
        runs, modes = {mode: [] for mode in MODES}, list(MODES)
        for number in range(args.rounds):
            at = number % len(modes)
            for mode in modes[at:] + modes[:at]:
                runs[mode].append(measure(args, lambda args, vdevs, mode=mode: start_mode(args, vdevs, mode), vdevs))
        top = profile(args, Mux, vdevs)
    medians = {m: {k: statistics.median(r[k] for r in runs[m]) for k in ("wall", "cpu", "share")} for m in MODES}
    wanted = [("mux", other) for other in ("macswap", "macswap, a buffer a page", "io", "stateful")]
    wanted += [(method, "macswap") for method in METHODS]
    wanted += [(mode, mode.partition(",")[0]) for mode in MODES if mode.startswith(("mux,", "othello,"))]
    return {
        "rounds": args.rounds, "seconds": args.seconds, "flows": args.flows, "unit": "packets per second",
        "median": medians, "ratios": {f"{a} / {b}": ratios(runs, a, b) for a, b in wanted},
        "runs": runs, "profile": top,
    }  # fmt: skip


def draw(result, folder):
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    median = result["ports"]["median"]
    figure, axes = plt.subplots(figsize=(7, 4))
    bars = {"io": "io", "macswap": "macswap", "mux": "mux", "mux, 1 M buckets": "1 M buckets", "stateful": "stateful"}
    values = [median[mode]["cpu"] / 1e6 for mode in bars] + [PAPER["mux"], 14.88]
    labels = [*bars.values(), "Beamer's\nmux", "10 Gb/s"]
    axes.bar_label(axes.bar(labels, values, color=["C0"] * len(bars) + ["C1", "grey"]), fmt="%.1f")
    axes.set_ylabel("Mpps of one core, 64-byte packets")
    save(figure, folder / "mux_figure13.svg")

    figure, axes = plt.subplots(figsize=(7, 4))
    rows = [
        row for row in result["packet"]["results"] if row["name"].endswith("flows") or row["name"] == "64 K buckets"
    ]
    for steering, label in (("ring", "ours"), ("flowtable", "stateful")):
        points = sorted((row["flows"], 1000 / row["median"]) for row in rows if row["steering"] == steering)
        axes.plot(*zip(*points, strict=True), "o-", label=f"{label}, in process")
    axes.plot(PAPER["flows"], [PAPER["mux"]] * 2, "C0--", label="Beamer, with network cards")
    axes.plot(PAPER["flows"], PAPER["stateful"], "C1s--", label="its Stateful")
    axes.set_xscale("log")
    axes.set_ylim(0)
    axes.set_xlabel("active flows")
    axes.set_ylabel("Mpps of one core, 64-byte packets")
    axes.legend(frameon=False)
    save(figure, folder / "mux_figure15.svg")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help="Meson's build directory")
    parser.add_argument("--rounds", type=int, default=7, help="through ports")
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--warm-up", type=float, default=0.5)
    parser.add_argument("--runs", type=int, default=9, help="in process")
    parser.add_argument("--most-flows", type=int, default=10_000_000, help="in process; 10 M take 5 GB")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--backends", type=int, default=256)
    parser.add_argument("--flows", type=int, default=4096, help="through ports: net_pcap has no more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="the figures stand beside it")
    args = parser.parse_args()
    if args.rounds < 5:
        die(f"--rounds: {args.rounds} is not allowed; allowed: 5 or more")
    if len(os.sched_getaffinity(0)) < 2:
        die("needs two cores: testpmd does not forward on its first one")
    for program in ("mux/tests/still_mux", "bench/mux/mux_packet"):
        if not (args.build / program).exists():
            die(f"--build: {args.build} has no {program}; build it first")
    if not shutil.which(TESTPMD):
        die(f"{TESTPMD} is not installed; scripts/install-deps does that")
    return args


def main():
    args = parse()
    result = {
        "benchmark": "mux", "cpu": cpu_model(), "seed": args.seed, "backends": args.backends, "frame_bytes": 64,
        "packet": in_process(args), "ports": through_ports(args),
    }  # fmt: skip
    ports = result["ports"]
    print(f"\nthrough ports, 64 bytes, {args.flows} flows, 65,536 buckets, {args.rounds} rounds\n")
    print(f"{'':28s} Mpps of core time   (lowest..highest)   Mpps by the clock   cores had")
    for mode in MODES:
        rates, median = [r["cpu"] / 1e6 for r in ports["runs"][mode]], ports["median"][mode]
        print(
            f"{mode:28s} {median['cpu'] / 1e6:17.2f}   {min(rates):7.2f}..{max(rates):<7.2f}"
            f" {median['wall'] / 1e6:19.2f} {median['share']:10.0%}"
        )
    print("\nratios of core time, median of the rounds (lowest..highest):")
    for name, ratio in ports["ratios"].items():
        print(f"  {name:36s} {ratio['median']:.2f} ({ratio['low']:.2f}..{ratio['high']:.2f})")
    print("\ntop ten of the mux:")
    for line in ports["profile"]:
        print("  " + line)
    if args.json:
        keep(args.json, result)
        draw(result, args.json.parent)


if __name__ == "__main__":
    main()
