# SPDX-License-Identifier: Apache-2.0
"""The router: the rack's bridge, the clients' gateway, BGP and ECMP."""

from lab import topology
from lab.frr import ROUTER, Frr
from lab.instance import Instance
from lab.node import Node

BRIDGE = "rack"


class Router(Node):
    def __init__(self, instance: Instance) -> None:
        super().__init__(instance, "router", topology.ROUTER)
        self.namespace.sysctl(ipv4__ip_forward=1, ipv4__fib_multipath_hash_policy=1)
        self.namespace.ip(
            f"link add {BRIDGE} mtu {topology.RACK_MTU} type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
            f"addr add {topology.ROUTER}/24 dev {BRIDGE}",
            f"link set {BRIDGE} up",
            f"route add blackhole {topology.FLOOD_SOURCES}",
        )
        self.frr = Frr(self, topology.ROUTER_AS, ROUTER)

    def plug(self, interface: str) -> None:
        """Makes the far end of a machine's wire a port of the rack."""
        self.namespace.ip(f"link set {interface} master {BRIDGE}")

    def vip_hops(self, vip: str = topology.VIP) -> list[str]:
        """The muxes that the kernel's route to the VIP goes to."""
        return self.route_hops(vip)
