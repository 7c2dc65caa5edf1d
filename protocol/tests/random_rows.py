#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs a test over vector files with random rows. Usage: random_rows.py PROGRAM

Thousands of rows are one property, so they count as one test; only rows that fail are shown. The seed is printed, and
FAIRLEAD_SEED=N repeats a run.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GENERATE = Path(__file__).resolve().parent.parent / "vectors" / "generate.py"


def main(program: str) -> int:
    seed = os.environ.get("FAIRLEAD_SEED") or str(time.time_ns() % 1_000_000_000)
    print(f"FAIRLEAD_SEED={seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(GENERATE), "--random", seed, folder], check=True)
        quiet = os.environ | {"CMOCKA_MESSAGE_OUTPUT": "STDOUT"}
        done = subprocess.run([program, folder], env=quiet, capture_output=True, text=True, check=False)
    passing = ("[ RUN      ]", "[       OK ]")
    print("\n".join(line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(passing)))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
