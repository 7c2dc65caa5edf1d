# SPDX-License-Identifier: Apache-2.0
"""Two builds of server_bpf in turns: what a change of the server's XDP program gains.

    server_rounds OLD NEW [--rounds N] [--runs N] [--packets N] [--row TEXT] [--json FILE]

Each round runs both, in an order that changes, so that other load on the machine meets both alike. A figure is the
median of the rounds; a ratio is the median of each round's own. The rows are server_bpf's, in ns a packet without what
an empty program takes. An older program is built in a worktree of its commit, with the
bench/ of this one if it lacks the loop. Run as root.
"""

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
from pathlib import Path

from bench.lib.command import cpu_model, die, keep

KINDS = ("loop", "single")


def commit_of(program: Path) -> str:
    """Of the tree that the program was built in, with a mark if it has been changed since."""
    words = ["git", "-C", program.resolve().parent, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def run(program: Path, args: argparse.Namespace) -> dict[str, dict]:
    words = ["--runs", str(args.runs), "--packets", str(args.packets)]
    words += ["--row", args.row] if args.row else []
    with tempfile.NamedTemporaryFile() as figures:
        words = [program, *words, "--json", figures.name]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            die(f"{program} ended with {done.returncode}: {done.stdout.strip()}")
        return {row["name"]: row for row in json.loads(Path(figures.name).read_text())["rows"]}


def summary(name: str, old: list[dict], new: list[dict]) -> dict:
    row = {"name": name}
    for kind in KINDS:
        before, after = ([run[name][kind] for run in runs] for runs in (old, new))
        row[kind] = {
            "old": statistics.median(before),
            "new": statistics.median(after),
            "ratio": statistics.median(b / a if a else 0 for a, b in zip(before, after, strict=True)),
        }
    return row


def print_table(rows: list[dict]) -> None:
    head = "".join(f"{f'{kind}: old':>14}{'new':>8}{'ratio':>7}" for kind in KINDS)
    print(f"{'ns a packet':40}{head}")
    for row in rows:
        figures = "".join(f"{row[k]['old']:14.1f}{row[k]['new']:8.1f}{row[k]['ratio']:7.2f}" for k in KINDS)
        print(f"{row['name']:40}{figures}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="server_bpf as it was")
    parser.add_argument("new", type=Path, help="server_bpf as it is")
    for flag, default in (("--rounds", 5), ("--runs", 5), ("--packets", 20000)):
        parser.add_argument(flag, type=int, default=default)
    parser.add_argument("--row", help="only rows whose names contain it")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error(f"--rounds: '{args.rounds}' is not allowed; allowed: 1 or more")
    old, new = [], []
    for number in range(args.rounds):
        turns = [(args.old, old), (args.new, new)]
        for program, runs in turns if number % 2 == 0 else reversed(turns):
            runs.append(run(program, args))
    rows = [summary(name, old, new) for name in new[0] if name in old[0]]
    print_table(rows)
    if args.json:
        document = {"benchmark": "server_rounds", "unit": "ns a packet", "machine": cpu_model()}
        document |= {"kernel": platform.release(), "old": commit_of(args.old), "new": commit_of(args.new)}
        document |= {"rounds": args.rounds, "runs": args.runs, "packets": args.packets, "rows": rows}
        keep(args.json, document)


if __name__ == "__main__":
    main()
