# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a controller with embedded ZooKeeper, in the middle of a stream of changes."""

import threading
from collections.abc import Iterator

import pytest

from lab import Lab
from lab.deadline import until
from lab.lab import SERVICE
from lab.rest import Unreachable

ROUNDS = 3
ACKNOWLEDGED_MIN = 8  # changes of a round before the kill


@pytest.fixture(scope="module")
def small_lab(built: None) -> Iterator[Lab]:
    with Lab(servers=1, muxes=1, embedded=True) as lab:
        yield lab


class Stream:
    """Adds backends until the controller is gone; records those that were acknowledged, and the one in flight."""

    def __init__(self, lab: Lab, first: int) -> None:
        self.lab = lab
        self.next = first
        self.acknowledged: dict[int, int] = {}  # backend to generation
        self.in_flight: int | None = None
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            while True:
                self.in_flight = self.next
                body = {"address": f"10.1.0.{100 + self.next % 100}", "weight": 10}
                result = self.lab.api("PUT", f"/v1/services/{SERVICE}/backends/{self.next}?force=true", body)
                self.acknowledged[self.next] = result["generation"]
                self.next += 1
        except Unreachable:
            return
        except Exception as error:
            self.failure = error


def test_nothing_acknowledged_is_lost_and_nothing_is_repeated(small_lab: Lab) -> None:
    lab = small_lab
    first = 100
    for turn in range(ROUNDS):
        present = set(lab.backends())
        generation = lab.service()["generation"]
        stream = Stream(lab, first)
        wanted = ACKNOWLEDGED_MIN * (turn + 1)
        until(
            f"{wanted} changes are acknowledged",
            lambda s=stream, n=wanted: s.failure or len(s.acknowledged) >= n,
            60,
            0.001,
        )
        lab.kill_controller()
        stream.thread.join(30)
        assert not stream.thread.is_alive() and stream.failure is None, stream.failure

        lab.start_controller()
        now = set(lab.backends())
        new = now - present
        assert present <= now and set(stream.acknowledged) <= new, "an acknowledged backend is lost"
        unacknowledged = new - set(stream.acknowledged)
        assert unacknowledged <= {stream.in_flight}, "a backend that was never requested"
        assert list(stream.acknowledged.values()) == list(
            range(generation + 1, generation + len(stream.acknowledged) + 1)
        )
        assert lab.service()["generation"] == generation + len(new), "a change was lost or committed twice"
        first = max(now) + 1
    lab.wait_applied(60)
    for port in range(2000, 2050):
        said = lab.explain("10.2.1.2", port)
        assert said.pop("kept")  # which muxes do not know
        assert said.items() <= lab.mux_explain(1, "10.2.1.2", port).items()
