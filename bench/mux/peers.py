# SPDX-License-Identifier: Apache-2.0
"""What a packet costs Katran's XDP program and our mux, on the same machine, in alternating rounds.

Nothing of Katran is in this repository: --katran names a checkout of it. Its program is compiled there by clang, with
IPIP and with GUE by its own macros, and loaded by peer_packet, which says how it is measured and what the errors are.
Beside it runs mux_packet with as many flows, GUE and IPIP. In each round both measure every row once, and they take
turns in who is first; a row's ratio is the median of each round's own ratio to the mux. Run as root.
"""

import argparse
import hashlib
import json
import pathlib
import statistics
import subprocess
import tempfile

from bench.lib.command import ROOT, cpu_model, die, git, keep

SOURCE = "katran/lib/bpf/balancer.bpf.c"
FOLDERS = ("katran/lib/bpf", "katran/lib/linux_includes")  # of what the program includes
ENCAPS = {"ipip": [], "gue": ["-DGUE_ENCAP"]}
GUARDS = {"": [], "unguarded": ["-DMAX_CONN_RATE=4294967295U"]}
FLOWS = {1: "1 flow", 1000: "1 K flows", 1000000: "1 M flows"}
MUX_GUE = {1: "1 flow", 1000: "1 K flows", 1000000: "64 K buckets", "SYN": "SYNs"}
MUX_IPIP = {1: "ipip, 1 flow", 1000: "ipip, 1 K flows", 1000000: "ipip", "SYN": "ipip, SYNs"}
MUX = {"gue": MUX_GUE, "ipip": MUX_IPIP}
STATEFUL = {1000: "stateful, 1 K flows", 1000000: "stateful, 1 M flows"}
LEAST_FLOWS = 2048  # of mux_packet
RUNS_MAX = 101
PACKETS = 1 << 19


def revision(checkout):
    """The commit, whether its sources were changed, and a digest of them, which an archive without git has, too."""
    digest = hashlib.sha256()
    for folder in FOLDERS:
        for path in sorted((checkout / folder).glob("*.[ch]")):
            digest.update(f"{path.relative_to(checkout)}\n".encode() + path.read_bytes())
    commit = changed = None
    if (checkout / ".git").exists():  # else git would look for a tree that the folder lies in
        commit = git("rev-parse", "HEAD", tree=checkout)
        changed = git("status", "--porcelain", "--", *FOLDERS, tree=checkout)
    return {
        "commit": commit,
        "changed": None if changed is None else bool(changed),
        "sourcesSha256": digest.hexdigest(),
    }


