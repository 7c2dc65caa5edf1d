# SPDX-License-Identifier: Apache-2.0
"""Drains that end by themselves, and slow starts, by agents' reports; also when the leading controller is killed."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from lab import Lab, nginx
from lab.deadline import until
from lab.lab import SERVICE
from lab.rest import Refused
from lab.traffic import Traffic
from lab.variant import Variant

WINDOW = 20  # seconds
HOLD = 3_600
LONG = 100
BEHIND = 20  # seconds, after which a mux withdraws; a drain waits for as long, 10 s, and a window for SYN cookies
WAITS_SECONDS = 60  # after two windows, also if the leader has changed on a busy machine
ENDS_SECONDS = 5.0  # after the last connection
REPORTS_SECONDS = 45  # until a new leader has heard all agents, on a busy machine


@pytest.fixture
def lab(built: None) -> Iterator[Lab]:
    variant = Variant(agents=True, hold=HOLD, mux_options=("--behind-seconds", str(BEHIND)))
    with Lab(servers=4, window=WINDOW, controllers=2, variant=variant) as lab:
        lab.wait_reporting(REPORTS_SECONDS)
        yield lab


@pytest.fixture
def traffic(lab: Lab) -> Iterator[Traffic]:
    """Connections that stay, and some that do not."""
    with lab.traffic(long=LONG, interval=0.5, short_rate=10) as traffic:
        traffic.wait_open()
        yield traffic


def drains(lab: Lab) -> dict[int, dict[str, Any]]:
    return {each["backend"]: each for each in lab.api("GET", "/v1/drains") if each["service"] == SERVICE}


def drain(lab: Lab, *ids: int, **order: Any) -> dict[str, Any]:
    plan = lab.api("POST", f"/v1/services/{SERVICE}/drains", {"ids": list(ids), **order})
    lab.wait_applied()
    return plan


def wait_reported(lab: Lab) -> None:
    """Until all agents have reported connections: they report every 10 s while nothing is asked."""
    until(
        "connections are reported",
        lambda: all(each["established"] > 0 for each in lab.agents().values()),
        REPORTS_SECONDS,
    )


def wait_counted(lab: Lab, number: int) -> None:
    """Until the drain shows as many connections as the server holds."""
    until(
        f"the drain of {number} counts the server's connections",
        lambda: drains(lab)[number].get("connections") == lab.servers[number].connections(),
        REPORTS_SECONDS,
    )


def close_connections(lab: Lab, traffic: Traffic, number: int) -> None:
    """Clients leave the server, one after the other; returns when the last connection is closed."""
    traffic.renew(lab.servers[number].name)
    until(
        f"server{number} has no connection left",
        lambda: not nginx.clients(lab.servers[number]) & lab.client_ends(),
        60,
        pause=0.05,
    )


def kill_leader(lab: Lab) -> None:
    leader = next(each for each in lab.controllers if each.leads)
    leader.process.kill()
    until("another controller leads", lambda: any(each.leads for each in lab.controllers), 120, pause=0.2)


def test_it_ends_with_the_last_connection(lab: Lab, traffic: Traffic) -> None:
    plan = drain(lab, 2, then="remove")
    assert plan["drains"][0]["backend"] == 2
    wait_counted(lab, 2)
    held = drains(lab)[2]
    assert (held["state"], held["then"]) == ("draining", "remove")
    assert held["connections"] > 0
    traffic.wait_seconds(2 * WINDOW)  # its connections outlive the window
    assert 2 in lab.backends()
    until("reports count", lambda: not drains(lab)[2]["note"].startswith("its reports"), WAITS_SECONDS)
    close_connections(lab, traffic, 2)
    closed = time.monotonic()
    until("the backend is removed", lambda: 2 not in lab.backends(), ENDS_SECONDS, pause=0.1)
    print(f"removed {time.monotonic() - closed:.1f} s after the last connection")
    assert drains(lab)[2]["state"] == "removed"
    assert any("empty" in record["what"] for record in lab.api("GET", "/v1/audit?limit=20"))
    traffic.wait_quiet()
    assert traffic.broken() == []


@pytest.mark.long  # DrainServiceTest has deadlines, with an injected clock
def test_a_deadline_that_passes(lab: Lab, traffic: Traffic) -> None:
    """With `keep` connections go on, the drain can be undone; with `remove` they break, as its plan says."""
    wait_reported(lab)
    drain(lab, 1, deadlineSeconds=6)
    until("the deadline has passed", lambda: drains(lab)[1]["state"] == "ended", 60)
    assert drains(lab)[1]["end"]["reason"] == "deadline"
    assert drains(lab)[1]["end"]["connections"] > 0
    traffic.wait_seconds(3)
    assert traffic.broken() == []
    assert lab.backends()[1]["weight"] == 0
    lab.api("POST", f"/v1/services/{SERVICE}/undrain", {"ids": [1]})
    assert lab.backends()[1]["weight"] == 100
    lab.wait_applied()
    plan = drain(lab, 3, deadlineSeconds=6, then="remove")
    assert "break" in plan["drains"][0]["left"]
    until("the backend is removed", lambda: 3 not in lab.backends(), 60)
    traffic.wait_seconds(3)
    traffic.wait_quiet()
    assert {line["server"] for line in traffic.broken()} == {"server3"}


@pytest.mark.long
def test_too_many_at_once(lab: Lab) -> None:
    lab.api("PATCH", f"/v1/services/{SERVICE}", {"maintenance": {"maxDraining": "25%"}})
    drain(lab, 4)
    with pytest.raises(Refused) as refused:
        drain(lab, 3)
    assert refused.value.status == 409
    assert "now: 4" in str(refused.value)


def test_a_leader_that_is_killed(lab: Lab, traffic: Traffic) -> None:
    """A drain, a hold and a slow start go on where they were, and nothing is concluded from silence."""
    drain(lab, 2, deadlineSeconds=3_600, then="remove")
    server = lab.start_server(5)
    lab.wait_server(server)
    lab.change({"op": "add", "id": 5, "address": server.address, "weight": 100, "slowStartSeconds": 60})
    wait_counted(lab, 2)
    before = drains(lab)[2]
    began = time.monotonic()
    kill_leader(lab)
    after = drains(lab)[2]
    assert (after["since"], after["deadline"], after["state"]) == (before["since"], before["deadline"], "draining")
    wait_counted(lab, 2)
    lab.wait_reporting(REPORTS_SECONDS)
    until("the slow start is over", lambda: "slowStart" not in lab.backends()[5], 120)
    assert time.monotonic() - began > 30, "it began again, or was cut short"
    runs = lab.api("GET", f"/v1/services/{SERVICE}/ring")["runs"]
    shares = {number: sum(count for _, count in owned) for number, owned in runs.items()}
    assert shares["5"] >= 0.95 * max(shares.values()), shares
    held = lab.api("GET", f"/v1/services/{SERVICE}/holds")
    assert held["heldBuckets"] > 0
    assert drains(lab)[2]["connections"] > 0
    close_connections(lab, traffic, 2)
    until("the backend is removed", lambda: 2 not in lab.backends(), ENDS_SECONDS, pause=0.1)
    traffic.wait_quiet()
    assert traffic.broken() == []
