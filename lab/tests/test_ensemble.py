# SPDX-License-Identifier: Apache-2.0
"""Three ZooKeeper servers with logins, three controllers, and traffic: parts fail, and the others continue."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Lab, build, prometheus
from lab.controller import Controller
from lab.deadline import LabError, until
from lab.rest import Refused, Unreachable
from lab.variant import USUAL, Variant

BACKEND = "/v1/services/web/backends/1"
WRITES = 5  # acknowledged between two faults
REFUSED_WITHOUT_A_QUORUM = (
    "to try again",  # nothing was written
    "to send it again under the same Idempotency-Key",  # the leader was reached but gave no answer
    "to check the service's generation",  # ZooKeeper was reached but did not report the outcome
)
MOVING_SECONDS = 60  # for leadership, sessions and quorums to move, on a busy machine


@pytest.fixture(scope="module", params=["3.9", pytest.param("3.8", marks=pytest.mark.long)])
def ensemble(built: None, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """By ZooKeeper's version: the controller's own, or Debian 12's."""
    assert (
        request.param == "3.9" or build.DEBIAN_ZOOKEEPER.exists()
    ), f"{build.DEBIAN_ZOOKEEPER} is missing: run scripts/install-deps --debian-zookeeper"
    variant = Variant(zookeeper=build.DEBIAN_ZOOKEEPER) if request.param == "3.8" else USUAL
    with Lab(servers=2, muxes=1, window=600, zookeepers=3, controllers=3, variant=variant) as lab:
        assert {server.version().rpartition(".")[0] for server in lab.zookeepers} == {request.param}
        yield lab


def write(controller: Controller, weight: int, key: str | None = None) -> dict | None:
    """The answer to a change; None if it was refused because of ZooKeeper, or if the answer was lost."""
    headers = {"Idempotency-Key": key} if key else {}
    try:
        return controller.api("PATCH", f"{BACKEND}?force=true", {"weight": weight}, timeout=40, headers=headers)
    except Refused as refused:
        assert refused.status == 503, refused
        return None
    except Unreachable:
        return None


class Stream:
    """Makes one change after the other, each sent to one controller after the other until it is acknowledged."""

    def __init__(self, controllers: list[Controller]) -> None:
        self.controllers = controllers
        self.generations: list[int] = []  # as acknowledged
        self.attempts = 0
        self.longest = 0.0
        self.failure: Exception | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._ending.wait(0.2):
                begun = time.monotonic()
                self.generations.append(self._write(len(self.generations)))
                self.longest = max(self.longest, time.monotonic() - begun)
        except Exception as error:
            self.failure = error

    def _write(self, number: int) -> int:
        while True:
            controller = self.controllers[self.attempts % len(self.controllers)]
            self.attempts += 1
            if answer := write(controller, 50 + number % 100, key=f"stream-{number}"):
                return answer["generation"]
            time.sleep(0.05)

    def wait_writes(self, more: int = WRITES) -> None:
        wanted = len(self.generations) + more
        until(f"{more} changes", lambda: self.failure or len(self.generations) >= wanted, MOVING_SECONDS)
        if self.failure:
            raise self.failure

    def end(self) -> list[int]:
        self._ending.set()
        self._thread.join(MOVING_SECONDS)
        assert not self._thread.is_alive() and self.failure is None, self.failure
        return self.generations


def wait_known(lab: Lab, generation: int) -> None:
    """Until every controller has it: one whose session is moving gets it a little later."""
    for each in lab.controllers:
        until(
            f"{each.name} is at generation {generation}",
            lambda e=each: e.api("GET", "/v1/services/web")["generation"] == generation,
            MOVING_SECONDS,
        )


def audited(lab: Lab, since: int) -> list[int]:
    """The generations in the audit records after `since`, the earliest first."""
    records: list[dict] = []

    def read() -> bool:
        try:
            records[:] = lab.api("GET", "/v1/audit?limit=1000")
        except Refused as refused:  # its session moves to another ZooKeeper server
            assert refused.status == 503, refused
        return bool(records)

    until("the audit records can be read", read, MOVING_SECONDS)
    return [record["generation"] for record in reversed(records) if record["generation"] > since]


def expect_alerts(lab: Lab, wanted: dict[str, int], directory: Path) -> None:
    """Waits until exactly these alerts fire, each so often."""

    def differ() -> str:
        return prometheus.disagreement(prometheus.scrape(lab), wanted, directory)

    try:
        until(f"alerts: {wanted}", lambda: not differ(), MOVING_SECONDS, pause=0.5)
    except LabError:
        assert differ() == ""


