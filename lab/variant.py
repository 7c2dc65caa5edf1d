# SPDX-License-Identifier: Apache-2.0
"""In what a lab differs from the usual one: fault injection (jepsen/) wants a place to run at and small disks."""

from dataclasses import dataclass, field
from pathlib import Path

from lab import build


@dataclass(frozen=True)
class Variant:
    runner: bool = False  # one node more, for a program that talks to all of the cluster
    zookeeper_megabytes: int | None = None  # how much each ZooKeeper's disk holds; None: what the machine has
    mux: Path = build.MUX
    controller: tuple[str, ...] = (str(build.CONTROLLER),)
    environment: dict[str, str] = field(default_factory=dict)  # of muxes and controllers
    chaining: bool = True  # by servers
    # web also speaks MPTCP: nginx listens so, clients have a second way, and what comes by it goes to MPTCP_PORTS.
    mptcp: bool = False


USUAL = Variant()
