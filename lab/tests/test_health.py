# SPDX-License-Identifier: Apache-2.0
"""
What the leading controller makes of probes: servers that fail get no new connections, and no connection breaks.

A server fails here by refusing to hear new connections; those that it has go on, as when a process stops accepting.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from lab import Lab
from lab.deadline import until
from lab.mux import Mux
from lab.probe import Probe
from lab.server import Server

CHECK = {"kind": "tcp", "intervalMillis": 500, "timeoutMillis": 400, "rise": 1, "fall": 2, "jitterPercent": 10}
ALL = {1, 2, 3, 4}
SYNS = "tcp dport 80 tcp flags & (syn | ack) == syn drop"
ROUNDS_SECONDS = 4  # eight rounds of probes; the controller looks every second


@pytest.fixture(scope="module")
def probes(session_lab: Lab) -> Iterator[None]:
    """One on each mux's machine."""
    made = [Probe(mux) for mux in session_lab.muxes.values()]
    for probe in made:
        probe.start()
    yield
    for probe in made:
        probe.process.stop()
        assert probe.process.exit_code == 0, probe.process.tail()


@pytest.fixture
def checked(lab: Lab, probes: None) -> Iterator[Lab]:
    """The lab while its service has a check, all backends are healthy and the leader acts."""
    lab.api("PATCH", "/v1/services/web", {"healthCheck": CHECK})
    wait_states(lab, dict.fromkeys(ALL, "healthy"))
    until("the leader acts", lambda: health(lab)["acting"], 30)
    yield lab
    lab.api("PATCH", "/v1/services/web", {"healthCheck": {"kind": "none"}})
    until("all own buckets", lambda: owners(lab) == ALL, 30)


@contextlib.contextmanager
def filtered(server: Server, rule: str) -> Iterator[None]:
    rules = f"table inet sick {{ chain in {{ type filter hook input priority 0; {rule}; }}; }}"
    server.namespace.run("nft", "-f", "-", stdin=rules)
    try:
        yield
    finally:
        server.namespace.run("nft", "delete", "table", "inet", "sick")


def health(lab: Lab) -> dict[str, Any]:
    return next((one for one in lab.api("GET", "/v1/health") if one["service"] == "web"), {"acting": False})


def states(lab: Lab) -> dict[int, str]:
    return {one["backend"]: one["state"] for one in health(lab).get("backends", [])}


def wait_states(lab: Lab, wanted: dict[int, str], seconds: float = 40) -> None:
    until(f"health says {wanted}", lambda: states(lab).items() >= wanted.items(), seconds)


def owners(lab: Lab) -> set[int]:
    """Backends that new connections are sent to."""
    return {number for number, backend in lab.backends().items() if backend["buckets"]}


def test_a_held_backend_stays(checked: Lab) -> None:
    """The first test: a bucket moves three times within the lab's window, and is left where it is then."""
    checked.api("POST", "/v1/services/web/hold-health", {"ids": [3]})
    try:
        with filtered(checked.servers[3], SYNS), filtered(checked.servers[4], SYNS):
            wait_states(checked, {3: "held", 4: "out"})
            until("all but one own buckets", lambda: owners(checked) == ALL - {4}, 10)
    finally:
        checked.api("POST", "/v1/services/web/release-health", {"ids": [3]})
    wait_states(checked, dict.fromkeys(ALL, "healthy"), 90)


def test_a_server_that_fails_gets_no_new_connections(checked: Lab) -> None:
    latest = checked.api("GET", "/v1/audit?limit=1")[0]["number"]
    with checked.traffic(long=100, interval=0.2, short_rate=20) as traffic:
        traffic.wait_open()
        before = traffic.held_by("server1")
        assert before
        with filtered(checked.servers[1], SYNS):
            wait_states(checked, {1: "out", 2: "healthy", 3: "healthy", 4: "healthy"})
            until("all but one own buckets", lambda: owners(checked) == ALL - {1}, 10)
            checked.wait_applied()
            with checked.traffic(long=60, interval=0.2, short_rate=20) as later:
                later.wait_open()
                assert later.held_by("server1") == 0
                assert not later.stop()["broken"]
            assert traffic.held_by("server1") == before  # open ones live on
        wait_states(checked, dict.fromkeys(ALL, "healthy"))
        traffic.wait_quiet()
        assert not traffic.broken()
    records = [record for record in checked.api("GET", "/v1/audit") if record["number"] > latest]
    assert [(record["who"], record["service"]) for record in records] == [("health", "web")] * 2


def test_one_muxs_wrong_verdict_does_nothing(checked: Lab) -> None:
    mux: Mux = checked.muxes[1]
    generation = checked.service()["generation"]
    with contextlib.ExitStack() as stack:
        for server in checked.servers.values():
            stack.enter_context(filtered(server, f"ip saddr {mux.address} tcp dport 80 drop"))
        with checked.traffic(long=40, interval=0.2, short_rate=20) as traffic:
            traffic.wait_open()
            traffic.wait_seconds(ROUNDS_SECONDS)
            assert not traffic.broken()
        assert all(one["state"] in ("healthy", "unknown") for one in health(checked)["backends"])
        assert checked.service()["generation"] == generation


def test_health_is_ignored_when_most_fail(checked: Lab) -> None:
    with contextlib.ExitStack() as stack:
        for number in (1, 2, 3):
            stack.enter_context(filtered(checked.servers[number], SYNS))
        until("panic", lambda: health(checked)["panic"], 40)
        wait_states(checked, {1: "panic", 2: "panic", 3: "panic"})
        until("all own buckets", lambda: owners(checked) == ALL, 30)
    until("no panic", lambda: not health(checked)["panic"], 90)
    wait_states(checked, dict.fromkeys(ALL, "healthy"))
