# SPDX-License-Identifier: Apache-2.0
"""The runner: a machine wired to the rack, for programs that talk to controllers, ZooKeeper and muxes."""

from lab import topology
from lab.instance import Instance
from lab.node import Node, wire
from lab.router import Router
from lab.variant import USUAL, Variant


class Runner(Node):
    def __init__(self, instance: Instance, router: Router, variant: Variant = USUAL) -> None:
        address6 = topology.rack_address6(topology.RUNNER)
        super().__init__(instance, "runner", variant.rack_address(topology.RUNNER), address6)
        wire(self, router, self.name, topology.RACK_MTU, self.interface_addresses)
        router.plug(self.name)
        self.namespace.ip(*(f"route add {gateway}" for gateway in router.gateways()))
