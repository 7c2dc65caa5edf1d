# SPDX-License-Identifier: Apache-2.0
"""The controller's machine: the controller, and ZooKeeper inside it or beside it."""

from typing import Any

from lab import build, topology
from lab.deadline import until
from lab.instance import Instance
from lab.node import Node, wire
from lab.rest import Refused, Rest, Unreachable
from lab.router import Router
from lab.zookeeper import ZooKeeper


class Controller(Node):
    def __init__(self, instance: Instance, router: Router, embedded: bool) -> None:
        super().__init__(instance, "controller", topology.CONTROLLER)
        wire(self, router, self.name, topology.RACK_MTU, f"{self.address}/24")
        router.plug(self.name)
        self.namespace.ip(f"route add default via {topology.ROUTER}")
        self.zookeeper = None if embedded else ZooKeeper(self)
        if self.zookeeper:
            store = ["--zookeeper", self.zookeeper.connect_string]
        else:
            store = ["--zookeeper", f"embedded:{self.directory / 'zookeeper-data'}"]
            store += ["--zookeeper-listen", f"{self.address}:{topology.ZOOKEEPER_PORT}"]
        listen = ["--listen", f"{self.address}:{topology.REST_PORT}"]
        self.process = self.program("controller", [str(build.CONTROLLER), *store, *listen])
        self.api = Rest(self.namespace, self.address, topology.REST_PORT)

    @property
    def connect_string(self) -> str:
        return f"{self.address}:{topology.ZOOKEEPER_PORT}"

    def start(self) -> None:
        self.instance.start(self.process)

    def wait(self, seconds: float = 40) -> None:
        """Until it leads and can commit."""
        until("the controller leads", self._leads, seconds, pause=0.1)

    def _leads(self) -> Any:
        self.process.expect_alive()
        try:
            return self.api("GET", "/healthz").get("leader")
        except (Refused, Unreachable):
            return False
