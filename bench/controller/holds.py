# SPDX-License-Identifier: Apache-2.0
"""Releases of held buckets: an eighth of a ring has moved and is held beyond its window, then it is released.

By the controller's own classes, without ZooKeeper; agents answer at once. Needs the controller's jar:
mvn -q package -DskipTests.
"""

import argparse
import json
import pathlib

from bench.lib import java
from bench.lib.command import RESULTS, ROOT, die, keep


def measure(args, buckets):
    return json.loads(java.run(ROOT / "bench/controller/HoldFigures.java", args.seed, buckets, args.servers))


def show(result):
    print(f"\n{result['buckets']:,} buckets, {result['servers']:,} servers\n")
    print(f"{'':36s} {'released':>9s} {'deltas':>6s} {'KB':>8s} {'largest KB':>10s} {'release s':>9s} {'ask s':>6s}")
    for name, row in result.items():
        if isinstance(row, dict):
            print(
                f"{name:36s} {row['buckets']:9,d} {row['generations']:6d} {row['bytes'] / 1000:8.1f}"
                f" {row['largest'] / 1000:10.1f} {row['releaseSeconds']:9.3f} {row['askSeconds']:6.3f}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--servers", type=int, default=1000, help="at least 8 (default 1000)")
    parser.add_argument("--buckets", type=int, nargs="+", default=[1 << 20, 1 << 23], help="of the rings")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "holds.json")
    args = parser.parse_args()
    if args.servers < 8:
        die(f"--servers: {args.servers} is not allowed; allowed: 8 and more")
    rings = [measure(args, buckets) for buckets in args.buckets]
    for ring in rings:
        show(ring)
    keep(args.json, {"benchmark": "holds", "rings": rings}, indent=None)
    print(f"\n{args.json} has every figure")


if __name__ == "__main__":
    main()
