# SPDX-License-Identifier: Apache-2.0
"""A service beside "web" for the time of a `with` block; lab/dual.py and lab/mptcp.py have two kinds."""

import abc
from types import TracebackType
from typing import Self

from lab.answers import Change, Moved
from lab.lab import Lab
from lab.server import Server


class BesideService(abc.ABC):
    """Subclasses say how it is created and deleted, and how a server is prepared for it."""

    name: str

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    @abc.abstractmethod
    def _up(self) -> None: ...

    @abc.abstractmethod
    def _down(self) -> None: ...

    @abc.abstractmethod
    def _prepare(self, server: Server) -> None: ...

    def _address(self, server: Server) -> str:
        return server.address

    def __enter__(self) -> Self:
        try:
            self._up()
        except BaseException:
            self._down()
            raise
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._down()

    def _addition(self, server: Server) -> Change:
        return {"op": "add", "id": server.number, "address": self._address(server), "weight": 100}

    def _delete(self) -> None:
        if self.name in [service["name"] for service in self.lab.api("GET", "/v1/services")]:
            self.lab.api("DELETE", f"/v1/services/{self.name}")

    def change(self, *changes: Change) -> Moved:
        """Commits the changes as one generation, waits until every running mux has it, and returns what moved."""
        plan = self.lab.change(*changes, service=self.name)
        self.lab.wait_applied(service=self.name)
        return plan

    def add(self, server: Server) -> Moved:
        """Adds one of the lab's servers to this service, too."""
        self._prepare(server)
        return self.change(self._addition(server))

    def drain(self, number: int) -> Moved:
        return self.change({"op": "weight", "id": number, "weight": 0})
