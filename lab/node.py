# SPDX-License-Identifier: Apache-2.0
"""A machine of the lab: a namespace, its wires, its directory and its programs."""

import json
from pathlib import Path
from typing import Any

from lab.instance import Instance
from lab.namespace import Namespace
from lab.process import Process
from lab.topology import is_ipv6

# IPv6 addresses are usable at once, without duplicate address detection, and no node solicits routers.
# rp_filter off: replies come from a server although the request came from a mux.
SYSCTLS = {
    "ipv6__conf__all__disable_ipv6": 0,
    "ipv6__conf__default__disable_ipv6": 0,
    "ipv6__conf__all__accept_dad": 0,
    "ipv6__conf__default__accept_dad": 0,
    "ipv6__conf__default__accept_ra": 0,
    "ipv6__conf__default__router_solicitations": 0,
    "ipv4__conf__all__rp_filter": 0,
    "ipv4__conf__default__rp_filter": 0,
    "ipv4__conf__all__send_redirects": 0,
    "ipv4__conf__default__send_redirects": 0,
}


class Node:
    def __init__(self, instance: Instance, name: str, address: str, address6: str, machine: bool = False) -> None:
        """With `machine` the namespace only holds QEMU. Both addresses are the same where the rack has IPv6 alone."""
        self.instance = instance
        self.name = name
        self.address = address
        self.address6 = address6
        self.namespace: Namespace = instance.namespace(name, machine)
        self.directory: Path = instance.node_directory(name)
        self.namespace.sysctl(**SYSCTLS)
        self.namespace.ip("link set lo up")

    @property
    def interface_addresses(self) -> list[str]:
        """Its addresses, with the prefix lengths of their networks."""
        return [f"{each}/{64 if is_ipv6(each) else 24}" for each in dict.fromkeys((self.address, self.address6))]

    def run(self, *argv: str) -> str:
        return self.namespace.run(*argv)

    def program(self, name: str, argv: list[str], env: dict[str, str] | None = None) -> Process:
        """A program of this node, not yet started; `name` is unique in the node."""
        return Process(f"{self.name}/{name}", self.namespace, argv, self.directory / f"{name}.log", env or {})

    def route_hops(self, destination: str) -> list[str]:
        return route_hops(self.namespace, destination)


def route_hops(namespace: Namespace, destination: str) -> list[str]:
    """The next hops of the kernel's route to exactly `destination`; empty without one."""
    family = "-6" if is_ipv6(destination) else "-4"
    routes = json.loads(namespace.run("ip", "-json", family, "route", "show", "exact", destination) or "[]")
    hops = [_hop(hop) for route in routes for hop in route.get("nexthops", [route])]
    return sorted(hop for hop in hops if hop)


def _hop(hop: dict[str, Any]) -> str:
    """Of a route of IPv4 it may be an IPv6 address (via)."""
    return str(hop.get("gateway") or hop.get("via", {}).get("host") or hop.get("dev", ""))


def wire(
    near: Node, far: Node, far_interface: str, mtu: int, near_addresses: list[str], near_interface: str = "eth0"
) -> None:
    """A cable from `near` to `far`, with `near_addresses` (a.b.c.d/len) on the near end.

    Checksum and segmentation offload are off at both ends: packets are as on a physical wire, since muxes and XDP
    programs see the bytes as they are. GRO is on at the far end, because a frame that an XDP program sends back goes to
    the peer's NAPI, and a veth has NAPI only with GRO or a program of its own.
    """
    near.namespace.ip(
        f"link add {near_interface} numtxqueues 1 numrxqueues 1 mtu {mtu} type veth "
        f"peer name {far_interface} numtxqueues 1 numrxqueues 1 mtu {mtu} netns {far.namespace.name}"
    )
    near.run("ethtool", "-K", near_interface, "tx", "off", "tso", "off", "gso", "off", "gro", "off")
    far.run("ethtool", "-K", far_interface, "tx", "off", "tso", "off", "gso", "off", "gro", "on")
    near.namespace.ip(*(f"addr add {address} dev {near_interface}" for address in near_addresses))
    near.namespace.ip(f"link set {near_interface} up")
    far.namespace.ip(f"link set {far_interface} up")
