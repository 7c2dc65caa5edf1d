# SPDX-License-Identifier: Apache-2.0
"""
Beamer's Stateful in a lab: muxes with a table of flows (bench/mux/flowtable), without chaining by servers.
"""

from bench.lib.command import check
from lab import build
from lab.variant import Variant

MUX = build.DIRECTORY / "bench" / "mux" / "flowtable" / "stateful_mux"


def variant(flows):
    """Of a lab whose muxes have room for so many flows each, and whose servers do not chain."""
    check(MUX)
    return Variant(mux=MUX, mux_options=("--flows", str(flows)), chaining=False)
