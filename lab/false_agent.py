# SPDX-License-Identifier: Apache-2.0
"""Reports in place of a server's agent, which may be lies: it claims the connections that it is told to."""

import random
from collections.abc import Iterable
from typing import Any, NotRequired, TypedDict

from lab import topology
from lab.namespace import Namespace
from lab.rest import Refused, Rest, Unreachable
from lab.tokens import agent_token
from protocol.vectors.oracle.flow import flow_hash64
from protocol.vectors.oracle.known import write_hashes

LISTED_MAX = 262_144  # connections of a report
VERSION = "false"  # of the program, as controllers list it


class AgentService(TypedDict):
    """A service as agents get it."""

    name: str
    hash: str
    hashKey: str
    affinity: str


class Served(TypedDict):
    version: str
    services: list[AgentService]


class Remembered(TypedDict):
    """What the leader remembers of the server's connections of a service."""

    name: str
    memory: str
    mark: str


class Heard(TypedDict):
    """The answer to a report."""

    connections: NotRequired[list[Remembered]]


class FalseAgent:
    """The server's own agent must not run. It reports to one controller after the other, with that agent's token."""

    def __init__(self, namespace: Namespace, number: int, controllers: int = 1, seed: int = 1) -> None:
        draw = random.Random(seed)
        hosts = [topology.controller_address(one + 1) for one in range(controllers)]
        self.controllers = [Rest(namespace, host, topology.REST_PORT, token=agent_token(number)) for host in hosts]
        address = topology.server_address(number)
        self.addresses = [address, topology.rack_address6(address)]
        self.boot = f"{draw.getrandbits(128):032x}"
        self.sequence = 0
        self.remembered: dict[str, Remembered] = {}  # by service: the last answer's memory and mark
        self.heard: dict[str, str] = {}  # by service: the memory to which a whole set was told

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer of the first controller that gives one; a LabError if none does."""
        for _ in range(len(self.controllers) - 1):
            try:
                return self.controllers[0](method, path, body)
            except (Refused, Unreachable):
                self.controllers.append(self.controllers.pop(0))
        return self.controllers[0](method, path, body)

    def services(self) -> Served:
        served: Served = self.ask("GET", "/v1/agent/services")
        return served

    def report(self, service: str, established: int, connections: dict[str, object] | None = None) -> Heard:
        """Returns the answer."""
        self.sequence += 1
        told: dict[str, object] = {"name": service, "established": established, "halfOpen": 0, "opened": 0, "closed": 0}
        told |= {"connections": connections} if connections else {}
        report: dict[str, object] = {
            "format": 1,
            "boot": self.boot,
            "sequence": self.sequence,
            "version": VERSION,
            "mode": "events",
        }
        report |= {"addresses": self.addresses, "servicesVersion": self.services()["version"], "lostEvents": 0}
        answer: Heard = self.ask("POST", "/v1/agent/reports", report | {"services": [told]})
        self.remembered |= {one["name"]: one for one in answer.get("connections", [])}
        return answer

    def is_whole(self, service: str) -> bool:
        """Whether the next claim is a whole set: the leader remembers nothing of this server."""
        if service not in self.remembered:
            self.report(service, 0)
        return self.heard.get(service) != self.remembered[service]["memory"]

    def claim(self, service: str, opened: Iterable[int], closed: Iterable[int] = ()) -> Heard:
        """Claims these flow hashes: a whole set if the leader remembers nothing, else changes. Returns the answer."""
        is_whole = self.is_whole(service)
        remembered = self.remembered[service]
        hashes = list(opened)
        for at in range(0, max(1, len(hashes)), LISTED_MAX):
            part = hashes[at : at + LISTED_MAX]
            connections: dict[str, object] = {"memory": remembered["memory"], "mark": remembered["mark"]}
            connections |= {"whole": is_whole, "first": is_whole and at == 0, "last": at + LISTED_MAX >= len(hashes)}
            connections |= {"opened": write_hashes(part), "closed": ""}
            if not is_whole and at == 0:
                connections["closed"] = write_hashes(list(closed))
            self.heard[service] = remembered["memory"]
            answer = self.report(service, len(hashes), connections)
        return answer


def flow_hash(service: AgentService, vip: str, client: str) -> int:
    """Of the connection from `client`, as address:port, to the VIP of a service that /v1/agent/services lists."""
    address, _, port = client.rpartition(":")
    flow: dict[str, object] = {
        "source": address.strip("[]"),
        "sourcePort": int(port),
        "destination": vip,
        "protocol": 6,
    }
    flow["destinationPort"] = topology.VIP_PORT
    return flow_hash64(flow | {"hash": service["hash"], "hashKey": service["hashKey"], "affinity": service["affinity"]})
