# SPDX-License-Identifier: Apache-2.0
"""The web console with 65,535 backends in 8 Mi buckets: time to the first page, to scroll, to filter.

In Chromium, headless, on this machine's processors, beside the controller and its ZooKeeper. The clock of the first
page starts with the navigation and ends when the table of backends is drawn; that of a scroll or a word in the filter
starts with the input and ends two animation frames later, when the change is on the screen.
"""

import argparse
import os
import pathlib
import statistics

from bench.lib.command import RESULTS, keep
from console.tests.browser import Visit, chromium
from console.tests.control_plane import BACKENDS, BUCKETS, SERVICE, control_plane
from console.tests.timing import FIRST_PAGE_MS, REACTION_MS, measure
from lab.tokens import OPERATOR
from lab.topology import REST_PORT


def summary(values):
    ordered = sorted(values)
    return {
        "median": statistics.median(ordered),
        "p95": ordered[int(0.95 * (len(ordered) - 1))],
        "slowest": ordered[-1],
        "samples": len(ordered),
    }


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backends", type=int, default=BACKENDS, help="1..65535 (%(default)s)")
    parser.add_argument("--buckets", type=int, default=BUCKETS, help="of the service (%(default)s)")
    parser.add_argument("--visits", type=int, default=3, help="each with a browser that has nothing cached")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "console.json")
    args = parser.parse_args()
    if not 1 <= args.backends <= BACKENDS:
        parser.error(f"--backends '{args.backends}' is refused; allowed: 1..{BACKENDS}")
    if args.visits < 1:
        parser.error(f"--visits '{args.visits}' is refused; allowed: 1 and more")
    return args


def main():
    args = parse()
    timings = []
    with (
        control_plane(args.backends, args.buckets) as plane,
        chromium(plane.runner.namespace, plane.runner.directory) as browser,
    ):
        version = browser.version
        for _ in range(args.visits):
            with Visit(browser, f"http://{plane.controller.address}:{REST_PORT}") as visit:
                visit.remember(OPERATOR)
                timings.append(measure(visit, SERVICE, args.backends))
    rows = {
        "first page": summary([timing.first_page for timing in timings]),
        "scroll": summary([each for timing in timings for each in timing.scroll]),
        "filter": summary([each for timing in timings for each in timing.filter]),
    }
    bounds = {"first page": FIRST_PAGE_MS, "scroll": REACTION_MS, "filter": REACTION_MS}
    print(f"{args.backends} backends, {args.buckets} buckets, Chromium {version}, {os.cpu_count()} processors")
    print(f"{'milliseconds':<14}{'median':>9}{'95 %':>9}{'slowest':>9}{'wanted':>9}")
    for name, row in rows.items():
        print(f"{name:<14}{row['median']:>9.0f}{row['p95']:>9.0f}{row['slowest']:>9.0f}{bounds[name]:>9}")
    args.json.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "benchmark": "console",
        "backends": args.backends,
        "buckets": args.buckets,
        "chromium": version,
        "processors": os.cpu_count(),
        "milliseconds": rows,
    }
    keep(args.json, document, indent=2)


if __name__ == "__main__":
    main()