def build(checkout, folder):
    """Compiles the program in each of its builds; returns the files in the order that peer_packet wants."""
    files = []
    machine = subprocess.run(["cc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    for guard, rate in GUARDS.items():
        for encap, macros in ENCAPS.items():
            files.append(folder / f"{encap}{guard}.bpf.o")
            # the C library's headers, which it includes, ask what machine this is: -target bpf does not tell
            command = ["clang", "-O2", "-g", "-target", "bpf", "-D__KERNEL__", "-D__x86_64__", "-w"]
            command += ["-I", checkout, "-I", f"/usr/include/{machine}", *macros, *rate]
            command += ["-c", checkout / SOURCE, "-o", files[-1]]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
            if done.returncode:
                die(f"--katran: {SOURCE} does not compile:\n{done.stderr.strip()}")
    return files


class Peer:
    """peer_packet, which stays between rounds with its tables full."""

    def __init__(self, args, files):
        self.feeds = []  # ns of our own program, which are taken off
        command = [args.build / "bench/mux/peer_packet", ",".join(map(str, args.flows)), args.packets, *files]
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def measure(self):
        try:
            self.process.stdin.write("round\n")
        except BrokenPipeError:
            die("peer_packet has failed: see above")
        line = self.process.stdout.readline()
        if not line:
            die("peer_packet has failed: see above")
        rows = json.loads(line)["rows"]
        self.feeds += [row["feed"] for row in rows]
        return {peer_key(row): row["ns"] for row in rows}

    def end(self):
        self.process.stdin.close()
        if self.process.wait(60):
            die("peer_packet has failed: see above")


def peer_key(row):
    if row["kind"] == "cached":
        what = f"its cache, {FLOWS[row['flows']]}"
    elif row["kind"] == "no cache":
        what = "without cache"
    else:
        what = ("SYNs" if row["kind"] == "SYN" else "new flows") + (
            ", past its guard" if row["guard"] else ", no guard"
        )
    return what, row["encap"]


def mux_key(what, encap, flows):
    """The mux's row beside a row of the peer: as many flows, or as many as the most; it remembers none."""
    names = MUX[encap]
    if what.startswith("SYNs"):
        return names["SYN"]
    return names[next((n for n in flows if what == f"its cache, {FLOWS[n]}"), max(flows))]


class Mux:
    """mux_packet, started in each round: median of three turns of its rows."""

    def __init__(self, args, folder):
        self.args, self.file = args, folder / "mux.json"
        sizes = [*args.flows, "SYN"]
        self.rows = [MUX[encap][size] for encap in MUX for size in sizes]
        self.rows += [STATEFUL[size] for size in args.flows if size in STATEFUL]

    def measure(self):
        most = max(LEAST_FLOWS, *self.args.flows)
        command = [self.args.build / "bench/mux/mux_packet", "--runs", 3, "--most-flows", most]
        command += ["--rows", ";".join(self.rows), "--json", self.file]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode:
            die(f"mux_packet has failed: {done.stderr.strip()}")
        return {row["name"]: row["median"] for row in json.loads(self.file.read_text())["results"]}


def spread(values):
    return {"median": statistics.median(values), "fastest": min(values), "slowest": max(values)}


def figures(rounds, flows):
    """Of (peer, mux) of each round: rows of both, and the ratio of each of the peer's to the mux's."""
    peers, muxes = [], []
    for what, encap in rounds[0][0]:
        mux = mux_key(what, encap, flows)
        times = [peer[what, encap] for peer, _ in rounds]
        ratio = statistics.median(peer[what, encap] / other[mux] for peer, other in rounds)
        peers.append({"name": what, "encap": encap, "mux": mux, "ratio": ratio, **spread(times)})
    for name in rounds[0][1]:
        muxes.append({"name": name, **spread([mux[name] for _, mux in rounds])})
    return {"katran": peers, "mux": muxes}


def report(result):
    katran = {(row["name"], row["encap"]): row for row in result["katran"]}
    mux = {row["name"]: row for row in result["mux"]}
    print(f"ns a packet, 64 bytes, medians of {result['rounds']} rounds (fastest), {result['cpu']}")
    print(f"{'':34s}{'IPIP':>18s}{'of the mux':>12s}{'GUE':>18s}{'of the mux':>12s}")

    def cell(row):
        return f"{row['median']:8.1f} ({row['fastest']:.1f})".rjust(18)

    for name in dict.fromkeys(row["name"] for row in result["katran"]):
        cells = [cell(katran[name, encap]) + f"{katran[name, encap]['ratio']:12.1f}" for encap in ENCAPS]
        print(f"{'katran, ' + name:34s}" + "".join(cells))
    for size in [*result["flows"], "SYN"]:
        cells = [cell(mux[MUX[encap][size]]) + " " * 12 for encap in ENCAPS]
        print(f"{'mux, ' + (FLOWS.get(size) or 'SYNs'):34s}" + "".join(cells))
    for name in STATEFUL.values():
        if name in mux:
            print(f"{'mux, ' + name:34s}" + " " * 30 + cell(mux[name]))


def sizes(text):
    try:
        numbers = sorted({int(word) for word in text.split(",")})
    except ValueError:
        numbers = []
    if not numbers or not set(numbers) <= set(FLOWS):
        die(f"--flows: '{text}' is not allowed; allowed: some of {','.join(map(str, FLOWS))}")
    return numbers


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--katran", type=pathlib.Path, help="a checkout of github.com/facebookincubator/katran")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help="Meson's build directory")
    parser.add_argument("--runs", type=int, default=9, help="rounds, 1 to 101; default 9")
    parser.add_argument("--flows", default="1,1000,1000000", help="some of 1,1000,1000000; default: all")
    parser.add_argument("--packets", type=int, default=PACKETS, help=f"of a row in a round; default {PACKETS}")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    args.flows = sizes(args.flows)
    if not 1 <= args.runs <= RUNS_MAX:
        die(f"--runs: {args.runs} is not allowed; allowed: 1 to {RUNS_MAX}")
    if not 1 <= args.packets <= 10**8:
        die(f"--packets: {args.packets} is not allowed; allowed: 1 to {10**8}")
    if not args.katran:
        die("--katran is missing: give the path of a checkout of github.com/facebookincubator/katran")
    args.katran = args.katran.resolve()
    if not (args.katran / SOURCE).is_file():
        die(f"--katran: {args.katran} has no {SOURCE}; allowed: a checkout of github.com/facebookincubator/katran")
    for program in ("bench/mux/peer_packet", "bench/mux/mux_packet"):
        if not (args.build / program).exists():
            die(f"--build: {args.build} has no {program}; run ninja -C {args.build} {program}")
    return args


def main():
    args = options()
    with tempfile.TemporaryDirectory(prefix="peers.") as name:
        folder = pathlib.Path(name)
        peer, mux = Peer(args, build(args.katran, folder)), Mux(args, folder)
        rounds = []
        for number in range(args.runs):
            if number % 2:
                other = mux.measure()
                rounds.append((peer.measure(), other))
            else:
                rounds.append((peer.measure(), mux.measure()))
        peer.end()
    result = {
        "benchmark": "peers",
        "cpu": cpu_model(),
        "unit": "ns per packet",
        "rounds": args.runs,
        "packets": args.packets,
        "flows": args.flows,
        "seed": 1,
        "commit": git("rev-parse", "HEAD"),
        "revision": revision(args.katran),
        "feed": spread(peer.feeds),
        **figures(rounds, args.flows),
    }
    report(result)
    if args.json:
        keep(args.json, result)


if __name__ == "__main__":
    main()
