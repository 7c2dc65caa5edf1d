# SPDX-License-Identifier: Apache-2.0
"""ZooKeeper is down, or one mux is cut off from it, and muxes are restarted meanwhile: no connection breaks."""

import contextlib
import time
from collections.abc import Iterator

import pytest

from lab import Lab
from lab.deadline import until
from lab.lab import SERVICE
from lab.mux import Mux
from lab.rest import Unreachable
from lab.traffic import Traffic
from lab.variant import Variant

LONG = 60
RESTORED = f'fairlead_mux_restored{{service="{SERVICE}"}}'
BEHIND = f'fairlead_mux_withdrawn{{service="{SERVICE}",reason="behind"}}'
ANNOUNCED = f'fairlead_mux_announced{{service="{SERVICE}"}}'
GENERATION = f'fairlead_mux_generation{{service="{SERVICE}"}}'
STEERED = f'fairlead_mux_service_packets_total{{service="{SERVICE}"}}'

# From the mux's first answer on, when DPDK is up, to its announcement: 1.1 s, and no time-out of ZooKeeper's (10 s).
ANNOUNCED_SECONDS = 5

# Of the lab in which a mux is cut off for several windows.
WINDOW = 20  # seconds
BEHIND_SECONDS = 3  # well below the window
SHIFTED_SECONDS = 2
NEW_SECONDS = 3
CHANGES = (
    ({"op": "add", "id": 5, "weight": 100},),
    ({"op": "remove", "id": 1},),
    ({"op": "add", "id": 6, "weight": 100}, {"op": "remove", "id": 2}),
)  # a window each
REBOOTED = 1  # in the window of this change


def wait_saved(lab: Lab) -> None:
    for mux in lab.muxes.values():
        until(f"{mux.name} has saved its state", lambda mux=mux: mux.metrics()["fairlead_mux_state_unsaved"] == 0, 60)


def metrics(mux: Mux) -> dict[str, float]:
    """Empty before it answers."""
    mux.process.expect_alive()
    with contextlib.suppress(Unreachable):
        return mux.metrics()
    return {}


def restart(lab: Lab, number: int) -> None:
    """Kills and starts it, and checks how long it takes until its VIP is announced."""
    mux = lab.muxes[number]
    lab.kill_mux(number)
    lab.wait_announced()
    begun = time.monotonic()
    mux.start()
    seconds = []
    for what, condition in (
        ("answers", lambda: metrics(mux)),
        ("serves", lambda: metrics(mux).get(GENERATION)),
        ("announces", lambda: metrics(mux).get(ANNOUNCED)),
        ("has its route", lambda: mux.address in lab.router.vip_hops()),
    ):
        until(f"{mux.name} {what}", condition, 60, pause=0.01)
        seconds.append(time.monotonic() - begun)
    answers, serves, announces, routed = seconds
    print(
        f"{mux.name} answers {answers:.2f} s after its start, serves after {serves:.2f} s, announces after "
        f"{announces:.2f} s, and the router has its route after {routed:.2f} s"
    )
    assert announces - answers < ANNOUNCED_SECONDS


def test_muxes_are_restarted_without_zookeeper(lab: Lab) -> None:
    """One after the other, until all serve what they have on their disks."""
    wait_saved(lab)
    with lab.traffic(long=LONG, short_rate=20) as traffic:
        traffic.wait_open()
        lab.stop_zookeeper()
        try:
            for number in lab.muxes:
                restart(lab, number)
                lab.wait_announced()
                traffic.wait_seconds(2)
            assert [mux.metrics()[RESTORED] for mux in lab.muxes.values()] == [1] * len(lab.muxes)
        finally:
            lab.start_zookeeper()
        for mux in lab.muxes.values():
            until(f"{mux.name} is confirmed", lambda mux=mux: mux.metrics()[RESTORED] == 0, 60)
        lab.controller.wait()
        lab.wait_applied()
        traffic.wait_quiet()
    assert traffic.total is not None
    assert traffic.total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))
    drained = lab.drain(1)  # the muxes follow again, from the ring that they had on disk
    assert drained["movedBuckets"] > 0
    lab.wait_applied()


