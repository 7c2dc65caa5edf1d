# SPDX-License-Identifier: Apache-2.0
"""Writes README.md's tables of the mux's packets and ports, and docs/mux.md's of limits, from results/mux.json."""

import argparse

from bench.lib.command import RESULTS, ROOT, die, load

HEAD = "| in process | ns a packet | fastest | ratio to the first | Mpps |\n| --- | --- | --- | --- | --- |\n"
LIMIT_HEAD = "| in process | instructions | cycles | at least | share |\n| --- | --- | --- | --- | --- |\n"
PORTS_HEAD = "| through ports | Mpps of a core | ratio | lowest, highest round |\n| --- | --- | --- | --- |\n"
WIDTH = 6  # instructions that a Zen 4 core takes up in a cycle, at most
LIMITS = {  # rows, and what bounds them from below
    "64 K buckets": "floor: frames, hashes, rows",
    "1 M buckets": "floor: the same, 1 M buckets",
    "AVX2": "",
    "reference": "",
    "IPv6": "",
    "tags": "",
    "ipip": "",
    "0 to 6 owners": "",
    "hunt": "",
    "maat": "",
    "othello, one": "",
    "othello, both": "",
    "8 services": "",
    "1,000 services of 4 K buckets": "",
    "srv6": "",
    "floor: frames": "",
    "floor: frames, hashes": "",
    "floor: frames, hashes, rows": "",
}


def table(results):
    """One line a row of mux_packet; the ratio is the median of each run's own."""
    lines = []
    for row in results:
        figures = row["median"], row["fastest"], row["ratio"], 1000 / row["median"]
        lines.append("| {} | {:.1f} | {:.1f} | {:.2f} | {:.1f} |\n".format(row["name"], *figures))
    return HEAD + "".join(lines)


def limits(packet):
    """Cycles by the core's own clock; at least: instructions / WIDTH, or the row of the floor if that takes longer."""
    rows = {row["name"]: row for row in packet["results"]}
    lines = []
    for name, floor in LIMITS.items():
        cycles, instructions = (rows[name]["median"] / packet["core_cycle_ns"], rows[name]["instructions"])
        least = instructions / WIDTH
        if floor:
            least = max(least, rows[floor]["median"] / packet["core_cycle_ns"])
        lines.append(f"| {name} | {instructions:.0f} | {cycles:.0f} | {least:.0f} | {least / cycles:.2f} |\n")
    return LIMIT_HEAD + "".join(lines)


def ports(measured):
    """One line a ratio; the first of its two rows has the rate, of both cores if there are two."""
    lines = []
    for name, ratio in measured["ratios"].items():
        row, other = name.split(" / ")
        rate = measured["median"][row]["cpu"] / 1e6
        figures = ratio["median"], other, ratio["low"], ratio["high"]
        lines.append(f"| {row} | {rate:.1f} | " + "{:.2f} of {} | {:.2f}, {:.2f} |\n".format(*figures))
    compared = {row for name in measured["ratios"] for row in name.split(" / ")[:1]}
    for row in measured["median"]:
        if row not in compared:
            lines.append(f"| {row} | {measured['median'][row]['cpu'] / 1e6:.1f} | | |\n")
    return PORTS_HEAD + "".join(lines)


def put(path, mark, table, is_check):
    """Replaces what follows the mark up to the first empty line behind the table."""
    begin = f"<!-- {mark} -->\n"
    text = path.read_text()
    before, found, after = text.partition(begin)
    if not found:
        die(f"{path.name} has no line {begin.strip()}")
    wanted = before + begin + "\n" + table + after[after.index("\n\n") + 1 :]
    if is_check and wanted != text:
        die(f"{path.name}'s table is not that of results/mux.json: run bench/run mux_table")
    path.write_text(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a table is not of the results")
    args = parser.parse_args()
    found = load(RESULTS / "mux.json")
    packet = found["packet"]
    put(ROOT / "bench/README.md", "mux_table", table(packet["results"]), args.check)
    put(ROOT / "bench/README.md", "mux_ports", ports(found["ports"]), args.check)
    put(ROOT / "docs/mux.md", "mux_limits", limits(packet), args.check)


if __name__ == "__main__":
    main()
