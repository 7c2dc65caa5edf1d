#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes the vector files that every language's tests read, from the oracle in this folder.

Usage: generate.py                        write *.json beside this file
       generate.py --check                write nothing; exit 1 if a file is not what would be written, or the one that
                                          is written by hand has another form
       generate.py --random SEED FOLDER   write files of the same shapes with random rows into FOLDER
"""

import json
import random
import re
import sys
from pathlib import Path

from cases import decide, delta, flow, fragment, health, hello, ipip, list_srv6, notice, othello, report
from cases import list as gue

# How each file's rows are written, and how random ones of the same shapes are.
FILES = {
    "siphash.json": (flow.siphash_vectors, lambda _: flow.siphash_vectors()),
    "hash.json": (flow.hash_vectors, flow.drawn_hash),
    "list.json": (gue.list_vectors, gue.drawn_list),
    "list-srv6.json": (list_srv6.list_srv6_vectors, list_srv6.drawn_list_srv6),
    "ipip.json": (ipip.ipip_vectors, ipip.drawn_ipip),
    "notice.json": (notice.notice_vectors, notice.drawn_notice),
    "fragment.json": (fragment.fragment_vectors, fragment.drawn_fragment),
    "hello.json": (hello.hello_vectors, hello.drawn_hello),
    "reports.json": (report.report_vectors, report.drawn_reports),
    "health.json": (health.health_vectors, None),
    "decide.json": (decide.decide_vectors, decide.drawn_decide),
    "delta.json": (delta.delta_vectors, delta.drawn_delta),
    "othello.json": (othello.othello_vectors, othello.drawn_othello),
}


def render(vectors: dict) -> str:
    """JSON with one row a line, so that a diff shows the rows that changed."""
    parts = []
    for key, value in vectors.items():
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(row) for row in value)
            parts.append(f' "{key}": [\n{rows}\n ]')
        else:
            parts.append(f' "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def wrong_requests(text: str) -> list[str]:
    """What is wrong with the file that is written by hand."""
    vectors = json.loads(text)
    faults = [] if render(vectors) == text else ["not a row a line, as this program writes them"]
    names = [row.get("name") for row in vectors["refused"]]
    faults += [f"'{name}' twice" for name in {*names} if names.count(name) > 1]
    for row in vectors["refused"]:
        if [*row] != ["name", "why", "raw"] or not all(isinstance(value, str) and value for value in row.values()):
            faults.append(f"{row}: not name, why and raw")
        elif words := {*re.findall(r"{(\w+)}", row["raw"])} - {"host", "path", "auth", "second", "chunk2"}:
            faults.append(f"'{row['name']}': {sorted(words)} stand for nothing")
        elif any(ord(character) > 255 for character in row["raw"]):
            faults.append(f"'{row['name']}': a character that is no byte")
    return faults


def check(folder: Path, files: dict[str, str]) -> int:
    wrong = [
        name for name, text in files.items() if not (folder / name).exists() or (folder / name).read_text() != text
    ]
    for name in wrong:
        print(f"{name} is not what generate.py writes; run protocol/vectors/generate.py and commit its result")
    faults = wrong_requests((folder / "http-malformed.json").read_text())
    for fault in faults:
        print(f"http-malformed.json: {fault}")
    return 1 if wrong or faults else 0


def write(folder: Path, files: dict[str, str]) -> int:
    for name, text in files.items():
        (folder / name).write_text(text)
    return 0


def rendered(seed: str | None = None) -> dict[str, str]:
    """Random rows have a source for each file: one can change and leave the others."""
    files = {}
    for name, (vectors, drawn) in FILES.items():
        if seed is None:
            files[name] = render({"format": 1} | vectors())
        elif drawn:
            files[name] = render({"format": 1} | drawn(random.Random(f"{int(seed)} {name}")))
    return files


def main(arguments: list[str]) -> int:
    here = Path(__file__).resolve().parent
    match arguments:
        case []:
            return write(here, rendered())
        case ["--check"]:
            return check(here, rendered())
        case ["--random", seed, folder] if seed.isdecimal():
            return write(Path(folder), rendered(seed))
    print(f"generate.py: wrong arguments {arguments}; allowed: none, --check, --random SEED FOLDER", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
