# SPDX-License-Identifier: Apache-2.0
"""Three ZooKeeper servers that ask who one is, three controllers, and traffic: what fails of them, and what goes on."""

from collections.abc import Iterator

import pytest

from lab import Lab
from lab.controller import Controller
from lab.deadline import until
from lab.rest import Refused, Unreachable


@pytest.fixture(scope="module")
def ensemble(built: None) -> Iterator[Lab]:
    with Lab(servers=2, muxes=1, window=600, zookeepers=3, controllers=3) as lab:
        yield lab


def write(controller: Controller, weight: int) -> int:
    """The status of a change, 0 without an answer."""
    try:
        controller.api("PATCH", "/v1/services/web/backends/1", {"weight": weight}, timeout=30)
        return 200
    except Refused as refused:
        return refused.status
    except Unreachable:
        return 0


def test_the_loss_of_one_of_each_is_not_noticed(ensemble: Lab) -> None:
    lab = ensemble
    leader = next(each for each in lab.controllers if each.leads)
    with lab.traffic(long=40, interval=0.2, short_rate=20) as traffic:
        traffic.wait_open()
        lab.zookeepers[2].stop()
        until("a change is committed", lambda: write(lab.controller, 90) == 200, 20)
        lab.wait_applied()
        leader.process.kill()
        others = [each for each in lab.controllers if each is not leader]
        until("another controller leads", lambda: any(each.leads for each in others), 30)
        for weight, each in enumerate(others):
            until(f"{each.name} takes a change", lambda e=each, w=80 + weight: write(e, w) == 200, 20)
        lab.wait_applied()
        leader.start()
        leader.wait_serving()
        lab.zookeepers[2].start()
        lab.zookeepers[2].wait()
        traffic.wait_quiet()
    assert traffic.total is not None and traffic.total["broken"] == 0, traffic.broken()[:5]
    generations = {each.api("GET", "/v1/services/web")["generation"] for each in lab.controllers}
    assert len(generations) == 1


def test_without_a_quorum_reads_and_muxes_go_on(ensemble: Lab) -> None:
    lab = ensemble
    before = lab.service()["generation"]
    with lab.traffic(long=40, interval=0.2, short_rate=20) as traffic:
        traffic.wait_open()
        for zookeeper in lab.zookeepers[:2]:
            zookeeper.stop()
        for each in lab.controllers:
            until(f"{each.name} refuses a change", lambda e=each: write(e, 70) == 503, 30)
            with pytest.raises(Refused) as refused:
                each.api("PATCH", "/v1/services/web/backends/1", {"weight": 70}, timeout=30)
            assert "try again" in refused.value.problem["allowed"]
            assert each.api("GET", "/v1/services/web")["generation"] == before
        traffic.wait_seconds(3)
        for zookeeper in lab.zookeepers[:2]:
            zookeeper.start()
        for weight, each in enumerate(lab.controllers):
            until(f"{each.name} takes a change", lambda e=each, w=60 + weight: write(e, w) == 200, 60)
        lab.wait_applied()
        traffic.wait_quiet()
    assert traffic.total is not None and traffic.total["broken"] == 0, traffic.broken()[:5]
    assert lab.service()["generation"] >= before + 3
