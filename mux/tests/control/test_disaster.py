# SPDX-License-Identifier: Apache-2.0
"""
All of ZooKeeper's data is lost, and a controller starts on an empty one. The mux keeps serving. The controller is
restored from its backup, and the mux follows it again with the same owner of every bucket, so no connection breaks.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from controller_process import ControllerProcess
from deadline import stays, until
from mux_process import MuxProcess
from tree import Tree
from zookeeper_process import ZooKeeperProcess


@pytest.fixture
def controller(zookeeper: ZooKeeperProcess, tree: Tree, tmp_path: Path) -> Iterator[ControllerProcess]:
    tree.client.delete("/fairlead", recursive=True)
    process = ControllerProcess(zookeeper.address, tmp_path)
    process.start()
    process.add_mux("mux1")
    yield process
    process.stop()
    zookeeper.stop()
    zookeeper.forget()  # the controller's protected tree, which the next test's client could not delete


@pytest.fixture
def mux(zookeeper: ZooKeeperProcess, controller: ControllerProcess, tmp_path: Path) -> Iterator[MuxProcess]:
    process = MuxProcess(zookeeper.address, tmp_path, login=controller.login("mux1"))
    process.start()
    yield process
    process.stop()


def owners(mux: MuxProcess) -> list[dict]:
    """The destinations of 50 connections, without the generation."""
    answers = [mux.explain(sourcePort=port) for port in range(4000, 4050)]
    assert all(status == 200 for status, _ in answers)
    return [{key: value for key, value in answer.items() if key != "generation"} for _, answer in answers]


def test_zookeeper_is_lost(
    controller: ControllerProcess, mux: MuxProcess, zookeeper: ZooKeeperProcess, tmp_path: Path
) -> None:
    controller.ctl("cluster", "set", "--vip-range", "10.99.0.0/16", "--never-vip", "10.99.0.9")
    controller.ctl("service", "create", "web", "--vip", "10.99.0.1", "--port", "tcp:80", "--buckets", "1024")
    for number in range(1, 5):
        controller.ctl("backend", "add", "web", str(number), f"10.1.0.2{number}")
    controller.ctl("backend", "drain", "web", "2")
    until(lambda: mux.generation() == 6, 60, "the mux to follow")
    ring, before = mux.ring(), owners(mux)
    assert any(owner["former"] for owner in before), "no bucket is in an open window"
    backup = tmp_path / "backup.json"
    assert "services: 1" in controller.ctl("backup", "-f", str(backup))
    assert backup.stat().st_mode & 0o077 == 0, "it holds hash keys"
    controller.stop()

    zookeeper.stop()
    zookeeper.forget()
    zookeeper.start()
    controller.start()
    until(lambda: mux.metric("foreign_cluster") == 1, 60, "the mux to see another cluster")
    assert controller.health()["services"] == 0
    stays(lambda: mux.ring() == ring and mux.state() == "serving", 2, "the ring")

    controller.stop()
    began = int(time.time())
    assert "services: 1" in controller.restore(backup)
    until(lambda: mux.generation() > 6, 60, "the mux to follow the restored ring")
    restored = int(mux.generation())
    assert began <= restored <= time.time()
    controller.start()
    assert mux.ring() == ring | {"generation": str(restored)}, "the owners of all buckets"
    assert owners(mux) == before
    controller.ctl("backend", "weight", "web", "1", "50")
    until(lambda: mux.generation() == restored + 1, 60, "the next generation")
    assert mux.metric("foreign_cluster") == 0
    assert not mux.logged(event="deleted") and not mux.logged(event="refused"), mux.log()
