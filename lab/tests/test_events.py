# SPDX-License-Identifier: Apache-2.0
"""No connection breaks when parts are added, removed or killed; without chaining, connections do break."""

from collections.abc import Callable
from typing import Any

import pytest

from lab import Lab, events
from lab.rest import Refused
from lab.traffic import Traffic

LONG = 200
IDLE = 48  # besides


def under_traffic(lab: Lab, event: Callable[[Lab, Traffic, events.Tell], object]) -> tuple[dict[str, Any], int, str]:
    """Runs the event with long-lived, idle and 40 short connections a second; counts, packets chained, what broke."""
    with lab.traffic(long=LONG, interval=0.2, short_rate=40, idle=IDLE) as traffic:
        traffic.wait_open()
        chained = lab.chained_packets()
        event(lab, traffic, print)
    assert traffic.total is not None
    assert traffic.total["connections"] >= LONG + IDLE
    assert traffic.total["requests"] > LONG
    return traffic.total, lab.chained_packets() - chained, "\n".join(map(str, traffic.broken()[:10]))


def test_adding_a_server_breaks_nothing(lab: Lab) -> None:
    total, chained, broken = under_traffic(lab, events.add_server)
    assert total["broken"] == 0, broken
    assert chained > 0


def test_the_added_server_serves(lab: Lab) -> None:
    server, _ = lab.add_server()
    with lab.traffic(long=LONG, interval=0.2, short_rate=0) as traffic:
        traffic.wait_open()
        assert traffic.held_by(server.name) > 0
    assert traffic.total is not None and traffic.total["broken"] == 0


def test_draining_and_removing_a_server_breaks_nothing(lab: Lab) -> None:
    leaving = events.active(lab)[1]
    total, chained, broken = under_traffic(lab, events.drain_and_remove_server)
    assert total["broken"] == 0, broken
    assert chained > 0
    assert leaving not in lab.servers and leaving not in lab.backends()


def test_moving_half_of_all_buckets_breaks_nothing(lab: Lab) -> None:
    total, chained, broken = under_traffic(lab, events.move_half)
    assert total["broken"] == 0, broken
    assert chained > 0


def test_without_chaining_moving_half_of_all_buckets_breaks_connections(lab: Lab) -> None:
    """The same test without chaining must fail; otherwise it shows nothing."""
    lab.chaining(False)
    try:
        total, chained, broken = under_traffic(lab, events.move_half)
    finally:
        lab.chaining(True)
    assert chained == 0
    assert (
        total["by_kind"].get("reset", 0) > LONG // 4
    ), f"half of the buckets moved; broken: {total['by_kind']} {broken}"


def test_killing_a_mux_breaks_nothing(lab: Lab) -> None:
    total, _, broken = under_traffic(lab, events.kill_mux)
    assert total["broken"] == 0, broken


def test_starting_the_mux_again_breaks_nothing(lab: Lab) -> None:
    lab.kill_mux(1)
    lab.wait_announced()
    total, _, broken = under_traffic(lab, events.start_mux)
    assert total["broken"] == 0, broken
    assert lab.router.vip_hops() == sorted(mux.address for mux in lab.muxes.values())


def test_killing_a_mux_while_buckets_move_breaks_nothing(lab: Lab) -> None:
    def kill_amid_moves(lab: Lab, traffic: Traffic, tell: events.Tell) -> None:
        lab.weights(dict.fromkeys(events.active(lab)[:2], 0))
        events.kill_mux(lab, traffic, tell)

    total, chained, broken = under_traffic(lab, kill_amid_moves)
    assert total["broken"] == 0, broken
    assert chained > 0


def test_upgrading_a_mux_while_buckets_move_breaks_nothing(lab: Lab) -> None:
    mux = lab.running_muxes()[0]
    old, logged = mux.process.pid, len(mux.process.log.read_text())

    def upgrade_amid_moves(lab: Lab, traffic: Traffic, tell: events.Tell) -> None:
        lab.weights(dict.fromkeys(events.active(lab)[:2], 0))
        events.upgrade_mux(lab, traffic, tell)

    total, chained, broken = under_traffic(lab, upgrade_amid_moves)
    assert total["broken"] == 0, broken
    assert chained > 0
    assert mux.process.pid != old
    log = mux.process.log.read_text()[logged:]
    assert log.count("event=stopping signal=TERM") == log.count("event=stopped") == 1, log
    assert "end=quiet" in log, "it ended because nothing came any more, and not by its limit"
    assert lab.router.vip_hops() == sorted(mux.address for mux in lab.muxes.values())


def test_killing_the_controller_breaks_nothing(lab: Lab) -> None:
    total, _, broken = under_traffic(lab, events.restart_controller)
    assert total["broken"] == 0, broken


def test_a_stopped_zookeeper_breaks_nothing_and_muxes_say_so(lab: Lab) -> None:
    seen: list[dict[str, float]] = []

    def stop_and_look(lab: Lab, traffic: Traffic, tell: events.Tell) -> None:
        def tell_and_look(text: str) -> None:
            tell(text)
            if "refused meanwhile" in text:
                seen.extend(mux.metrics() for mux in lab.muxes.values())

        events.stop_zookeeper(lab, traffic, tell_and_look)

    total, _, broken = under_traffic(lab, stop_and_look)
    assert total["broken"] == 0, broken
    assert [metrics["fairlead_mux_zookeeper_connected"] for metrics in seen] == [0, 0]
    assert [mux.metrics()["fairlead_mux_zookeeper_connected"] for mux in lab.muxes.values()] == [1, 1]


def test_a_syn_flood_during_a_drain_breaks_nothing(lab: Lab) -> None:
    total, chained, broken = under_traffic(lab, events.drain_under_flood)
    assert total["broken"] == 0, broken
    assert chained > 0


def test_a_refused_change_changes_nothing(lab: Lab) -> None:
    before = lab.service()["generation"], lab.backends()
    with pytest.raises(Refused, match="weight"):
        lab.weights({events.active(lab)[0]: 1_000_000})
    assert (lab.service()["generation"], lab.backends()) == before
