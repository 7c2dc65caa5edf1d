# SPDX-License-Identifier: Apache-2.0
"""Silent connections of a server whose buckets have moved on, twice or three times, and whose packets name it still.

    server1 has all connections ──▶ its buckets go to server2 ──▶ to server3
        middle    server2 loses all that it knows, between two servers of each packet's list
        jump      no mux sees the moves one by one: both are cut off meanwhile, and load a snapshot
        return    the buckets go back to server2, and once more to server3

Windows later all of them send. In virtual machines the server side is the module, and server1 the XDP program.
"""

import random
from collections.abc import Callable, Iterator

import pytest

from lab import Lab
from lab.traffic import MACHINE_ANSWER_SECONDS, Traffic
from lab.variant import Variant
from lab.vm.kernel import kernels

WINDOW = 6  # seconds
HOLD = 3_600
FIRST, SECOND, THIRD = 1, 2, 3
NEVER = (3_600.0,)
CHANGES = 60  # while muxes are cut off: deltas that they would need are deleted meanwhile
CONNECTIONS, MACHINE_CONNECTIONS = 300, 30


@pytest.fixture(params=["xdp", pytest.param("module", marks=pytest.mark.long)])
def lab(request: pytest.FixtureRequest, built: None) -> Iterator[Lab]:
    """Servers that reset at once what they do not know."""
    machines = 2 if request.param == "module" else 0
    kernel = kernels()[0] if machines else None
    with Lab(
        3 - machines, window=WINDOW, vm_servers=machines, vm_kernel=kernel, variant=Variant(hold=HOLD, quiet=0)
    ) as lab:
        yield lab


def give_all(lab: Lab, number: int) -> None:
    """The server gets all buckets."""
    lab.weights({other: 100 if other == number else 0 for other in lab.servers})


def move(lab: Lab, *numbers: int) -> None:
    for number in numbers:
        give_all(lab, number)
        lab.wait_applied()


def middle(lab: Lab) -> None:
    move(lab, SECOND, THIRD)
    lab.servers[SECOND].detach()
    lab.servers[SECOND].attach()


def jump(lab: Lab) -> None:
    draw = random.Random(1)
    for mux in lab.muxes.values():
        mux.cut_from_zookeeper()
    give_all(lab, SECOND)
    for _ in range(CHANGES):
        lab.weights({SECOND: draw.randint(1, 100), THIRD: draw.randint(1, 100)})
    give_all(lab, THIRD)
    for mux in lab.muxes.values():
        mux.mend_zookeeper()
    lab.wait_applied()
    for mux in lab.muxes.values():
        assert mux.http("GET", "/rings")["applied"][-1]["how"] == "snapshot"


def back(lab: Lab) -> None:
    move(lab, SECOND, THIRD, SECOND, THIRD)


@pytest.mark.parametrize("story", [middle, jump, back], ids=lambda story: story.__name__)
def test_no_connection_breaks(lab: Lab, story: Callable[[Lab], None]) -> None:
    count = MACHINE_CONNECTIONS if lab.has_machines else CONNECTIONS
    move(lab, FIRST)
    with Traffic(lab.clients, 0, 1, 0, answer_seconds=MACHINE_ANSWER_SECONDS, idle=count, silences=NEVER) as traffic:
        traffic.wait_open()
        assert traffic.idle_by("server1") == count
        story(lab)
        traffic.wait_seconds(2 * WINDOW)
        assert lab.chained_packets() == 0, "idle connections were not idle"
        traffic.talk()
        traffic.wait_seconds(3)
        traffic.wait_quiet()
        print(f"{len(traffic.broken())} of {count} connections broke")
        assert traffic.broken() == []
        assert lab.chained_packets() >= count
