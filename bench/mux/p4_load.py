# SPDX-License-Identifier: Apache-2.0
"""Load over weight of servers behind the P4 mux's pipeline: Concury's Figure 26 on this form.

128 servers of weight 1 to 6, two of which have 0. Rings are the controller's; connections go through mux.spec,
interpreted, and are counted by the server that their packets are sent to. The same on every machine. Needs the
controller's jar (mvn -q package -DskipTests) and p4_load (ninja -C build/bench bench/mux/p4_load).
"""

import argparse
import json
import pathlib
import statistics
import subprocess

from bench.lib import java
from bench.lib.command import RESULTS, ROOT, check, die, keep

SOURCES = (ROOT / "bench/mux/rules/LoadRing.java", ROOT / "bench/mux/rules/Pool.java")
SERVERS = 128
IDLE = 2  # servers of weight 0, the first ones


def spread(counts, weights):
    """Connections over weight, by the mean."""
    each = sum(counts) / sum(weights)
    loads = sorted(count / weight / each for count, weight in zip(counts, weights, strict=True) if weight)
    return {
        "min": loads[0],
        "10%": loads[len(loads) // 10],
        "mean": statistics.mean(loads),
        "90%": loads[len(loads) * 9 // 10],
        "max": loads[-1],
        "ofWeight0": sum(count for count, weight in zip(counts, weights, strict=True) if not weight),
        "loads": [round(load, 6) for load in loads],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench")
    parser.add_argument("--flows", type=int, default=1 << 20, help="connections (default 1048576)")
    parser.add_argument("--buckets", default="4096,65536", help="of rings (default 4096,65536)")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "p4_load.json")
    args = parser.parse_args()
    program = args.build / "bench/mux/p4_load"
    check(program)
    weights = [0 if server <= IDLE else 1 + server % 6 for server in range(1, SERVERS + 1)]
    result = {"benchmark": "p4_load", "flows": args.flows, "weights": weights, "rows": []}
    print(f"{args.flows:,} connections, load over weight\n")
    print(f"{'buckets':>8s} {'hash':8s}" + "".join(f"{name:>8s}" for name in ("min", "10 %", "90 %", "max", "of 0")))
    with java.compiled(*SOURCES) as run:
        for buckets in args.buckets.split(","):
            ring = run("rules.LoadRing", buckets, *weights)
            for name in ("siphash", "crc32"):
                command = [program, ROOT / "p4/mux.spec", name, str(args.flows)]
                done = subprocess.run(command, input=ring, stdout=subprocess.PIPE, text=True, check=False)
                if done.returncode:
                    die(f"{program} ended with {done.returncode}")
                counts = json.loads(done.stdout)
                row = {"buckets": int(buckets), "hash": name, **spread(counts, weights)}
                result["rows"].append(row)
                cells = "".join(f"{row[key]:8.3f}" for key in ("min", "10%", "90%", "max"))
                print(f"{buckets:>8s} {name:8s}{cells}{row['ofWeight0']:8d}", flush=True)
    keep(args.json, result, indent=None)
    print(f"\n{args.json} has every figure")


if __name__ == "__main__":
    main()
