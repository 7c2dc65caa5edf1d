# SPDX-License-Identifier: Apache-2.0
"""What the leading controller makes of probes, and ways to make servers sick: by filters, by cuts of the rack."""

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from lab.answers import HealthOfBackend, HealthOfService
from lab.deadline import until
from lab.lab import SERVICE, Lab
from lab.probe import Probe
from lab.rest import Refused
from lab.server import Server, XdpServer

CHECK = {"kind": "tcp", "intervalMillis": 500, "timeoutMillis": 400, "rise": 1, "fall": 2, "jitterPercent": 10}
SYNS = "tcp dport 80 tcp flags & (syn | ack) == syn drop"
UNAVAILABLE = 503
DEAF_PORT = 81
PATIENCE_SECONDS = 60  # until probes have looked at emulated machines
SETTLE_SECONDS = 30  # a leader only looks for 12 s


class Health:
    """Of a service's backends, as /v1/health has it."""

    def __init__(self, lab: Lab, service: str = SERVICE) -> None:
        self.lab = lab
        self.service = service

    def check(self, **settings: Any) -> None:
        """Sets the check; each setting that is not named is as in CHECK, or as it is."""
        self.lab.api("PATCH", f"/v1/services/{self.service}", {"healthCheck": {**CHECK, **settings}})

    def uncheck(self) -> None:
        self.lab.api("PATCH", f"/v1/services/{self.service}", {"healthCheck": {"kind": "none"}})

    def now(self) -> HealthOfService:
        """As the leader sees it; while there is none, only that it does not act."""
        listed: list[HealthOfService]
        try:
            listed = self.lab.api("GET", "/v1/health")
        except Refused as refused:
            if refused.status != UNAVAILABLE:
                raise
            listed = []
        nothing: HealthOfService = {"acting": False}
        return next((one for one in listed if one["service"] == self.service), nothing)

    def backend(self, number: int) -> HealthOfBackend:
        nothing: HealthOfBackend = {}
        return next((one for one in self.now().get("backends", []) if one["backend"] == number), nothing)

    def states(self) -> dict[int, str]:
        return {one["backend"]: one["state"] for one in self.now().get("backends", [])}

    def wait(self, wanted: dict[int, str], seconds: float = 40) -> None:
        until(f"health of {self.service} says {wanted}", lambda: self.states().items() >= wanted.items(), seconds)

    def wait_healthy(self, numbers: Iterable[int], seconds: float = 60) -> None:
        """Until they are, and the leader acts."""
        self.wait(dict.fromkeys(numbers, "healthy"), seconds)
        until("the leader acts", lambda: self.now()["acting"], SETTLE_SECONDS)

    def owners(self) -> set[int]:
        """Backends that new connections are sent to."""
        listed = self.lab.api("GET", f"/v1/services/{self.service}/backends")
        return {backend["id"] for backend in listed if backend["buckets"]}

    def wait_owners(self, wanted: set[int], seconds: float = 30) -> None:
        until(f"{sorted(wanted)} own the buckets of {self.service}", lambda: self.owners() == wanted, seconds)


@contextlib.contextmanager
def probing(lab: Lab) -> Iterator[dict[str, Probe]]:
    """A probe on each mux's machine."""
    made = {mux.name: Probe(mux) for mux in lab.muxes.values()}
    for probe in made.values():
        probe.start()
    yield made
    for probe in made.values():
        probe.process.stop()
        assert probe.process.exit_code == 0, probe.process.tail()


def expect_probed(lab: Lab) -> None:
    """
    Each server of web is up for each mux's probe, and refuses by itself at a port where nothing listens. So probes
    reach the server that they name, also by another encapsulation or form of the server side. One that was found down
    before the others may have been taken out meanwhile: all own buckets again afterwards.
    """
    health, muxes = Health(lab), len(lab.muxes)
    owners = health.owners()

    def all_found(key: Literal["up", "down"]) -> bool:
        found = health.now().get("backends", [])
        return len(found) == len(lab.servers) and all(one[key] == muxes and not one["silent"] for one in found)

    with probing(lab):
        try:
            health.check(intervalMillis=2000, timeoutMillis=1900)  # machines are emulated
            until("probes find all servers up", lambda: all_found("up"), PATIENCE_SECONDS)
            health.check(port=DEAF_PORT)
            until("probes are refused by all", lambda: all_found("down"), PATIENCE_SECONDS)
            faults = {fault for one in health.now()["backends"] for fault in one["faults"].values()}
            assert all(fault.startswith("refused at ") for fault in faults), faults
        finally:
            health.uncheck()
    health.wait_owners(owners)


@contextlib.contextmanager
def filtered(server: Server, rule: str = SYNS) -> Iterator[None]:
    """The server drops by this rule; by default it hears no new connections, and those that it has go on."""
    rules = f"table inet sick {{ chain in {{ type filter hook input priority 0; {rule}; }}; }}"
    server.namespace.run("nft", "-f", "-", stdin=rules)
    try:
        yield
    finally:
        server.namespace.run("nft", "delete", "table", "inet", "sick")


@contextlib.contextmanager
def frozen(server: XdpServer) -> Iterator[None]:
    """Its kernel accepts connections, and the process never answers one."""
    os.kill(server.nginx.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.nginx.pid, signal.SIGCONT)


@contextlib.contextmanager
def apart(lab: Lab, muxes: Iterable[int], servers: Iterable[int]) -> Iterator[None]:
    """No packet from these muxes reaches these servers: the bridge drops it, as an XDP program is before any filter."""
    sources = ", ".join(f'"{lab.muxes[number].name}"' for number in muxes)
    targets = ", ".join(f'"{lab.servers[number].name}"' for number in servers)
    drop = f"iifname {{ {sources} }} oifname {{ {targets} }} drop"
    rules = f"table bridge apart {{ chain cut {{ type filter hook forward priority 0; {drop}; }}; }}"
    lab.router.namespace.run("nft", "-f", "-", stdin=rules)
    try:
        yield
    finally:
        lab.router.namespace.run("nft", "delete", "table", "bridge", "apart")
