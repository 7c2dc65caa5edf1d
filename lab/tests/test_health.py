# SPDX-License-Identifier: Apache-2.0
"""
What the leading controller makes of probes: servers that fail get no new connections, and no connection breaks.

A server fails here by refusing to hear new connections; those that it has go on, as when a process stops accepting.
"""

import contextlib
from collections.abc import Iterator

import pytest

from lab import Lab, topology
from lab.deadline import until
from lab.dual import VIPS, DualService
from lab.health import Health, apart, filtered, probing
from lab.mux import Mux

ALL = {1, 2, 3, 4}
ROUNDS_SECONDS = 4  # eight rounds of probes; the controller looks every second


@pytest.fixture(scope="module")
def probes(session_lab: Lab) -> Iterator[None]:
    """One on each mux's machine."""
    with probing(session_lab):
        yield


@pytest.fixture
def health(lab: Lab, probes: None) -> Iterator[Health]:
    """Of web while it has a check, all backends are healthy and the leader acts."""
    health = Health(lab)
    health.check()
    health.wait_healthy(ALL)
    yield health
    health.uncheck()
    health.wait_owners(ALL)


def test_a_held_backend_stays(health: Health) -> None:
    """The first test: a bucket moves three times within the lab's window, and is left where it is then."""
    lab = health.lab
    lab.api("POST", "/v1/services/web/hold-health", {"ids": [3]})
    try:
        with filtered(lab.servers[3]), filtered(lab.servers[4]):
            health.wait({3: "held", 4: "out"})
            health.wait_owners(ALL - {4}, 10)
    finally:
        lab.api("POST", "/v1/services/web/release-health", {"ids": [3]})
    health.wait(dict.fromkeys(ALL, "healthy"), 90)


def test_a_server_that_fails_gets_no_new_connections(health: Health) -> None:
    lab = health.lab
    latest = lab.api("GET", "/v1/audit?limit=1")[0]["number"]
    with lab.traffic(long=100, interval=0.2, short_rate=20) as traffic:
        traffic.wait_open()
        before = traffic.held_by("server1")
        assert before
        with filtered(lab.servers[1]):
            health.wait({1: "out", 2: "healthy", 3: "healthy", 4: "healthy"})
            health.wait_owners(ALL - {1}, 10)
            lab.wait_applied()
            with lab.traffic(long=60, interval=0.2, short_rate=20) as later:
                later.wait_open()
                assert later.held_by("server1") == 0
                assert not later.stop()["broken"]
            assert traffic.held_by("server1") == before  # open ones live on
        health.wait(dict.fromkeys(ALL, "healthy"))
        traffic.wait_quiet()
        assert not traffic.broken()
    records = [record for record in lab.api("GET", "/v1/audit") if record["number"] > latest]
    assert [(record["who"], record["service"]) for record in records] == [("health", "web")] * 2


def nothing_happens(health: Health, fault: contextlib.AbstractContextManager[object]) -> None:
    """No backend goes out while one mux's probe is wrong, and no connection breaks, also of those through the mux."""
    lab = health.lab
    generation = lab.service()["generation"]
    with lab.traffic(long=40, interval=0.2, short_rate=20) as traffic:
        traffic.wait_open()
        with fault:
            traffic.wait_seconds(ROUNDS_SECONDS)
            now = health.now()
            assert all(one["state"] in ("healthy", "unknown") for one in now["backends"])
            assert any(one["up"] < len(lab.muxes) for one in now["backends"]), "the fault has no effect"
        traffic.wait_quiet()
        assert not traffic.broken()
    assert lab.service()["generation"] == generation


def test_one_muxs_wrong_verdict_does_nothing(health: Health) -> None:
    mux: Mux = health.lab.muxes[1]
    faults = contextlib.ExitStack()
    for server in health.lab.servers.values():
        faults.enter_context(filtered(server, f"ip saddr {mux.address} tcp dport 80 drop"))
    nothing_happens(health, faults)


def test_one_mux_apart_from_servers_does_nothing(health: Health) -> None:
    nothing_happens(health, apart(health.lab, [1], [2, 3]))


def test_vips_without_a_healthy_backend_are_withdrawn(lab: Lab, probes: None) -> None:
    """The router has no route to them any more; that to the other service stays, and they come back."""
    hops = sorted(mux.address for mux in lab.muxes.values())
    with DualService(lab) as dual:
        health = Health(lab, dual.name)
        health.check(action={"withdraw": True})
        health.wait_healthy(ALL)
        with contextlib.ExitStack() as sick:
            for server in lab.servers.values():
                vips = f"ip daddr {topology.DUAL_VIP}"
                sick.enter_context(filtered(server, f"{vips} tcp dport 80 drop"))
            health.wait(dict.fromkeys(ALL, "out"))
            for vip in VIPS:
                until(f"the router has no route to {vip}", lambda vip=vip: lab.router.vip_hops(vip) == [], 15)
            assert lab.router.vip_hops() == hops
        for vip in VIPS:
            lab.wait_announced(30, vip)
        health.wait_owners(ALL)


def test_health_is_ignored_when_most_fail(health: Health) -> None:
    lab = health.lab
    with contextlib.ExitStack() as stack:
        for number in (1, 2, 3):
            stack.enter_context(filtered(lab.servers[number]))
        until("panic", lambda: health.now()["panic"], 40)
        health.wait({1: "panic", 2: "panic", 3: "panic"})
        health.wait_owners(ALL)
    until("no panic", lambda: not health.now()["panic"], 90)
    health.wait(dict.fromkeys(ALL, "healthy"))
