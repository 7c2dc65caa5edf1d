# SPDX-License-Identifier: Apache-2.0
"""The fault `lie`, on a cluster of its own, which steers by othello."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jepsen.faults.lab_cluster import LabCluster
from jepsen.tests.conftest import SMALL, Commands, curl
from lab import topology
from lab.deadline import until
from lab.false_agent import VERSION
from lab.instance import Instance

OPEN = 40
KNOWN_SECONDS = 60
REQUEST = b"GET / HTTP/1.1\r\nHost: fairlead\r\n\r\n"


@pytest.fixture
def steered(commands: Commands, tmp_path: Path) -> Iterator[Commands]:
    """Commands for a small cluster that steers by othello; `commands` has built what it runs."""
    file = tmp_path / "othello.edn"
    file.write_text(SMALL.replace(":window-seconds 120", ':window-seconds 20 :steering "othello"'))
    steered = Commands(file)
    steered.instance = steered("nodes", "up").strip()
    yield steered
    steered("nodes", "down")


def status(commands: Commands, cluster: LabCluster) -> dict[str, Any]:
    """How the service's arrays stand, as its leader says."""
    leader = commands.nodes()[commands.with_role("leader")]["rest"]
    return curl(cluster, f"{leader}/v1/services/web/othello")


def is_answered(connection: socket.socket) -> bool:
    connection.sendall(REQUEST)
    return connection.recv(4096).startswith(b"HTTP/1.1 200")


@pytest.mark.long
def test_a_lie_takes_effect_and_heals(steered: Commands) -> None:
    """It claims what never was, and the other server's connections; once it is healed, arrays lead to all again."""
    cluster = LabCluster(Instance.load(steered.instance))
    with cluster.namespace(cluster.node("client1")).inside():
        open_ones = [socket.create_connection((topology.VIP, topology.VIP_PORT), 5) for _ in range(OPEN)]
    assert all(is_answered(each) for each in open_ones)
    until("all are known", lambda: status(steered, cluster)["connections"] == OPEN, KNOWN_SECONDS)
    liar, other = cluster.node("server1"), cluster.node("server2")
    steered("fault-ctl", "lie", "server1")
    until(
        "its claims are refused",
        lambda: sum(status(steered, cluster)["refusedClaims"].values()) > 0,
        KNOWN_SECONDS,
    )
    assert {one["version"] for one in cluster.agent(liar)} == {VERSION}
    assert VERSION not in {one["version"] for one in cluster.agent(other)}
    steered("fault-ctl", "heal", "lie", "server1")
    assert VERSION not in {one["version"] for one in cluster.agent(liar)}
    stands = status(steered, cluster)
    assert (stands["connections"], stands["miscoded"], stands["disputed"]) == (OPEN, 0, 0)
    assert all(is_answered(each) for each in open_ones)
    for each in open_ones:
        each.close()
