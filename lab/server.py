# SPDX-License-Identifier: Apache-2.0
"""A server: nginx on the VIP (on its loopback), fairlead-server's XDP program on its rack port, direct return."""

import json
from typing import Any

from lab import build, topology
from lab.instance import Instance
from lab.nginx import Nginx
from lab.node import Node, wire
from lab.router import Router


class Server(Node):
    def __init__(self, instance: Instance, router: Router, number: int, window: int) -> None:
        super().__init__(instance, f"server{number}", topology.server_address(number))
        self.number = number
        self.window = window
        wire(self, router, self.name, topology.RACK_MTU, f"{self.address}/24")
        router.plug(self.name)
        self.namespace.sysctl(
            ipv4__conf__all__arp_ignore=1,  # the VIP is on every server: none answers ARP for it
            ipv4__conf__all__arp_announce=2,
            ipv4__conf__eth0__forwarding=1,  # the way to a bucket's previous owner is looked up in the kernel's tables
        )
        self.namespace.ip(f"addr add {topology.VIP}/32 dev lo", f"route add default via {topology.ROUTER}")
        self.nginx = Nginx(self)

    def start(self) -> None:
        self.nginx.start()
        self.attach()

    def attach(self, chaining: bool = True) -> None:
        """Attaches the XDP program, or swaps it for one of another configuration; its memory stays."""
        self.run(
            *(str(build.SERVER), "attach", "--interface", "eth0", "--address", self.address),
            *("--window", str(self.window), "--peers", topology.RACK),
            *(() if chaining else ("--no-chaining",)),
        )

    def show(self) -> dict[str, Any]:
        return json.loads(self.run(str(build.SERVER), "show", "--interface", "eth0", "-o", "json"))

    def chained(self) -> int:
        """Packets that this server has sent on to a bucket's previous owner."""
        counters = self.show()["counters"]
        return counters["chain"] + counters["chain_by_kernel"]
