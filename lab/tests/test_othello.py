# SPDX-License-Identifier: Apache-2.0
"""Connections that live for many windows while the pool changes again and again, without a hold.

othello: agents report the connections, arrays follow each change, and every connection goes on where it was opened.
ring: each whose bucket moved is reset a window later, by servers that are not quiet.
"""

from collections.abc import Iterator

import pytest

from lab import Lab
from lab.deadline import until
from lab.lab import SERVICE
from lab.traffic import Traffic
from lab.variant import Variant

WINDOW = 12  # seconds; agents report connections that are 3 s old
IDLE = 240
LONG = 60
ANSWER_SECONDS = 60.0
BEHIND = 5  # seconds, after which a mux withdraws; next arrays wait for as long, 10 s, and a window for SYN cookies
NEVER = (3_600.0,)
LONG_TEST = pytest.mark.long


def status(lab: Lab) -> dict:
    return lab.api("GET", f"/v1/services/{SERVICE}/othello")


def changes(lab: Lab, count: int) -> Iterator[str]:
    """Changes the pool `count` times: weights, a server more, two that are drained and come back."""
    lab.add_server()
    yield "a server is added"
    for number in range(1, count):
        server = number % 3 + 1
        match number % 4:
            case 0:
                lab.weights({server: 100})
                yield f"server{server} has its weight again"
            case 1:
                lab.weights({server: 40})
                yield f"server{server} has less"
            case 2:
                lab.drain(server)
                yield f"server{server} is drained"
            case _:
                lab.weights({number: 100 for number in lab.backends()})
                yield "all are equal"


def live_through(lab: Lab, traffic: Traffic, count: int, pause: int) -> list[dict]:
    """Takes `count` changes, `pause` seconds apart; all idle connections then send. Returns what broke."""
    for what in changes(lab, count):
        print(what)
        lab.wait_applied()
        traffic.wait_seconds(pause)
    traffic.talk()
    traffic.wait_seconds(3)
    traffic.wait_quiet()
    return traffic.broken()


def survive(steering: str, count: int, pause: int, p4_muxes: tuple[int, ...] = ()) -> tuple[list[dict], dict]:
    variant = Variant(
        agents=True,
        steering=steering,
        p4_muxes=p4_muxes,
        tagged=not p4_muxes,
        mux_options=("--behind-seconds", str(BEHIND)),
        quiet=0 if steering == "ring" else None,
    )
    with (
        Lab(servers=4, window=WINDOW, variant=variant) as lab,
        Traffic(lab.clients, LONG, 1.0, 10, answer_seconds=ANSWER_SECONDS, idle=IDLE, silences=NEVER) as traffic,
    ):
        traffic.wait_open()
        broken = live_through(lab, traffic, count, pause)
        for number in p4_muxes:
            assert lab.muxes[number].metrics()["fairlead_mux_pipeline_packets_total"] > 0
        if steering != "othello":
            return broken, {}
        until("the arrays know all that is open", lambda: status(lab)["miscoded"] == 0, 60)
        return broken, status(lab)


# What breaks by ring alone is also in test_hold, without a hold.
@pytest.mark.parametrize(
    ("steering", "p4_muxes"),
    [("othello", ()), pytest.param("othello", (2,), marks=LONG_TEST), pytest.param("ring", (), marks=LONG_TEST)],
    ids=["othello", "othello by P4", "ring"],
)
def test_many_changes(built: None, steering: str, p4_muxes: tuple[int, ...]) -> None:
    broken, found = survive(steering, 6, WINDOW, p4_muxes)
    print(f"{len(broken)} of {IDLE + LONG} long connections broke; {found}")
    if steering == "ring":
        assert {line["kind"] for line in broken} == {"reset"}
        return
    assert broken == []
    assert found["connections"] >= IDLE
    assert found["arrays"]["generation"] > 0


@LONG_TEST
def test_twenty_changes_in_ten_windows(built: None) -> None:
    broken, found = survive("othello", 20, WINDOW // 2)
    print(f"{len(broken)} of {IDLE + LONG} long connections broke; {found}")
    assert broken == []