@pytest.mark.long  # EnsembleTest does the same to a controller without a lab
def test_nothing_is_lost_or_repeated_while_each_of_them_is_restarted(ensemble: Lab, tmp_path: Path) -> None:
    """Also, traffic and muxes do not notice the loss of a controller or ZooKeeper server, whether stopped or killed."""
    lab = ensemble
    before = lab.service()["generation"]
    with lab.traffic(long=20, interval=0.2, short_rate=10) as traffic:
        traffic.wait_open()
        stream = Stream(lab.controllers)
        stream.wait_writes()
        killed = next(each for each in lab.controllers if each.leads)
        for controller in lab.controllers:
            if controller is killed:
                controller.process.kill()
            else:
                controller.process.stop()
            stream.wait_writes()
            lab.wait_applied()
            controller.start()
            controller.wait_serving()
        for zookeeper in lab.zookeepers:
            zookeeper.stop()
            stream.wait_writes()
            lab.wait_applied()
            zookeeper.start()
            zookeeper.wait(MOVING_SECONDS)
        stream.wait_writes()
        generations = stream.end()
        lab.wait_applied()
        traffic.wait_quiet()
    print(f"{len(generations)} changes, {stream.attempts} attempts, the longest took {stream.longest:.1f} s")
    assert traffic.total is not None and traffic.total["broken"] == 0, traffic.broken()
    assert len(generations) < 1000, "more than one answer's audit records"
    assert generations == list(range(before + 1, before + 1 + len(generations)))
    assert audited(lab, before) == generations
    wait_known(lab, generations[-1])
    for each in lab.controllers:
        assert each.api("GET", BACKEND)["weight"] == 50 + (len(generations) - 1) % 100
    expect_alerts(lab, {}, tmp_path)
    for port in range(2000, 2020):
        said = lab.explain("10.2.1.2", port)
        assert said.pop("kept")  # which muxes do not know
        for number in lab.muxes:
            assert said.items() <= lab.mux_explain(number, "10.2.1.2", port).items()


def test_without_a_quorum_reads_and_muxes_go_on(ensemble: Lab, tmp_path: Path) -> None:
    lab = ensemble
    before = lab.service()["generation"]
    wait_known(lab, before)
    with lab.traffic(long=20, interval=0.2, short_rate=10) as traffic:
        traffic.wait_open()
        for zookeeper in lab.zookeepers[:2]:
            zookeeper.stop()
        for each in lab.controllers:
            begun = time.monotonic()
            with pytest.raises(Refused) as refused:
                each.api("PATCH", f"{BACKEND}?force=true", {"weight": 49}, timeout=60)
            print(f"{each.name} refused after {time.monotonic() - begun:.1f} s: {refused.value}")
            assert refused.value.status == 503
            assert refused.value.problem["allowed"].startswith(REFUSED_WITHOUT_A_QUORUM)
            assert each.api("GET", "/v1/services/web")["generation"] == before
        wanted = {"FairleadNoLeader": 1, "FairleadZooKeeperLost": 3, "FairleadMuxWithoutZooKeeper": 1}
        expect_alerts(lab, wanted, tmp_path)
        for zookeeper in lab.zookeepers[:2]:
            zookeeper.start()
        for weight, each in enumerate(lab.controllers, 40):
            until(f"{each.name} takes a change", lambda e=each, w=weight: write(e, w), MOVING_SECONDS)
        lab.wait_applied()
        traffic.wait_quiet()
    assert traffic.total is not None and traffic.total["broken"] == 0, traffic.broken()
    assert lab.service()["generation"] >= before + 3


def test_a_cluster_whose_zookeeper_is_lost_is_restored(ensemble: Lab, tmp_path: Path) -> None:
    """As docs/control-plane.md describes, while the muxes keep serving with what they have."""
    lab = ensemble
    file = tmp_path / "backup.json"
    lab.controller.ctl("backup", "-f", str(file))
    before = lab.service()
    flows = {port: lab.explain("10.2.1.2", port)["current"] for port in range(2000, 2020)}
    with lab.traffic(long=20, interval=0.2, short_rate=10) as traffic:
        traffic.wait_open()
        for controller in lab.controllers:
            controller.process.stop()
        for zookeeper in lab.zookeepers:
            zookeeper.stop()
            zookeeper.forget()
        for zookeeper in lab.zookeepers:
            zookeeper.start()
        for zookeeper in lab.zookeepers:
            zookeeper.wait(MOVING_SECONDS)
        began = int(time.time())
        assert "restored cluster" in lab.controller.restore(file)
        lab.controller.start()
        lab.controller.wait(120)
        lab.wait_applied(MOVING_SECONDS)
        after = lab.service()
        assert began <= after["generation"] <= time.time()
        assert all(after[key] == before[key] for key in before if key not in ("generation", "version"))
        assert {port: lab.mux_explain(1, "10.2.1.2", port)["current"] for port in flows} == flows
        lab.weights({2: 77})
        lab.wait_applied(MOVING_SECONDS)
        traffic.wait_quiet()
    assert traffic.total is not None and traffic.total["broken"] == 0, traffic.broken()
    whats = [record["what"] for record in lab.api("GET", "/v1/audit")]
    assert len(whats) == 2 and whats[1].startswith("restore of the backup of ")
