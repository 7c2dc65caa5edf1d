# SPDX-License-Identifier: Apache-2.0
"""Two versions side by side (distribution/upgrade.py): every part is replaced, one at a time, under traffic.

    servers, controllers, muxes: the order of docs/control-plane.md

Before each replacement buckets move, so every version commits, applies, chains and is chained to by the other.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from distribution import upgrade
from lab import Lab, build
from lab.deadline import until
from lab.lab import SERVICE
from lab.traffic import Traffic
from lab.variant import Variant

SERVERS, MUXES, CONTROLLERS = 4, 2, 2
WINDOW = 600  # longer than the test
LONG = 200
SHORT_RATE = 20
WATCH_SECONDS = 3
WEIGHTS = itertools.cycle((60, 60, 60, 60, 100, 100, 100, 100))


@dataclass(frozen=True)
class Release:
    """A tree that lab/build has built."""

    root: Path

    @property
    def mux(self) -> Path:
        return self.root / build.MUX.relative_to(build.ROOT)

    @property
    def server(self) -> Path:
        return self.root / build.SERVER.relative_to(build.ROOT)

    @property
    def controller(self) -> Path:
        return self.root / build.CONTROLLER.relative_to(build.ROOT)

    @property
    def version(self) -> str:
        return (self.root / "VERSION").read_text().strip()

    def lab(self) -> Lab:
        variant = Variant(mux=self.mux, server=self.server, controller=(str(self.controller),), agents=True)
        return Lab(SERVERS, MUXES, window=WINDOW, controllers=CONTROLLERS, variant=variant)


@pytest.fixture(scope="module")
def releases() -> tuple[Release, Release]:
    older, newer = upgrade.trees()
    return Release(older), Release(newer)


def replace_server(lab: Lab, number: int, release: Release) -> None:
    """As a package's upgrade: the program is replaced in one step, the agent restarted."""
    server = lab.servers[number]
    server.command = str(release.server)
    server.attach()
    server.agent.stop()
    lab.start_agent(number)


def replace_mux(lab: Lab, number: int, release: Release) -> None:
    lab.stop_mux(number)
    lab.muxes[number].process.argv[0] = str(release.mux)
    lab.start_mux(number)


def replace_controller(lab: Lab, number: int, release: Release) -> None:
    controller = lab.controllers[number - 1]
    controller.process.stop()
    controller.process.argv[0] = str(release.controller)
    controller.start()
    controller.wait_serving()


def steps(release: Release) -> Iterator[tuple[str, Callable[[Lab], None]]]:
    for number in range(1, SERVERS + 1):
        yield f"server{number}", lambda lab, n=number: replace_server(lab, n, release)
    for number in range(1, CONTROLLERS + 1):
        yield f"controller{number}", lambda lab, n=number: replace_controller(lab, n, release)
    for number in range(1, MUXES + 1):
        yield f"mux{number}", lambda lab, n=number: replace_mux(lab, n, release)


def move(lab: Lab, number: int) -> int:
    """Moves buckets without breaking anything."""
    weight = next(WEIGHTS)
    done = lab.api("PATCH", f"/v1/services/{SERVICE}/backends/{number}", {"weight": weight}, timeout=30)
    lab.wait_applied()
    return done["movedBuckets"]


def versions(lab: Lab) -> set[str]:
    return {mux["version"] for mux in lab.api("GET", "/v1/muxes")}


def replace_all(lab: Lab, traffic: Traffic, to: Release) -> None:
    traffic.wait_open()
    moved, seen = 0, set()
    for count, (name, replace) in enumerate(steps(to)):
        moved += move(lab, count % SERVERS + 1)
        replace(lab)
        seen |= versions(lab)
        traffic.wait_seconds(WATCH_SECONDS)
        print(f"{name} is {to.version}; {lab.chained_packets()} packets were chained, {len(traffic.broken())} broke")
    moved += move(lab, 1)
    traffic.wait_seconds(WATCH_SECONDS)
    traffic.talk()
    traffic.wait_quiet()
    assert moved > 0 and lab.chained_packets() > 0
    assert len(seen) == 2, "muxes of both versions were there"
    assert versions(lab) == {to.version}
    until("all agents report to the new controllers", lambda: len(lab.agents()) == SERVERS, 60)
    assert traffic.broken() == []


@pytest.mark.long
def test_no_connection_breaks(built: None, releases: tuple[Release, Release]) -> None:
    older, newer = releases
    assert (older.version, newer.version) == (upgrade.OLDER, upgrade.NEWER)
    with older.lab() as lab, lab.traffic(long=LONG, short_rate=SHORT_RATE) as traffic:
        replace_all(lab, traffic, newer)
