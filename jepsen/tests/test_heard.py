# SPDX-License-Identifier: Apache-2.0
"""Whether an agent is heard, by what each controller lists."""

from typing import Any

import pytest

from jepsen.faults.cluster import Cluster, Node

SERVER = Node("server5", "10.1.0.25", "server", ("nginx", "agent"))


class Listed(Cluster):
    """Controllers that only list agents; one that does not answer has None."""

    def __init__(self, *listings: Any) -> None:
        self.listings = {f"controller{number}": listed for number, listed in enumerate(listings, 1)}
        self.nodes = {name: Node(name, "", "controller", ("controller",)) for name in self.listings}

    def _json(self, node: Node, program: str, path: str) -> Any:
        assert (program, path.partition("?")[0]) == ("controller", "/v1/agents")
        return self.listings[node.name]


Listed.__abstractmethods__ = frozenset()


def state(*states: str, address: str = SERVER.address) -> list[dict[str, str]]:
    return [{"address": address, "state": each} for each in states]


@pytest.mark.parametrize(
    ("listings", "expected"),
    [
        ((None, None, None), False),
        (({"title": "no leader"},), False),
        ((state("reporting"),), True),
        ((None, state("counting")), True),
        ((state("reporting", "silent"),), False),
        ((state("never_heard"), state("silent")), False),
        ((state("never_heard"), None, state("reporting")), True),
        ((state("silent", address="10.1.0.24") + state("reporting"),), True),
    ],
    ids=[
        "no answers",
        "a refusal",
        "reporting",
        "the second answers",
        "silent for one service",
        "two leaders, neither hears",
        "the replaced leader hears",
        "another server's is silent",
    ],
)
def test_heard(listings: tuple, expected: bool) -> None:
    assert Listed(*listings).heard(SERVER) is expected
