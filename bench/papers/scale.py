# SPDX-License-Identifier: Apache-2.0
"""
Internet scale on paper and in simulation: what a region asks of controller, ZooKeeper, muxes, servers and agents.

Costs are those that were measured (bench/results), each with its own machine; nothing is run. Prints what saturates
first, simulates how long changes of pools wait, and compares predictions with what was measured at other sizes; fails
if one is off by more than --factor. Writes JSON, and docs/research/scale.md with --docs.
"""

import argparse
import dataclasses
import pathlib
import sys
import textwrap

from bench.lib.command import RESULTS, ROOT, die, keep, load
from bench.papers import region as regions
from bench.papers.steps import commit, kept_commit

BENCHMARKS = ("mux", "size", "agents", "services", "commit_rate", "arrays", "agent", "server_bpf")
DOCS = ROOT / "docs/research/scale.md"
RATES = {
    "muxes": "Beamer 6.4 has 100",
    "backends": "Beamer 6.4 has 64 K, the most of a service; here of all services",
    "services": "VIPs of a region",
    "connections": "of a service at a time; Concury 6.1 names 10 M as the 99 % of a cluster",
    "opened": "connections of a service, a second; Concury 6.2 has 1 K to 256 K",
    "packets": "of a connection from its client; KTH 5.3 has 1,250",
    "changes": "of a service's pool, a minute; Maat IV-A has 10, from SilkRoad",
    "report": "seconds between an agent's reports; the benchmark agents has 10",
    "buckets": "of a service; 0: the power of two from 100 a backend, as Beamer 6.4",
    "mux_cores": "of a mux",
    "mux_gb": "memory of a mux",
    "gbps": "of each link",
    "writers": "changes that a controller commits at a time, as the class Threads has it",
    "controller_cores": "of the controller that leads",
    "controller_gb": "memory of the controller",
    "zookeeper_cores": "of all ZooKeeper servers together",
    "server_cores": "of a server",
}


