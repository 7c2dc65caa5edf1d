#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes the vector files that every language's tests read, from the oracle in this folder.

Usage: generate.py                        write *.json beside this file
       generate.py --check                write nothing; exit 1 if a file is not what would be written
       generate.py --random SEED FOLDER   write files of the same shapes with random rows into FOLDER
"""

import json
import sys
from pathlib import Path

from cases.decide import decide_vectors
from cases.delta import delta_vectors
from cases.drawn import drawn_files
from cases.flow import hash_vectors, siphash_vectors
from cases.fragment import fragment_vectors
from cases.health import health_vectors
from cases.hello import hello_vectors
from cases.http import http_vectors
from cases.ipip import ipip_vectors
from cases.list import list_vectors
from cases.list_srv6 import list_srv6_vectors
from cases.notice import notice_vectors
from cases.othello import othello_vectors
from cases.report import report_vectors

FILES = {
    "siphash.json": siphash_vectors,
    "hash.json": hash_vectors,
    "list.json": list_vectors,
    "list-srv6.json": list_srv6_vectors,
    "ipip.json": ipip_vectors,
    "notice.json": notice_vectors,
    "fragment.json": fragment_vectors,
    "hello.json": hello_vectors,
    "reports.json": report_vectors,
    "health.json": health_vectors,
    "http-malformed.json": http_vectors,
    "decide.json": decide_vectors,
    "delta.json": delta_vectors,
    "othello.json": othello_vectors,
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


def check(folder: Path, files: dict[str, str]) -> int:
    wrong = [
        name for name, text in files.items() if not (folder / name).exists() or (folder / name).read_text() != text
    ]
    for name in wrong:
        print(f"{name} is not what generate.py writes; run protocol/vectors/generate.py and commit its result")
    return 1 if wrong else 0


def write(folder: Path, files: dict[str, str]) -> int:
    for name, text in files.items():
        (folder / name).write_text(text)
    return 0


def main(arguments: list[str]) -> int:
    here = Path(__file__).resolve().parent
    match arguments:
        case []:
            return write(here, {name: render({"format": 1} | vectors()) for name, vectors in FILES.items()})
        case ["--check"]:
            return check(here, {name: render({"format": 1} | vectors()) for name, vectors in FILES.items()})
        case ["--random", seed, folder] if seed.isdecimal():
            files = {name: render({"format": 1} | vectors) for name, vectors in drawn_files(int(seed)).items()}
            return write(Path(folder), files)
    print(f"generate.py: wrong arguments {arguments}; allowed: none, --check, --random SEED FOLDER", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
