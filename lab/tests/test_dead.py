# SPDX-License-Identifier: Apache-2.0
"""A server whose machine dies: removed as dead, it takes no connection of another server with it.

servers 1, 2, 3 ──▶ 4 is added: it takes buckets, whose connections it asks the others for
                    its machine dies: nothing of its buckets is answered
                    backend remove --dead: the buckets go back, and nothing is chained to it

The same after a plain `backend remove`, which leaves everything chained to the corpse.
"""

import re
import time
from collections.abc import Iterator

import pytest

from lab import Lab, topology
from lab.dual import DualService, udp_sockets
from lab.lab import SERVICE
from lab.rest import Refused
from lab.traffic import Traffic
from lab.variant import Variant

LONG = 200  # connections that talk
IDLE = 120  # connections that are silent meanwhile
ADDED_SECONDS = 5.0  # from the addition to the death
DEAD_SECONDS = 3.0  # from the death to the removal
FLOWS = 100
ANSWER_SECONDS = 8.0
TALK_SECONDS = 10.0  # without an answer break a connection that talks
PATIENCE_SECONDS = 60.0  # the same, where it has to wait until the server is removed as dead
REQUEST = f"GET / HTTP/1.1\r\nHost: {topology.VIP}\r\n\r\n".encode()


@pytest.fixture
def small_lab(built: None) -> Iterator[Lab]:
    with Lab(servers=3, muxes=2, variant=Variant(quiet=0)) as lab:
        yield lab


class Idle:
    """A connection that says nothing between two requests."""

    def __init__(self, lab: Lab, number: int) -> None:
        client = lab.clients[number % len(lab.clients)]
        self.socket = client.namespace.connect(topology.VIP, topology.VIP_PORT, ANSWER_SECONDS)
        self.server = self.ask()

    def ask(self) -> str:
        """The server that answers; OSError if the connection is broken."""
        self.socket.settimeout(ANSWER_SECONDS)
        self.socket.sendall(REQUEST)
        answer = b""
        while not (name := re.search(rb"\r\n\r\n(server\d+)\n", answer)):
            part = self.socket.recv(4096)
            if not part:
                raise ConnectionResetError("closed without an answer")
            answer += part
        return name[1].decode()

    def breaks(self) -> str:
        """How the connection has broken; empty if it has not."""
        try:
            return "" if self.ask() == self.server else "another server answers"
        except OSError as error:
            return type(error).__name__


def die(lab: Lab, number: int) -> None:
    """The machine is gone: nothing that is sent to it is answered, not even by a reset."""
    lab.servers[number].namespace.ip("link set eth0 down")


def without_connections(answer: dict) -> dict:
    """Without what agents may report between two answers."""
    keys = ("backend", "buckets", "fate")
    return answer | {"leaving": [{key: each[key] for key in keys} for each in answer.get("leaving", [])]}


def remove_dead(lab: Lab, number: int, service: str = SERVICE) -> dict:
    path = f"/v1/services/{service}/backends/{number}?dead=true"
    plan = lab.api("DELETE", f"{path}&dryRun=true")
    done = lab.api("DELETE", path)
    assert without_connections(done) == without_connections(plan) | {"dryRun": False}
    lab.wait_applied(service=service)
    return done


def remove_plainly(lab: Lab, number: int, service: str = SERVICE) -> dict:
    plan = lab.change({"op": "remove", "id": number}, service=service)
    lab.wait_applied(service=service)
    return plan


AFTER = pytest.param(True, id="after a plain removal", marks=pytest.mark.long)
either_way = pytest.mark.parametrize("plain_first", [pytest.param(False, id="at once"), AFTER])


@either_way
def test_connections_of_the_living_survive(small_lab: Lab, plain_first: bool) -> None:
    lab = small_lab
    seconds = PATIENCE_SECONDS if plain_first else TALK_SECONDS
    with Traffic(lab.clients, LONG, 0.25, 0, answer_seconds=seconds) as traffic:
        traffic.wait_open()
        idle = [Idle(lab, number) for number in range(IDLE)]
        added, plan = lab.add_server()
        assert plan["movedBuckets"] > 0
        its_own = [one for one in (Idle(lab, number) for number in range(IDLE)) if one.server == added.name]
        assert len(its_own) > IDLE / 10
        time.sleep(ADDED_SECONDS)
        die(lab, added.number)
        time.sleep(DEAD_SECONDS)
        if plain_first:
            assert remove_plainly(lab, added.number)["movedBuckets"] == plan["movedBuckets"]
            assert its_own[0].breaks() == "TimeoutError", "its clients wait for the corpse"
        removed = remove_dead(lab, added.number)
        if plain_first:
            assert removed["unchainedBuckets"] >= plan["movedBuckets"]
        else:
            assert removed["movedBuckets"] == plan["movedBuckets"]
        assert removed["lostBuckets"] == 0
        traffic.wait_seconds(5)
        traffic.wait_quiet()
        assert [one for one in traffic.broken() if one["server"] != added.name] == []
        assert [one.breaks() for one in idle] == [""] * IDLE
        begun = time.monotonic()
        assert {one.breaks() for one in its_own} <= {"ConnectionResetError"}
        assert time.monotonic() - begun < ANSWER_SECONDS, "its clients are reset at once"


def test_a_removed_server_comes_back_within_the_window(small_lab: Lab) -> None:
    """With its id and its address it is the same server: chaining goes on, and it gets its buckets back."""
    lab = small_lab
    with Traffic(lab.clients, LONG, 0.25, 0, answer_seconds=TALK_SECONDS) as traffic:
        traffic.wait_open()
        idle = [Idle(lab, number) for number in range(IDLE)]
        remove_plainly(lab, 2)
        traffic.wait_seconds(3)
        address, another = topology.server_address(2), topology.server_address(topology.SERVERS_MAX)
        with pytest.raises(Refused, match="by which it comes back"):
            lab.api("PUT", f"/v1/services/{SERVICE}/backends/2", {"address": another})
        with pytest.raises(Refused, match="by which it comes back"):
            lab.api("PUT", f"/v1/services/{SERVICE}/backends/9", {"address": address})
        assert lab.api("PUT", f"/v1/services/{SERVICE}/backends/2", {"address": address})["movedBuckets"] > 0
        lab.wait_applied()
        assert lab.backends()[2]["buckets"] > 0
        traffic.wait_seconds(5)
        traffic.wait_quiet()
        assert traffic.broken() == []
        assert [one.breaks() for one in idle] == [""] * IDLE
        assert "server2" in {Idle(lab, number).server for number in range(IDLE)}


def unanswered(lab: Lab) -> int:
    """How many of FLOWS new flows have no answer to their first datagram within a second."""
    sockets = udp_sockets(lab, FLOWS)
    failed = 0
    for one in sockets:
        one.send(b"question")
    for one in sockets:
        one.settimeout(1)
        try:
            one.recv(1000)
        except TimeoutError:
            failed += 1
        one.close()
    return failed


@either_way
def test_new_datagrams_are_answered(small_lab: Lab, plain_first: bool) -> None:
    lab = small_lab
    with DualService(lab) as service:
        assert unanswered(lab) == 0
        die(lab, 3)
        assert unanswered(lab) > FLOWS / 10
        if plain_first:
            remove_plainly(lab, 3, service.name)
            assert unanswered(lab) > FLOWS / 10, "new flows are chained to the corpse"
        remove_dead(lab, 3, service.name)
        assert unanswered(lab) == 0
