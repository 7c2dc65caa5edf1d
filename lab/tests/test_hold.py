# SPDX-License-Identifier: Apache-2.0
"""Connections that are idle for several windows while a server is added and two are drained, with and without a hold.

servers 1, 2, 3 ──▶ 4 is added, 1 is drained, and windows later 2: buckets of 1 moved twice
                    hold: every connection goes on where it was opened, until holdSeconds is set to 0
                    none: each whose bucket moved is reset
                    by default: as with a hold, once agents report, also after they have stopped

Muxes are restarted in between: what packets name, the ring has.
"""

import time

import pytest

from lab import Lab
from lab.deadline import until
from lab.lab import SERVICE
from lab.traffic import Traffic
from lab.variant import Variant

WINDOW = 6  # seconds
HOLD = 3_600
DAY = 86_400  # seconds: the hold by default
IDLE = 240
BETWEEN = 3 * WINDOW  # seconds of silence after each change
ANSWER_SECONDS = 60.0
NEVER = (3_600.0,)
BEHIND = 40  # seconds, after which a mux withdraws: longer than it is cut off here
LONG = 100


def held(lab: Lab) -> int:
    """Buckets whose window is over, and that name a former owner."""
    return lab.api("GET", f"/v1/services/{SERVICE}/holds")["heldBuckets"]


def restart_muxes(lab: Lab) -> None:
    """One after the other."""
    for number in lab.muxes:
        lab.stop_mux(number)
        lab.start_mux(number)


def talk(traffic: Traffic) -> list[dict]:
    """All idle connections send a request; returns those that are broken then."""
    traffic.talk()
    traffic.wait_seconds(3)
    traffic.wait_quiet()
    return traffic.broken()


def servers_of(lines: list[dict]) -> set[str]:
    return {line["server"] for line in lines}


@pytest.mark.parametrize("hold", [HOLD, 0], ids=["held", "not held"])
def test_idle_for_several_windows(built: None, hold: int) -> None:
    with (
        Lab(servers=3, window=WINDOW, variant=Variant(hold=hold, quiet=0)) as lab,
        Traffic(lab.clients, 0, 1, 0, answer_seconds=ANSWER_SECONDS, idle=IDLE, silences=NEVER) as traffic,
    ):
        traffic.wait_open()
        drained = traffic.idle_by("server1") + traffic.idle_by("server2")
        assert drained > IDLE / 3
        lab.add_server()
        lab.drain(1)
        traffic.wait_seconds(BETWEEN)
        lab.drain(2)
        restart_muxes(lab)
        traffic.wait_seconds(BETWEEN)
        assert lab.chained_packets() == 0, "idle connections were not idle"
        found = talk(traffic)
        print(f"{len(found)} of {IDLE} connections broke; {drained} were at drained servers")
        if hold:
            assert found == []
            assert lab.chained_packets() >= drained
            lab.api("PATCH", f"/v1/services/{SERVICE}?force=true", {"holdSeconds": 0})
            until("they break, as there is no hold any more", lambda: len(talk(traffic)) >= drained, 60)
        assert len(traffic.broken()) >= drained
        assert servers_of(traffic.broken()) >= {"server1", "server2"}
        assert {line["kind"] for line in traffic.broken()} == {"reset"}


def hold_seconds(lab: Lab) -> int:
    return lab.api("GET", f"/v1/services/{SERVICE}").get("holdSeconds", 0)


def test_held_by_default_where_agents_report(built: None) -> None:
    """Nothing is set. Connections are idle for several windows, at first with agents, then without any."""
    with (
        Lab(servers=3, window=WINDOW, variant=Variant(agents=True, hold=None, quiet=0)) as lab,
        Traffic(lab.clients, 0, 1, 0, answer_seconds=ANSWER_SECONDS, idle=IDLE, silences=NEVER) as traffic,
    ):
        until("the service is held, as all agents report", lambda: hold_seconds(lab) == DAY, 60)
        traffic.wait_open()
        drained = traffic.idle_by("server1")
        assert drained > IDLE / 6
        lab.drain(1)
        traffic.wait_seconds(BETWEEN)
        assert held(lab) > 0
        for server in lab.servers.values():
            server.agent.kill()
        lab.drain(2)
        traffic.wait_seconds(BETWEEN)
        assert hold_seconds(lab) == DAY
        assert talk(traffic) == []
        assert lab.chained_packets() >= drained


@pytest.mark.long
def test_a_mux_that_is_cut_off_opens_connections_at_a_drained_server(built: None) -> None:
    """No bucket is released while it may: agents' answers from before say nothing of what it opens later."""
    variant = Variant(agents=True, hold=HOLD, mux_options=("--behind-seconds", str(BEHIND)))
    with Lab(servers=3, muxes=2, window=WINDOW, variant=variant) as lab:
        lab.wait_reporting()
        lab.muxes[2].cut_from_zookeeper()
        lab.weights({1: 0})
        drained = time.monotonic()
        until("its buckets are held", lambda: held(lab) > 0, 4 * WINDOW)
        time.sleep(max(0.0, drained + 3 * WINDOW - time.monotonic()))  # agents would have answered by now
        with lab.traffic(long=LONG, short_rate=0) as traffic:
            traffic.wait_open()
            late = traffic.held_by("server1")
            print(f"{late} of {LONG} connections were opened at the drained server")
            assert late > 0
            lab.muxes[2].mend_zookeeper()
            lab.wait_applied()
            traffic.wait_seconds(WINDOW)
            traffic.wait_quiet()
            assert traffic.broken() == []
            assert traffic.held_by("server1") == late
        until("all is released, as nothing is left", lambda: held(lab) == 0, BEHIND + 60)
