# SPDX-License-Identifier: Apache-2.0
"""A mux whose ring is older than what is settled announces nothing, neither alone nor after a restart."""

import json
import signal
from pathlib import Path

import pytest
from cutting_proxy import CuttingProxy
from deadline import stays, until
from rack import BACKENDS, Rack
from tree import Service, Tree, backend, run
from whole_mux import WholeMux
from zookeeper_process import ZooKeeperProcess

VIP = {"10.99.0.1": "fl1"}


def peer(tree: Tree, *of: Service, **more: str) -> None:
    """Another mux, represented by its node, which serves the newest generation of these."""
    node = {"format": 1, "id": "mux2", "version": "0.1.0", "address": "10.1.0.12", "ports": ["eth0"]}
    served = {each.name: {"generation": each.image["generation"], "state": "serving"} | more for each in of}
    tree.join("mux2", node | {"services": served})


def said(tree: Tree, name: str = "web") -> dict:
    node = tree.mux()
    return node["services"].get(name, {}) if node else {}


def settle(tree: Tree, generation: int) -> None:
    """A controller says that this one of web is settled."""
    tree.client.create("/fairlead/settled", json.dumps({"format": 1, "services": {"1": generation}}).encode())


def commit_damaged(service: Service) -> None:
    """A generation that the mux refuses, until there is a snapshot."""
    service.commit([], [run(0, 9, 1)], damage=lambda data: data[:-1] + bytes([data[-1] ^ 1]))


def test_it_announces_no_older_ring(tree: Tree, service: Service, zookeeper: ZooKeeperProcess, new_mux, tmp_path: Path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    tree.client.create("/fairlead/cluster", b"whole")
    mux: WholeMux = new_mux("--state-dir", str(folder), "--behind-seconds", "1")
    mux.start()
    mux.settle(service)
    until(lambda: mux.routes() == VIP, 60, "the VIP to be announced")
    until(lambda: mux.metric("state_unsaved") == 0, 60, mux.log())

    commit_damaged(service)
    settled = service.image["generation"]
    peer(tree, service)
    until(lambda: mux.routes() == {} and mux.metric("withdrawn", service="web", reason="behind") == 1, 60, mux.log())

    # A controller settles it, and acts once this mux has stored that.
    settle(tree, settled)
    peer(tree, service, withdrawn="stopping")  # the only mux that is ahead ends
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


def test_it_stays_while_it_reads_what_is_settled(
    tree: Tree, service: Service, zookeeper: ZooKeeperProcess, rack: Rack, tmp_path: Path
):
    """ZooKeeper is back, and says sooner what is settled than how to get there."""
    proxy = CuttingProxy(zookeeper.port, host="10.1.0.1")
    mux = WholeMux(rack, proxy.address, tmp_path / "mux.log", "--behind-seconds", "0")
    try:
        mux.start()
        mux.settle(service)
        until(lambda: mux.routes() == VIP, 60, "the VIP to be announced")
        proxy.is_closed = True
        proxy.cut_now()
        for bucket in range(20):
            service.commit([], [run(bucket, 1, 1)])
        settle(tree, service.image["generation"])
        proxy.is_closed = False
        until(lambda: said(tree).get("settled") == service.image["generation"], 60, mux.log())
        assert mux.logged(event="withdrawn") == 0, mux.log()
        assert mux.routes() == VIP
    finally:
        mux.end()
        proxy.close()


def test_it_does_not_believe_what_is_not_committed(
    tree: Tree, service: Service, zookeeper: ZooKeeperProcess, new_mux, tmp_path: Path
):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    tree.client.create("/fairlead/cluster", b"whole")
    mux: WholeMux = new_mux("--state-dir", str(folder))
    mux.start()
    mux.settle(service)
    latest = service.image["generation"]
    until(lambda: mux.routes() == VIP, 60, "the VIP to be announced")
    until(lambda: said(tree).get("settled") == latest, 60, "its node to say what it has on disk")

    settle(tree, latest + 2)
    until(lambda: mux.metric("refused_total", service="web", reason="settled") == 1, 60, mux.log())
    service.commit([], [run(0, 9, 1)])
    until(lambda: said(tree).get("settled") == latest + 1, 60, "its node to say what it has on disk")
    assert mux.logged(event="refused", service="web", reason="settled", generation=latest + 2) == 1
    assert mux.logged(event="withdrawn") == 0, mux.log()
    assert mux.routes() == VIP

    mux.signal(signal.SIGKILL)
    mux.wait(60)
    zookeeper.stop()
    try:  # Nor has it put that on its disk.
        mux.start()
        until(lambda: mux.metric("restored", service="web") == 1, 60, mux.log())
        until(lambda: mux.routes() == VIP, 60, mux.log())
    finally:
        zookeeper.start()
    until(tree.answers, 60, "the test's session")
    until(lambda: mux.metric("refused_total", service="web", reason="settled") == 1, 60, mux.log())
    service.commit([], [run(9, 9, 1)])
    until(lambda: mux.logged(event="accepted", service="web", after="settled") == 1, 60, mux.log())
    assert mux.routes() == VIP


@pytest.mark.parametrize("end", ["caught up", "deleted"])
def test_it_announces_no_vip_of_an_older_ring(tree: Tree, service: Service, new_mux, end: str):
    tls = Service(tree, id_=2, name="tls", ports=[{"protocol": "tcp", "port": 443}]).create()
    tls.commit([backend(1, BACKENDS[0])], [run(0, 256, 1)])
    mux: WholeMux = new_mux("--behind-seconds", "1")
    mux.start()
    mux.settle(service)
    until(lambda: mux.metric("announced", service="tls") == 1, 60, mux.log())
    for each in (service, tls):
        commit_damaged(each)
    peer(tree, service, tls)
    until(lambda: mux.routes() == {}, 60, mux.log())
    settle(tree, service.image["generation"])
    until(lambda: said(tree).get("withdrawn") == "settled", 60, mux.log())

    tls.commit([], [run(9, 9, 1)], with_snapshot=True)  # a snapshot bypasses the damage
    until(lambda: said(tree, "tls").get("generation") == tls.image["generation"], 60, mux.log())
    stays(lambda: mux.routes() == {}, 3, "no announcement of the VIP for tls while web is below the settled generation")
    until(lambda: said(tree, "tls").get("withdrawn") == "settled", 60, "its node to say so")
    assert mux.metric("withdrawn", service="tls", reason="settled") == 1
    assert mux.logged(event="withdrawn_settled", service="tls", vip="10.99.0.1", shared="web") == 1

    if end == "deleted":
        service.delete()
        until(lambda: mux.routes() == {"10.99.0.1": "fl2"}, 60, mux.log())
    else:
        service.commit([], [run(9, 9, 1)], with_snapshot=True)
        until(lambda: mux.metric("announced", service="web") == 1, 60, mux.log())
        until(lambda: mux.metric("announced", service="tls") == 1, 60, mux.log())
    until(lambda: "withdrawn" not in said(tree, "tls"), 60, "its node to say so")


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
