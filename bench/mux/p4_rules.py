# SPDX-License-Identifier: Apache-2.0
"""Rules and memory that a switch would need for rings: Beamer's (NSDI '18) Table 1 and table of A.3, with TCAM entries.

Rings come from the controller's own assignment, by way of growth, removals, weights and defragmentation. Counted are
rules that match a bucket, ranges of buckets, or prefixes (TCAM); what a generation changes of each; and bytes of the
registers that p4/ has instead, whose sizes are read from its sources. The same on every machine. Needs the controller's
jar: mvn -q package -DskipTests.
"""

import argparse
import json
import pathlib
import re

from bench.lib import java
from bench.lib.command import RESULTS, ROOT, die, keep

SOURCES = ROOT / "bench/mux/rules"
LAYOUT = ROOT / "p4/layout.h"
REGISTERS = ROOT / "p4/registers.p4"
RINGS = "1000:65536,1024:65536,1000:262144,2000:262144,5000:524288,10000:65536,10000:1048576"
CHANGES = ("one added", "one removed", "10 % added", "10 % removed", "10 % weighed")
STATES = ("fresh", *CHANGES, "after small changes", "defragmented")
WORD = 64  # bits of a register, and of an action: owner, and where its list of former owners is
# The chip of Bosshart et al., "Forwarding Metamorphosis", SIGCOMM '13: blocks of a stage, and what one holds.
CHIP = {"stages": 32, "sramBlocks": 106, "sramBits": 1024 * 112, "tcamBlocks": 16, "tcamEntries": 2048, "tcamBits": 40}


def number(path, name):
    """An enum's number."""
    found = re.search(rf"\b{name} = (\d+)", path.read_text())
    if not found:
        die(f"{path.relative_to(ROOT)} has no number {name}")
    return int(found[1])


def registers():
    """Bits of each of the program's registers and counters: of an entry, and entries."""
    bits = {"REGISTER": WORD, "REGISTER48": 48, "COUNTER": WORD, "COUNTER_BYTES": WORD}
    found = re.findall(r"^([A-Z]\w*)\((\w+), (\d+)", REGISTERS.read_text(), re.MULTILINE)
    for kind, name, _ in found:
        if kind not in bits:
            die(f"{REGISTERS.relative_to(ROOT)}: {kind} of {name} is not allowed; allowed: {', '.join(bits)}")
    return {name: (bits[kind], int(entries)) for kind, name, entries in found}