@pytest.fixture
def short_lab(built: None) -> Iterator[Lab]:
    options = ("--behind-seconds", str(BEHIND_SECONDS))
    with Lab(servers=4, muxes=2, window=WINDOW, variant=Variant(mux_options=options)) as lab:
        yield lab


def change(lab: Lab, current: Mux, changes: tuple[dict, ...]) -> float:
    """Commits the changes, with the machines of servers that are added; returns when, once the current mux has them."""
    for added in [each["id"] for each in changes if each["op"] == "add"]:
        server = lab.start_server(added)
        lab.wait_server(server)
    began = time.monotonic()
    addresses = {number: server.address for number, server in lab.servers.items()}
    plan = lab.change(*[each | {"address": addresses[each["id"]]} if each["op"] == "add" else each for each in changes])
    until("the current mux has it", lambda: current.generation(SERVICE) >= plan["generation"], WINDOW)
    assert plan["movedBuckets"] > 0
    return began


def wait_withdrawn(lab: Lab, current: Mux, late: Mux) -> None:
    until(f"{late.name} says that it is behind", lambda: late.metrics().get(BEHIND) == 1, WINDOW)
    until("the router has the current mux alone", lambda: lab.router.vip_hops() == [current.address], WINDOW)


def renew(lab: Lab, traffic: Traffic) -> None:
    """As clients do within a window: no connection is older than it."""
    for server in lab.servers.values():
        traffic.renew(server.name)
    traffic.wait_seconds(1)
    traffic.wait_open()


def reboot(lab: Lab, current: Mux, late: Mux) -> None:
    """It starts from its disk, still cut off, and its ring is older than a window: it must not be announced at all."""
    late.kill()
    late.start()
    seen: set[str] = set()

    def is_behind() -> bool:
        seen.update(lab.router.vip_hops())
        return metrics(late).get(BEHIND) == 1

    until(f"{late.name} has started and says that it is behind", is_behind, 60, pause=0.01)
    assert late.metrics()[RESTORED] == 1
    assert seen == {current.address}, "the router had a route to a mux whose ring is older than the window"


@pytest.mark.long
def test_a_mux_is_cut_off_for_several_windows(short_lab: Lab) -> None:
    """Servers come and go; it withdraws, and traffic that still gets to it breaks nothing."""
    lab = short_lab
    current, late = lab.muxes[1], lab.muxes[2]
    wait_saved(lab)
    with lab.traffic(long=LONG, short_rate=0) as traffic:
        traffic.wait_open()
        late.cut_from_zookeeper()
        known = late.generation(SERVICE)
        for number, changes in enumerate(CHANGES):
            began = change(lab, current, changes)
            with lab.router.only_by(late.address):
                traffic.wait_seconds(SHIFTED_SECONDS)
            wait_withdrawn(lab, current, late)
            renew(lab, traffic)
            assert time.monotonic() - began < WINDOW, "the machine is too slow for this window"
            with lab.traffic(long=0, short_rate=40) as new:
                new.wait_seconds(NEW_SECONDS)
                if number == REBOOTED:
                    reboot(lab, current, late)
                before = late.metrics().get(STEERED, 0)
                new.wait_seconds(NEW_SECONDS)
                assert late.metrics().get(STEERED, 0) == before
            assert new.total is not None and new.total["broken"] == 0, "\n".join(map(str, new.broken()[:10]))
            assert new.total["servers"].keys() == {lab.servers[id_].name for id_ in lab.backends()}
            time.sleep(max(0.0, began + WINDOW + 1 - time.monotonic()))  # the window itself
            for removed in lab.servers.keys() - lab.backends().keys():
                lab.switch_off(removed)
        assert late.generation(SERVICE) == known

        late.mend_zookeeper()
        lab.wait_applied()
        lab.wait_announced()
        assert late.metrics()[RESTORED] == 0
        with lab.router.only_by(late.address), lab.traffic(long=LONG, short_rate=20) as new:
            new.wait_open()
            traffic.wait_seconds(SHIFTED_SECONDS)
        assert new.total is not None and new.total["broken"] == 0, "\n".join(map(str, new.broken()[:10]))
        traffic.wait_quiet()
    assert traffic.total is not None
    print(f"{traffic.total['requests']} requests of {traffic.total['connections']} connections")
    assert traffic.total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))