def read(folder):
    results = {}
    for name in BENCHMARKS:
        results[name] = load(folder / f"{name}.json", "--results", f"run the benchmark {name}")
    return results


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    for field in dataclasses.fields(regions.Region):
        if field.name == "agents":
            parser.add_argument("--no-agents", action="store_true", help="servers have no agents")
            continue
        words = f"{RATES[field.name].replace('%', '%%')} (default {field.default:,g})"
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=field.type, default=field.default, help=words)
    parser.add_argument("--factor", type=float, default=2, help="by which a prediction may be off (default 2)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="folder of measured costs")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "scale.json")
    parser.add_argument("--docs", action="store_true", help="also write docs/research/scale.md")
    args = parser.parse_args()
    for field in dataclasses.fields(regions.Region):
        if field.name == "agents":
            continue
        value, least = getattr(args, field.name), 0 if field.name in ("buckets", "connections") else None
        if value < 0 or (least is None and value == 0):
            allowed = "0 or more" if least == 0 else "above 0"
            die(f"--{field.name.replace('_', '-')}: {value:g} is not allowed; allowed: {allowed}")
    if args.buckets & (args.buckets - 1):
        die(f"--buckets: {args.buckets} is not allowed; allowed: 0, or a power of two")
    if args.services > args.backends:
        die(f"--services: {args.services} is not allowed; allowed: at most --backends, {args.backends}")
    if args.factor <= 1:
        die(f"--factor: {args.factor:g} is not allowed; allowed: above 1")
    if not args.json.parent.is_dir():
        die(f"--json: {args.json.parent} is no folder; allowed: a file in a folder that exists")
    return args


def amount(value, unit):
    for limit, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit and "cores" not in unit:
            return f"{value / limit:.3g} {sign}{unit.replace('bytes', 'B')}"
    return f"{value:.3g} {unit.replace('bytes', 'B')}"


def tables(result):
    """The three tables, as lines of Markdown."""
    lines = ["| part | resource | used | limit | of it | grows with |", "| --- | --- | --- | --- | --- | --- |"]
    for need in result["needs"]:
        cells = [
            need["part"],
            need["resource"],
            amount(need["used"], need["unit"]),
            amount(need["limit"], need["unit"]),
        ]
        lines.append(f"| {' | '.join(cells)} | {need['utilization']:.1%} | {need['growsWith']} |")
    first = ["", "| once | |", "| --- | --- |"]
    for what, value in result["starts"].items():
        first.append(f"| {what} | {amount(value, 'bytes' if 'bytes' in what else 's')} |")
    wait = [
        "",
        "| changes a second | writers' load | mean wait for one | until the last mux: median, 99 % |",
        "| --- | --- | --- | --- |",
    ]
    for row in result["queue"]:
        wait.append(
            f"| {row['rate']:.3g} | {row['load']:.0%} | {row['meanWait']:.3g} s | "
            f"{row['median']:.3g}, {row['percentile99']:.3g} s |"
        )
    check = ["", "| predicted | predicted | measured | ratio |", "| --- | --- | --- | --- |"]
    for row in result["checks"]:
        cells = [row["what"], amount(row["predicted"], row["unit"]), amount(row["measured"], row["unit"])]
        check.append(f"| {' | '.join(cells)} | {row['ratio']:.2f} |")
    return lines, first, wait, check


def verdict(result):
    first = result["needs"][0]
    times = first["saturatesAt"]
    state = f"lasts for {times:.2g} times these rates" if times >= 1 else f"lasts for only {times:.2g} of these rates"
    return f"First to saturate: {first['part']}, {first['resource']}, which {state}."


def write_docs(result, path):
    needs, once, wait, check = tables(result)
    shape = result["region"]
    kept = "; ".join(f"{name} (kept at {at})" for name, at in result["costsFrom"].items())
    per = {}
    for need in result["needs"]:
        per.setdefault(need["part"], need)
    firsts = "; ".join(f"{part}: {need['resource']} ({need['utilization']:.1%})" for part, need in per.items())
    rates = [fill(f"{name}: {words}.", "- ") for name, words in RATES.items()]
    text = [
        "# Internet scale, on paper",
        "",
        "Written by `bench/run scale --docs`; do not edit it by hand. It multiplies what parts were measured to cost",
        "([bench/results](../../bench/results)) with the sizes and rates of a region. Ask for your own by its options.",
        "",
        fill(
            f"The region: {shape['muxes']:,} muxes, {shape['backends']:,} backends in {shape['services']:,} services "
            f"of {result['ring']:,} buckets, {shape['connections']:,} connections of a service at a time, of which "
            f"{shape['opened']:,g} open a second with {shape['packets']:,g} packets each; each pool changes "
            f"{shape['changes']:g} times a minute, {result['changesASecond']:.3g} times a second in all."
        ),
        "",
        *rates,
        "",
        fill(f"**{verdict(result)}** Of each part, what saturates first: {firsts}."),
        "",
        *needs,
        "",
        "Where the numbers are bounds:",
        "",
        fill(
            "A change keeps a writer for as long as its answer took with 1,000 services, all parts on two cores and "
            "ZooKeeper on the same disk. It is the delay of ZooKeeper's commit more than work, so this is a lower "
            "bound of what a controller can do. A call may have many changes of one service.",
            "- ",
        ),
        fill(
            "ZooKeeper's processor time is all that two cores could do until the last of 100 muxes had a change, less "
            "the muxes' own: an upper bound.",
            "- ",
        ),
        fill(
            "Packets are spread evenly over muxes and servers. A mux's core is one of the machine where the benchmark "
            "mux ran; its time a packet has the difference that 1,000 services make in process.",
            "- ",
        ),
        "",
        "## What happens once",
        *once,
        "",
        "## How long a change waits",
        "",
        "Changes arrive at random, wait for a writer, and then all muxes read them. Simulated (50,000 changes):",
        *wait,
        "",
        "## Predictions against measurements",
        "",
        fill(
            f"The same arithmetic at sizes that were measured; the command fails if one is off by more than a factor "
            f"of {result['factor']:g}."
        ),
        *check,
        "",
        fill(f"Costs are from: {kept}."),
    ]
    path.write_text("\n".join(text) + "\n")


def fill(text, first=""):
    return textwrap.fill(text, 118, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False)


def main():
    args = parse()
    results = read(args.results)
    names = [field.name for field in dataclasses.fields(regions.Region) if field.name != "agents"]
    region = regions.Region(agents=not args.no_agents, **{name: getattr(args, name) for name in names})
    cost = regions.costs(results)
    result = {
        "benchmark": "scale",
        "seed": args.seed,
        "commit": commit(),
        "region": dataclasses.asdict(region),
        "ring": region.ring,
        "changesASecond": region.changes_a_second,
        "packetsASecond": region.packets_a_second,
        "costs": cost,
        "costsFrom": {name: kept_commit(args.results / f"{name}.json") for name in BENCHMARKS},
        "needs": [need.to_json() for need in regions.needs(region, cost)],
        "starts": regions.starts(region, cost),
        "queue": regions.queue(region, cost, args.seed),
        "checks": regions.checks(results, cost),
        "factor": args.factor,
    }
    for lines in tables(result):
        print("\n".join(lines))
    print(f"\n{verdict(result)}")
    keep(args.json, result)
    print(args.json)
    if args.docs:
        write_docs(result, DOCS)
        print(DOCS)
    off = [row for row in result["checks"] if not 1 / args.factor <= row["ratio"] <= args.factor]
    for row in off:
        print(
            f"scale: {row['what']}: predicted {row['predicted']:.3g}, measured {row['measured']:.3g} {row['unit']}: "
            f"a ratio of {row['ratio']:.2f}; allowed: within a factor of {args.factor:g}",
            file=sys.stderr,
        )
    sys.exit(1 if off else 0)


if __name__ == "__main__":
    main()
