# SPDX-License-Identifier: Apache-2.0
"""Runs one of the programs of bench/papers/hunting, and keeps what it found."""

import json

from bench.lib import java
from bench.lib.command import ROOT

SOURCES = ROOT / "bench/papers/hunting"


def run(program, *words):
    with java.compiled(*sorted(SOURCES.glob("*.java"))) as run_class:
        return json.loads(run_class(program, *words))
