# SPDX-License-Identifier: Apache-2.0
"""What probes write into ZooKeeper, as its readers see it."""

import base64
import contextlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypedDict

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from lab.deadline import until
from lab.lab import Lab
from lab.zookeeper import AUTH_DATA, connect_string


@dataclass(frozen=True)
class Finding:
    """Why a backend is down."""

    reason: str
    vip: str
    port: str
    silent: bool


class Down(TypedDict):
    """Backends that are down for one reason."""

    reason: str
    vip: str
    protocol: str
    port: int
    backends: str  # a set of ids


class Found(TypedDict, total=False):
    """Of a service, by a probe: sets of ids."""

    up: str
    silent: str
    down: list[Down]


class Live(TypedDict, total=False):
    """A probe's node."""

    services: dict[str, Found]


class Findings:
    """The nodes of probes in ZooKeeper."""

    def __init__(self, client: KazooClient) -> None:
        self.client = client

    def node(self, mux: str) -> Live:
        """{} if there is none."""
        try:
            live: Live = json.loads(self.client.get(f"/fairlead/health/{mux}/live")[0])
        except NoNodeError:
            return {}
        return live

    def service(self, mux: str, service: str) -> Found:
        nothing: Found = {}
        return self.node(mux).get("services", {}).get(service, nothing)

    def up(self, mux: str, service: str) -> set[int]:
        return ids(self.service(mux, service).get("up", ""))

    def down(self, mux: str, service: str) -> dict[int, Finding]:
        found = self.service(mux, service)
        silent = ids(found.get("silent", ""))
        return {
            number: Finding(each["reason"], each["vip"], f"{each['protocol']}:{each['port']}", number in silent)
            for each in found.get("down", [])
            for number in ids(each["backends"])
        }

    def wait_up(self, mux: str, service: str, wanted: set[int], seconds: float = 30) -> None:
        until(f"{mux} finds {wanted} of {service} up", lambda: self.up(mux, service) == wanted, seconds)

    def wait_down(self, mux: str, service: str, number: int, reasons: Collection[str], silent: bool = False) -> Finding:
        """Until it is down for one of these reasons; `silent`: and nothing comes back from any of its endpoints."""

        def finding() -> Finding | None:
            one = self.down(mux, service).get(number)
            return one if one and one.reason in reasons and one.silent == silent else None

        what = f"{mux} finds {number} of {service} down by {', '.join(reasons)}{', silent' if silent else ''}"
        return until(what, finding, 30)


def ids(text: str) -> set[int]:
    """A set of ids as base64 of varints (protocol/README.md, 11)."""
    numbers, shift, number = [], 0, 0
    for byte in base64.b64decode(text):
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            numbers.append(number)
            shift, number = 0, 0
    found: set[int] = set()
    at = 0
    for skip, count in zip(numbers[::2], numbers[1::2], strict=True):
        found |= set(range(at + skip, at + skip + count))
        at += skip + count
    return found


@contextlib.contextmanager
def findings(lab: Lab) -> Iterator[Findings]:
    with lab.controller.namespace.inside():  # the client's threads stay there
        client = KazooClient(hosts=connect_string(1), read_only=True, auth_data=AUTH_DATA)
        client.start(timeout=20)
    try:
        yield Findings(client)
    finally:
        client.stop()
        client.close()
