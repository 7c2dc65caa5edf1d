# SPDX-License-Identifier: Apache-2.0
"""Connections that are silent while buckets move: no packet of theirs tells servers what has changed."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from lab import Lab
from lab.deadline import until
from lab.health import apart
from lab.mux import Mux
from lab.traffic import Traffic
from lab.variant import Variant

WINDOW = 120  # seconds; longer than any of these tests
IDLE = 240
SILENT_SECONDS = 5  # after the last change
FEWEST_BROKEN = 5  # of about 20 or more that break without notices
NEVER = (3_600.0,)
# Those that wait until a mux has caught up (at most 60 s, wait_applied()) send again after 25, 51 and 102 s, and after
# 31, 63 and 127 s where the host is so busy that a first round trip took a second.
ANSWER_SECONDS = 150.0
NOTICES = "udp dport 6080 drop"  # a mux sends them by its kernel, and its packets to servers by its port


@contextmanager
def lab_of(story: Callable[[Lab], list[dict]], *, notices: bool = True) -> Iterator[Lab]:
    servers = 3 if story is rolling_drain else 4
    with Lab(servers=servers, window=WINDOW, variant=Variant(quiet=0)) as lab:
        if not notices:
            for mux in lab.muxes.values():
                rules = f"table inet silent {{ chain out {{ type filter hook output priority 0; {NOTICES}; }}; }}"
                mux.namespace.run("nft", "-f", "-", stdin=rules)
        yield lab


def idle(lab: Lab, count: int = IDLE) -> Traffic:
    """Only connections that are silent until they are told to talk: a talking one would tell servers of the moves."""
    return Traffic(lab.clients, 0, 1, 0, answer_seconds=ANSWER_SECONDS, idle=count, silences=NEVER)


def broken(traffic: Traffic) -> list[dict]:
    """What has broken once all idle connections have talked and were closed; the first ten are printed."""
    total = traffic.stop()
    print(f"{total['broken']} of {total['connections']} connections broke: {total['by_kind']}")
    for line in traffic.broken()[:10]:
        print(line)
    return traffic.broken()


def two_drains(lab: Lab) -> list[dict]:
    """Server 1 loses its buckets, and so does server 2, which never sees a packet of them."""
    with idle(lab) as traffic:
        traffic.wait_open()
        held = traffic.idle_by("server1")
        assert held > 0
        began = time.monotonic()
        lab.drain(1)
        lab.drain(2)
        traffic.wait_seconds(SILENT_SECONDS)
        chained = lab.chained_packets()
        assert chained == 0, "idle connections were not idle"
        traffic.talk()
        found = broken(traffic)
        assert lab.chained_packets() > held // 2
        assert time.monotonic() - began < WINDOW, "the machine is too slow for this window"
        return found


def rolling_drain(lab: Lab) -> list[dict]:
    """Each server is drained, and the one before gets buckets again."""
    with idle(lab) as traffic:
        traffic.wait_open()
        began = time.monotonic()
        for change in ({1: 0}, {1: 100, 2: 0}, {2: 100, 3: 0}):
            lab.weights(change)
            lab.wait_applied()
        traffic.wait_seconds(SILENT_SECONDS)
        traffic.talk()
        found = broken(traffic)
        assert lab.chained_packets() > 0
        assert time.monotonic() - began < WINDOW, "the machine is too slow for this window"
        return found


@contextmanager
def behind(lab: Lab, mux: Mux) -> Iterator[None]:
    """The mux is cut from ZooKeeper; in the end it has caught up."""
    mux.cut_from_zookeeper()
    try:
        yield
    finally:
        mux.mend_zookeeper()
    mended = time.monotonic()
    lab.wait_applied()
    print(f"{mux.name} has caught up after {time.monotonic() - mended:.1f} s")


def drained_behind_a_mux(lab: Lab) -> list[dict]:
    """Connections begin at new owners by a current mux, then arrive by one that still knows the drained server."""
    current, late = lab.muxes[1], lab.muxes[2]
    with behind(lab, late):
        lab.weights({1: 0})
        wanted = lab.service()["generation"]
        until("mux1 serves the new generation", lambda: current.generation("web") >= wanted, 60)
        assert late.generation("web") < wanted
        with lab.router.only_by(current.address):
            traffic = idle(lab)
            traffic.wait_open()
            assert traffic.idle_by("server1") == 0
        with lab.router.only_by(late.address):
            traffic.talk()
            traffic.wait_seconds(3)
            dropped = lab.stale_packets()
    print(f"{dropped} packets were dropped as stale")
    return broken(traffic)


def rack_out_of_reach(lab: Lab) -> list[dict]:
    """Server 2 takes buckets of server 1, and loses them while no mux reaches it."""
    with idle(lab) as traffic:
        traffic.wait_open()
        lab.drain(1)
        with apart(lab, lab.muxes, [2]):
            lab.drain(2)
            traffic.wait_seconds(SILENT_SECONDS)
        traffic.talk()
        return broken(traffic)


STORIES = (
    pytest.param(two_drains, marks=pytest.mark.long),
    rolling_drain,
    drained_behind_a_mux,
    pytest.param(rack_out_of_reach, marks=pytest.mark.long),
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_no_idle_connection_breaks(built: None, story: Callable[[Lab], list[dict]]) -> None:
    with lab_of(story) as lab:
        found = story(lab)
    assert not found


def test_idle_connections_break_without_notices(built: None) -> None:
    """
    The limit `notice` of protocol/README.md, section 10: the drained server has not heard of the generation by which it
    lost its buckets, and resets what the late mux sends it.
    """
    with lab_of(drained_behind_a_mux, notices=False) as lab:
        found = drained_behind_a_mux(lab)
    assert len(found) >= FEWEST_BROKEN
    assert {line["kind"] for line in found} == {"reset"}
