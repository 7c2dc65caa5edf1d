# SPDX-License-Identifier: Apache-2.0
"""How a lab differs from the usual one: fault injection (jepsen/) needs a node for its runner and small disks."""

from dataclasses import dataclass, field
from pathlib import Path

from lab import build
from lab.topology import rack_address6


@dataclass(frozen=True)
class Variant:
    runner: bool = False  # one more node, for a program that talks to the whole cluster
    zookeeper_megabytes: int | None = None  # the size of each ZooKeeper's disk; None: the machine's disk
    zookeeper: Path = build.JAR  # class path of ZooKeeper's servers; the controller's has 3.9
    mux: Path = build.MUX
    server: Path = build.SERVER  # of servers in namespaces, and of their agents
    p4_muxes: tuple[int, ...] = ()  # numbers of muxes that are fairlead-p4mux, which does not tag
    mux_options: tuple[str, ...] = ()
    controller: tuple[str, ...] = (str(build.CONTROLLER),)
    environment: dict[str, str] = field(default_factory=dict)  # of muxes and controllers
    chaining: bool = True  # by servers
    tagged: bool = True  # muxes and servers have keys
    quiet: int | None = None  # seconds for which a server that has just started resets nothing; None: its default
    agents: bool = False  # on servers: fairlead-server agent, which reports their connections to the controllers
    hold: int | None = 0  # seconds: holdSeconds of web; None: not set, so it is held once agents report
    steering: str = "ring"  # of web; othello and hunt need agents
    ipv4: bool = True  # of the rack; without it its machines have IPv6 addresses alone
    encap: str = "gue"  # of web; with srv6 its backends have their IPv6 addresses
    # web also has MPTCP: nginx listens with it, clients have a second wire, and subflows over it use MPTCP_PORTS.
    mptcp: bool = False

    def rack_address(self, address: str) -> str:
        """Of the machine that has this IPv4 address on the usual rack."""
        return address if self.ipv4 else rack_address6(address)

    def clear_text(self, what: str) -> list[str]:
        """Lets a program speak to `what` without TLS: only its own parts are in the lab's networks."""
        return [f"--{what}-clear-text", "on"]

    def mux_of(self, number: int) -> Path:
        """The program of a mux."""
        return build.P4MUX if number in self.p4_muxes else self.mux


USUAL = Variant()
