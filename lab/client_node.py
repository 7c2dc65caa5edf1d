# SPDX-License-Identifier: Apache-2.0
"""A client machine behind the router, and the programs that run on it."""

from lab import topology
from lab.instance import Instance
from lab.node import Node, wire
from lab.router import Router

SECOND_TABLE = 4  # of the routes of a client's second address


class ClientNode(Node):
    def __init__(self, instance: Instance, router: Router, number: int) -> None:
        address, address6 = topology.client_address(number), topology.client_address6(number)
        super().__init__(instance, f"client{number}", address, address6)
        self.number = number
        gateway, gateway6 = topology.client_gateway(number), topology.client_gateway6(number)
        router_interface = self.name
        wire(self, router, router_interface, topology.CLIENT_MTU, self.interface_addresses)
        router.namespace.ip(
            f"addr add {gateway}/24 dev {router_interface}", f"addr add {gateway6}/64 dev {router_interface}"
        )
        self.namespace.ip(f"route add default via {gateway}", f"route add default via {gateway6}")
        self.namespace.sysctl(ipv4__ip_local_port_range="10000 65000")

    def retransmitted(self) -> int:
        """TCP segments that this client has retransmitted, over all its connections."""
        lines = [line.split() for line in self.run("cat", "/proc/net/snmp").splitlines() if line.startswith("Tcp:")]
        return int(dict(zip(*lines, strict=True))["RetransSegs"])

    def ends(self) -> set[str]:
        """address:port of each of this client's connections, including those that it is closing."""
        listed = [line.split() for line in self.run("ss", "-Htan").splitlines()]
        return {fields[3] for fields in listed if fields[0] not in ("LISTEN", "TIME-WAIT")}

    def add_second_way(self, router: Router) -> None:
        """Adds eth1, another wire to the router; MPTCP opens a further subflow of each connection from its address."""
        address, gateway = f"10.4.{self.number}.2", f"10.4.{self.number}.1"
        wire(self, router, f"{self.name}b", topology.CLIENT_MTU, [f"{address}/24"], "eth1")
        router.namespace.ip(f"addr add {gateway}/24 dev {self.name}b")
        self.namespace.ip(
            f"rule add from {address} table {SECOND_TABLE}",
            f"route add default via {gateway} dev eth1 table {SECOND_TABLE}",
            "mptcp limits set add_addr_accepted 4 subflows 4",
            f"mptcp endpoint add {address} dev eth1 subflow fullmesh",
        )

    def remove_second_way(self) -> None:
        self.run("ip", "mptcp", "endpoint", "flush")
        if "eth1" in self.run("ip", "-brief", "link"):
            self.namespace.ip("link del eth1", f"rule del table {SECOND_TABLE}")

    def add_address(self, address: str) -> None:
        """Adds another source address for this client's connections."""
        self.namespace.ip(f"addr add {address}/24 dev eth0")
