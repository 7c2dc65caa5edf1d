# SPDX-License-Identifier: Apache-2.0
"""The router: the rack's bridge, the clients' gateway, BGP and ECMP."""

import contextlib
from collections.abc import Iterator

from lab import topology
from lab.frr import ROUTER, Frr
from lab.instance import Instance
from lab.node import Node
from lab.variant import USUAL, Variant

BRIDGE = "rack"
SINGLE_MUX_TABLE = 100  # of the route to the only mux
# Fixed: otherwise the bridge takes the lowest MAC address of its ports, which may change when a machine joins, and
# neighbours of the router's IPv6 address would keep sending to the old one.
MAC = "02:00:00:00:00:01"
# ECMP hashes each packet's own fields, as routers do. By policy 1 Linux would take the hash that each TCP socket of the
# clients' namespaces gives its packets: no seed changes that, and the socket changes it whenever its retransmission
# timer expires, so that a flow that one mux loses soon arrives at another, and what breaks stays hidden.
HASH_POLICY = 3  # by the fields that are chosen
HASHED_FIELDS = 0x37  # addresses, protocol, ports


class Router(Node):
    def __init__(self, instance: Instance, variant: Variant = USUAL) -> None:
        super().__init__(instance, "router", variant.rack_address(topology.ROUTER), topology.ROUTER6)
        self.namespace.sysctl(ipv4__ip_forward=1, ipv6__conf__all__forwarding=1)
        for family in ("ipv4", "ipv6"):
            self.namespace.sysctl(**{f"{family}__fib_multipath_hash_fields": HASHED_FIELDS})
            self.namespace.sysctl(**{f"{family}__fib_multipath_hash_policy": HASH_POLICY})
        addresses = [f"addr add {address} dev {BRIDGE}" for address in self.interface_addresses]
        self.namespace.ip(
            f"link add {BRIDGE} address {MAC} mtu {topology.RACK_MTU} type bridge "
            "stp_state 0 forward_delay 0 mcast_snooping 0",
            *addresses,
            f"link set {BRIDGE} up",
            f"route add blackhole {topology.FLOOD_SOURCES}",
        )
        self.frr = Frr(self, ROUTER)

    def gateways(self) -> list[str]:
        """The default routes of machines on the rack, as words for ip; IPv4's may lead by an IPv6 address."""
        by = f"inet6 {self.address}" if topology.is_ipv6(self.address) else self.address
        return [f"0.0.0.0/0 via {by}", f"::/0 via {self.address6}"]

    def plug(self, interface: str) -> None:
        """Adds the far end of a machine's wire to the rack's bridge."""
        self.namespace.ip(f"link set {interface} master {BRIDGE}")

    @contextlib.contextmanager
    def only_by(self, address: str, vip: str = topology.VIP) -> Iterator[None]:
        """Within the block all packets to the VIP go to the mux of this address; outside, to all that announce it."""
        ip = ("ip", "-6" if topology.is_ipv6(vip) else "-4")
        table = ("table", str(SINGLE_MUX_TABLE))
        self.run(*ip, "route", "replace", "default", "via", address, *table)
        self.run(*ip, "rule", "add", "to", vip, *table)
        try:
            yield
        finally:
            self.run(*ip, "rule", "del", "to", vip, *table)

    def vip_hops(self, vip: str = topology.VIP) -> list[str]:
        """The muxes in the kernel's route to the VIP."""
        return self.route_hops(vip)
