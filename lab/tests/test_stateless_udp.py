# SPDX-License-Identifier: Apache-2.0
"""DNS-like traffic to a socket that receives from any sender: with `statelessUdp` and without it.

servers 1, 2, 3 ──▶ 4 is added:    stateless: it answers at once      else: all flows stay where they were for a window
                    1 is drained:  stateless: it answers no more      else: it answers its flows for a window
                    3 dies and is removed with --dead: all are answered
"""

import contextlib
import socket
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from lab import Lab, topology
from lab.dual import DualService, udp_sockets

QUERIES = 200  # each from a port of its own, as resolvers send them
FLOWS = 60  # ports that ask again and again
LOST_MOST = 4  # of the queries, on a busy machine: nothing sends a datagram again
ANSWER_SECONDS = 5.0
LONG = 60  # connections over TCP
# A DNS query: id, recursion desired, one question: A of www.example.org.
QUERY = bytes.fromhex("1d2a 0100 0001 0000 0000 0000 03777777 076578616d706c65 036f7267 00 0001 0001")


@pytest.fixture
def small_lab(built: None) -> Iterator[Lab]:
    with Lab(servers=3, muxes=2) as lab:
        yield lab


def asked(opened: list[socket.socket]) -> list[str]:
    """Which server answers a query of each; empty: none does."""
    answers = []
    for one in opened:
        one.send(QUERY)
    deadline = time.monotonic() + ANSWER_SECONDS
    for one in opened:
        one.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            answers.append(one.recv(2048).decode().split()[0])
        except TimeoutError:
            answers.append("")
    return answers


def queried(lab: Lab) -> Counter[str]:
    """How many of QUERIES new queries each server answers."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(one) for one in udp_sockets(lab, QUERIES)]
        return Counter(asked(opened))


def differ(before: list[str], after: list[str]) -> int:
    """Flows that another server answers; what was lost on the way says nothing."""
    return sum(a != b for a, b in zip(before, after, strict=True) if a and b)


@pytest.mark.parametrize("is_stateless", [True, False], ids=["stateless", "stateful"])
def test_servers_come_and_go(small_lab: Lab, is_stateless: bool) -> None:
    lab = small_lab
    with DualService(lab, statelessUdp=is_stateless) as service, contextlib.ExitStack() as stack:
        with lab.traffic(long=LONG, short_rate=0, vip=topology.DUAL_VIP) as traffic:
            traffic.wait_open()
            flows = [stack.enter_context(one) for one in udp_sockets(lab, FLOWS)]
            at_first = asked(flows)
            assert set(at_first) - {""} == {"server1", "server2", "server3"}

            added, _ = lab.add_server()
            moved = service.add(added)["movedBuckets"]
            new, again = queried(lab), asked(flows)
            print(f"added: {moved} buckets moved; new queries {dict(new)}; {differ(at_first, again)} flows moved")
            assert new[""] <= LOST_MOST
            assert (new[added.name] > QUERIES / 10) == is_stateless
            assert (differ(at_first, again) > 0) == is_stateless

            service.drain(1)
            new, again = queried(lab), asked(flows)
            print(f"drained: new queries {dict(new)}; {differ(at_first, again)} flows moved")
            assert new[""] <= LOST_MOST
            if is_stateless:
                assert new["server1"] == 0 and "server1" not in again
            else:
                assert differ(at_first, again) == 0
            traffic.wait_seconds(2)
            traffic.wait_quiet()
            assert traffic.broken() == [], "TCP of the same service is chained in any case"

        lab.servers[3].namespace.ip("link set eth0 down")
        assert queried(lab)[""] > QUERIES / 10
        lab.api("DELETE", f"/v1/services/{service.name}/backends/3?dead=true")
        lab.wait_applied(service=service.name)
        new = queried(lab)
        print(f"dead and removed: new queries {dict(new)}")
        assert new["server3"] == 0
        assert new[""] <= LOST_MOST
