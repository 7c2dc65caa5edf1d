# SPDX-License-Identifier: Apache-2.0
"""A mux whose ring is older than what is settled announces nothing, neither alone nor after a restart."""

import json
import signal
from pathlib import Path

from deadline import stays, until
from tree import Service, Tree, run
from whole_mux import WholeMux
from zookeeper_process import ZooKeeperProcess

VIP = {"10.99.0.1": "fl1"}


def peer(tree: Tree, generation: int, **more: str) -> None:
    """Another mux, represented by its node."""
    node = {"format": 1, "id": "mux2", "version": "0.1.0", "address": "10.1.0.12", "ports": ["eth0"]}
    node["services"] = {"web": {"generation": generation, "state": "serving"} | more}
    tree.join("mux2", node)


def said(tree: Tree) -> dict:
    node = tree.mux()
    return node["services"].get("web", {}) if node else {}


def test_it_announces_no_older_ring(tree: Tree, service: Service, zookeeper: ZooKeeperProcess, new_mux, tmp_path: Path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    tree.client.create("/fairlead/cluster", b"whole")
    mux: WholeMux = new_mux("--state-dir", str(folder), "--behind-seconds", "1")
    mux.start()
    mux.settle(service)
    until(lambda: mux.routes() == VIP, 60, "the VIP to be announced")
    until(lambda: mux.metric("state_unsaved") == 0, 60, mux.log())

    service.commit([], [run(0, 9, 1)], damage=lambda data: data[:-1] + bytes([data[-1] ^ 1]))
    settled = service.image["generation"]
    peer(tree, settled)
    until(lambda: mux.routes() == {} and mux.metric("withdrawn", service="web", reason="behind") == 1, 60, mux.log())

    # A controller settles it, and acts once this mux has stored that.
    tree.client.create("/fairlead/settled", json.dumps({"format": 1, "services": {"1": settled}}).encode())
    peer(tree, settled, withdrawn="stopping")  # the only mux that is ahead ends
    stays(lambda: mux.routes() == {}, 6, "no announcement of what lies below the settled generation")
    until(lambda: said(tree).get("settled") == settled, 60, "its node to say that it has stored it")
    assert said(tree)["withdrawn"] == "settled" and said(tree)["generation"] == settled - 1
    assert mux.metric("withdrawn", service="web", reason="settled") == 1
    assert mux.logged(event="withdrawn_settled", service="web", generation=settled - 1, settled=settled) == 1

    # Nor for a moment while it starts, although ZooKeeper gives it the ring first.
    before = mux.logged(event="announced")
    mux.signal(signal.SIGKILL)
    mux.wait(60)
    mux.start()
    until(lambda: mux.metric("generation", service="web") == settled - 1, 60, mux.log())
    until(lambda: mux.metric("withdrawn", service="web", reason="settled") == 1, 60, mux.log())
    assert mux.logged(event="announced") == before, mux.log()

    zookeeper.stop()
    try:  # From its disk, alone: it hears neither ZooKeeper nor another mux.
        mux.signal(signal.SIGKILL)
        mux.wait(60)
        mux.start()
        until(lambda: mux.metric("restored", service="web") == 1, 60, mux.log())
        stays(lambda: mux.routes() == {}, 5, "no announcement after a restart")
        assert mux.metric("generation", service="web") == settled - 1
        assert mux.metric("withdrawn", service="web", reason="settled") == 1
    finally:
        zookeeper.start()

    until(tree.answers, 60, "the test's session")
    service.commit([], [run(9, 9, 1)], with_snapshot=True)  # a snapshot bypasses the damage
    until(lambda: mux.routes() == VIP, 60, mux.log())
    until(lambda: "withdrawn" not in said(tree), 60, "its node to say so")
    until(lambda: said(tree).get("settled") == settled + 1, 60, "its node to say what it has on disk")


def test_it_keeps_its_newest_ring(tree: Tree, service: Service, zookeeper: ZooKeeperProcess, new_mux, tmp_path: Path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    tree.client.create("/fairlead/cluster", b"whole")
    mux: WholeMux = new_mux("--state-dir", str(folder))
    mux.start()
    mux.settle(service)
    until(lambda: mux.metric("state_unsaved") == 0, 60, mux.log())
    for bucket in (0, 9):  # the second one is not written for 5 s
        service.commit([], [run(bucket, 9, 1)])
        mux.settle(service)
    newest = service.image["generation"]
    mux.signal(signal.SIGTERM)
    mux.signal(signal.SIGTERM)  # without a drain
    assert mux.wait(60) == 0, mux.log()
    zookeeper.stop()
    try:
        mux.start()
        until(lambda: mux.metric("restored", service="web") == 1, 60, mux.log())
        assert mux.metric("generation", service="web") == newest
    finally:
        zookeeper.start()
