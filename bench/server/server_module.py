# SPDX-License-Identifier: Apache-2.0
"""The kernel module's cost in a virtual machine: a bulk transfer with and without it.

    namespace client        namespace mux                            namespace server
    10.2.0.2 eth0 -- veth -- near 10.2.0.1 | far 10.1.0.1 -- veth -- eth0 10.1.0.21, the module
    sender, processor 0     encapsulate.bpf.o at "near"             10.99.0.1 and 10.99.0.2 on lo; receiver, processor 1

The same bytes go to 10.99.0.2, plainly, and to 10.99.0.1, which the mux encapsulates and the module takes out again;
both ways are forwarded by the mux namespace and pass its XDP program. The server's side of it, from the interrupt on,
is processor 1, everything else processor 0. Plain and module take turns within a round, in an order that changes, and
the ratio is each round's own. Packets are as long as on copper (no segmentation or receive offload).

The machine's processors are emulated (TCG): an instruction costs what its translation costs. Ratios on the same work
mean something, absolute figures nothing. Run as root, after: meson compile -C BUILD server-module-bench
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from bench.lib.command import die, keep
from lab.deadline import LabError
from lab.vm.image import initramfs
from lab.vm.kernel import ROOT, choose, kernels
from lab.vm.machine import Machine

PLAIN, ENCAPSULATED = "10.99.0.2", "10.99.0.1"
WAYS = {"plain": PLAIN, "module": ENCAPSULATED}
MEMORY_MIB = 1024
UP_SECONDS = 240
SETUP = """
insmod /modules/fairlead.ko
# A processor takes packets in by one queue, and TCP's window is larger than its default.
echo 10000 >/proc/sys/net/core/netdev_max_backlog
for namespace in client mux server; do
  ip netns add $namespace
  ip -n $namespace link set lo up
done
ip -n mux link add near type veth peer name eth0 netns client
ip -n mux link add far type veth peer name eth0 netns server
ip -n mux link set far mtu 1600
ip -n server link set eth0 mtu 1600
ip -n client addr add 10.2.0.2/24 dev eth0
ip -n mux addr add 10.2.0.1/24 dev near
ip -n mux addr add 10.1.0.1/24 dev far
ip -n server addr add 10.1.0.21/24 dev eth0
ip -n server addr add 10.99.0.1/32 dev lo
ip -n server addr add 10.99.0.2/32 dev lo
for link in "client eth0" "mux near" "mux far" "server eth0"; do
  set -- $link
  ip -n $1 link set $2 up
  ip netns exec $1 ethtool -K $2 tso off gso off gro off
done
ip -n client route add default via 10.2.0.1
ip -n server route add default via 10.1.0.1
ip -n mux route add 10.99.0.2/32 via 10.1.0.21
ip netns exec mux sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
ip -n mux link set dev near xdp object /share/encapsulate.bpf.o section xdp
ip netns exec mux ethtool -K near gro off
ip netns exec server sh -c 'echo 2 >/sys/class/net/eth0/queues/rx-0/rps_cpus'
ip netns exec mux sh -c 'echo 1 >/sys/class/net/far/queues/rx-0/rps_cpus'
ip netns exec server fairlead-server attach --form module --address 10.1.0.21 --peers 10.1.0.0/24 --untagged on
"""


def delivered(machine: Machine) -> int:
    shown = machine.check("ip", "netns", "exec", "server", "fairlead-server", "show", "--form", "module", "-o", "json")
    counters = json.loads(shown)["counters"]
    lost = {name: n for name, n in counters.items() if n and name.startswith("drop_")}
    if lost:
        die(f"the module dropped packets: {lost}")
    return counters["deliver_local_socket"] + counters["deliver_syn"]


def transfer(machine: Machine, way: str, megabytes: int) -> dict[str, float]:
    """MB a second, and the milliseconds of processor time that a MB cost at each end."""
    before = delivered(machine)
    text = machine.check("bulk", "client", "server", WAYS[way], str(megabytes), seconds=600)
    through = delivered(machine) - before
    if (through > megabytes * 600) != (way == "module"):
        die(f"{through} packets went through the module on the way '{way}'")
    run = json.loads(text)
    return {
        "megabytesPerSecond": megabytes / run["seconds"],
        "receiverMillisecondsPerMegabyte": 1000 * run["receiverBusy"] / megabytes,
        "senderMillisecondsPerMegabyte": 1000 * run["senderBusy"] / megabytes,
        "receiverBusy": run["receiverBusy"] / run["seconds"],
    }


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def measure_transfers(machine: Machine, rounds: int, megabytes: int) -> dict:
    ways = list(WAYS)
    for way in ways:
        transfer(machine, way, max(1, megabytes // 10))  # caches, neighbours, translated code
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for number in range(rounds):
        for way in ways if number % 2 else reversed(ways):
            runs[way].append(transfer(machine, way, megabytes))
    pairs = list(zip(runs["module"], runs["plain"], strict=True))
    ratios = {key: spread([a[key] / b[key] for a, b in pairs]) for key in runs["plain"][0]}
    return {"rounds": rounds, "megabytes": megabytes, "ratios": ratios, "runs": runs}


def measure(release: str, args: argparse.Namespace) -> dict:
    kernel = choose(release)
    programs = [args.build / "bench/server/bulk", args.build / "server" / "fairlead-server"]
    archive = initramfs(
        kernel, args.build / "lab" / "vm" / "vm-agent", programs, [args.build / "bench/server/encapsulate.bpf.o"]
    )
    with tempfile.TemporaryDirectory(prefix="fairlead-") as directory:
        machine = Machine(Path(directory), kernel, archive, setup=SETUP, memory=MEMORY_MIB, processors=2)
        with machine:
            machine.wait(UP_SECONDS)
            result = measure_transfers(machine, args.rounds, args.megabytes)
            if complaints := machine.complaints():
                die(f"the kernel complains: {complaints[0]}")
    return result | {"kernel": kernel.release}


def report(result: dict) -> None:
    work = f"{result['megabytes']} MB a transfer, {result['rounds']} rounds"
    print(f"kernel {result['kernel']}, emulated processors: {work}")
    print(f"{'':34s}{'plain':>9s}{'module':>9s}   module / plain (lowest..highest)")
    labels = {
        "megabytesPerSecond": "MB a second",
        "receiverMillisecondsPerMegabyte": "ms of the server's processor a MB",
    }
    for key, label in labels.items():
        plain, module = (statistics.median(run[key] for run in result["runs"][way]) for way in ("plain", "module"))
        ratio = result["ratios"][key]
        print(f"{label:34s}{plain:9.2f}{module:9.2f}   {ratio['median']:.2f} ({ratio['low']:.2f}..{ratio['high']:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench", help="Meson's build directory")
    parser.add_argument("--kernel", help="a release or series (6.1); default: all whose headers are installed")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.rounds < 3:
        die(f"--rounds: {args.rounds} is not allowed; allowed: 3 or more")
    if not (args.build / "bench/server/bulk").exists():
        die(f"--build: {args.build} has no bench/server/bulk; run meson compile -C {args.build} server-module-bench")
    try:
        results = [measure(release, args) for release in ([args.kernel] if args.kernel else kernels())]
    except LabError as error:
        die(str(error))
    for result in results:
        report(result)
    if args.json:
        keep(args.json, {"benchmark": "server_module", "kernels": results})


if __name__ == "__main__":
    main()