def blocks(bits):
    return -(-bits // CHIP["sramBits"])


def program():
    """Bytes of the program's registers, and what a service and a server take of them."""
    all_of = registers()
    line = number(LAYOUT, "P4_LINE_WORDS") * WORD // 8
    verdicts = 1 << number(LAYOUT, "P4_PACKETS_SHIFT")
    crc = sum(bits * entries // 8 for name, (bits, entries) in all_of.items() if name.startswith("crc_"))
    return {
        "registers": sum(bits * entries // 8 for bits, entries in all_of.values()),
        "crc": crc,
        "service": line + (verdicts + 2) * WORD // 8,
        "server": WORD // 8 + line + all_of["tails"][0] // 8,
        "row": WORD // 8,
        "keyBits": (number(LAYOUT, "P4_SLOTS") - 1).bit_length(),
    }


def memory(result, servers, buckets):
    """Of one service's fresh ring, in bytes: as registers, and as rules of each form."""
    size = result["program"]
    rules = result["rings"][f"{servers}:{buckets}"]["fresh"]["rules"]
    key = size["keyBits"] + (buckets - 1).bit_length()
    entries = rules["shortest"]
    return {
        "keyBits": key,
        "rows": buckets * size["row"],
        "servers": (servers + 1) * size["server"],
        "service": size["service"],
        "exact": rules["exact"] * (key + WORD) // 8,
        "ranges": rules["ranges"] * (2 * key + WORD) // 8,
        "rowBlocks": blocks(buckets * WORD),
        "tcamBlocks": -(-entries // CHIP["tcamEntries"]) * -(-key // CHIP["tcamBits"]),
        "tcamAction": entries * WORD // 8,
    }


def show_rules(result):
    form = "{:20s} {:>8s} {:>9s} {:>6s} {:>6s} {:>6s} | {:>8s} {:>8s} {:>8s} {:>8s}"
    print("Rules per server: ranges; TCAM, each range by itself; TCAM, longest prefix")
    print("Writes of a generation, means: rows of the register; ranges; TCAM by itself; TCAM, longest prefix")
    for size, states in result["rings"].items():
        servers, buckets = map(int, size.split(":"))
        print(f"\n{servers:,} servers, {buckets:,} buckets\n")
        print(form.format("", *"ranges shortest ranges each tcam rows ranges each tcam".split()))
        for state in STATES:
            rules = states[state]["rules"]
            names = ("ranges", "disjoint", "shortest")
            rates = [f"{rules[name] / rules['servers']:.2f}" for name in names]
            writes = states[state].get("writes")
            names = ("rows", "ranges", "disjoint", "shortest")
            counts = [f"{writes[name]:,.0f}" if writes else "-" for name in names]
            print(form.format(state, f"{rules['ranges']:,}", f"{rules['shortest']:,}", *rates, *counts))


def show_methods(result):
    for size, methods in result["methods"].items():
        servers, buckets = map(int, size.split(":"))
        print(f"\nfresh rings of other methods, {servers:,} servers, {buckets:,} buckets (Table 1)\n")
        print(f"{'':12s} {'ranges':>8s} {'each':>8s} {'tcam':>8s}")
        for method, rules in methods.items():
            print(f"{method:12s} {rules['ranges']:8,d} {rules['disjoint']:8,d} {rules['shortest']:8,d}")


def show_memory(result):
    print(
        "\nKB of a fresh ring: registers of p4/ (rows, servers, service); rules: exact, ranges; TCAM blocks, actions\n"
    )
    head = ("rows", "blocks", "servers", "service", "exact", "ranges", "TCAM", "actions")
    print(f"{'servers:buckets':>16s}" + "".join(f"{word:>10s}" for word in head))
    for size, of in result["memory"].items():
        print(
            f"{size:>16s}{of['rows'] / 1e3:10,.0f}{of['rowBlocks']:10,d}{of['servers'] / 1e3:10,.0f}"
            f"{of['service'] / 1e3:10,.1f}{of['exact'] / 1e3:10,.0f}{of['ranges'] / 1e3:10,.0f}"
            f"{of['tcamBlocks']:10,d}{of['tcamAction'] / 1e3:10,.0f}"
        )
    size = result["program"]
    print(
        f"\nthe program's registers: {size['registers'] / 1e6:.1f} MB, of which CRC-32 {size['crc'] / 1e3:.0f} KB"
        f"; a chip has {CHIP['stages']} stages of {CHIP['sramBlocks']} blocks of SRAM ({CHIP['sramBits'] // 8:,} bytes)"
        f" and {CHIP['tcamBlocks']} of TCAM ({CHIP['tcamEntries']:,} entries of {CHIP['tcamBits']} bits)"
    )


def sizes(text):
    rings = []
    for ring in text.split(","):
        found = re.fullmatch(r"(\d{1,5}):(\d{1,7})", ring)
        servers, buckets = map(int, found.groups()) if found else (0, 0)
        is_power = buckets.bit_count() == 1 and 256 <= buckets <= 1 << 20
        if not (is_power and 10 <= servers <= min(buckets // 4, 50_000)):
            die(
                f"--rings: {ring} is not allowed; allowed: SERVERS:BUCKETS, 10 to 50000 servers, a power of two"
                " from 256 to 1048576 buckets, four or more a server"
            )
        rings.append((servers, buckets))
    return rings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rings", default=RINGS, help=f"SERVERS:BUCKETS,... (default {RINGS})")
    parser.add_argument("--changes", type=int, default=12, help="small changes before defragmentation (default 12)")
    parser.add_argument("--check", action="store_true", help="test the counts against naive oracles instead")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "p4_rules.json")
    args = parser.parse_args()
    if args.changes < 1:
        die(f"--changes: {args.changes} is not allowed; allowed: 1 and more")
    rings = sizes(args.rings)
    with java.compiled(*sorted(SOURCES.glob("*.java")), heap="2g") as run:
        if args.check:
            print(run("rules.Checks", args.seed), end="")
            return
        figures = json.loads(run("rules.RuleFigures", args.seed, args.changes, *args.rings.split(",")))
    result = {"benchmark": "p4_rules", "seed": args.seed, "changes": args.changes, "program": program(), **figures}
    result["memory"] = {f"{servers}:{buckets}": memory(result, servers, buckets) for servers, buckets in rings}
    show_rules(result)
    show_methods(result)
    show_memory(result)
    keep(args.json, result, indent=None)
    print(f"\n{args.json} has every figure")


if __name__ == "__main__":
    main()
