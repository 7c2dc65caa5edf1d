#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes the vector files that every language's tests read, from the oracle in this folder.

Usage: generate.py            write *.json beside this file
       generate.py --check    write nothing; exit 1 if a file is not what would be written
"""

import json
import sys
from pathlib import Path

from cases.delta import delta_vectors
from cases.flow import hash_vectors, siphash_vectors
from cases.steer import steer_vectors
from cases.verdict import verdict_vectors

FILES = {
    "siphash.json": siphash_vectors,
    "hash.json": hash_vectors,
    "steer.json": steer_vectors,
    "delta.json": delta_vectors,
    "verdict.json": verdict_vectors,
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


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(f"generate.py: unknown arguments {arguments}; allowed: --check", file=sys.stderr)
        return 2
    wrong = 0
    for name, vectors in FILES.items():
        path = Path(__file__).resolve().parent / name
        text = render({"format": 1} | vectors())
        if not arguments:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{name} is not what generate.py writes; run protocol/vectors/generate.py and commit its result")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
