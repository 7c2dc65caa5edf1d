# SPDX-License-Identifier: Apache-2.0
"""A mux that no operator has added serves nothing; one that is removed announces nothing; both wait."""

from deadline import stays, until
from mux_process import MuxProcess
from tree import Service, Tree, backend, run
from zookeeper_process import ZooKeeperProcess


def served(tree: Tree, **config: object) -> Service:
    service = Service(tree, **config).create()
    service.commit([backend(1)], [run(0, service.image["buckets"], 1)])
    return service


def test_it_waits_until_it_is_added(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path):
    service = served(tree)
    tree.remove("mux1")
    mux = MuxProcess(zookeeper.address, tmp_path)
    mux.start()
    try:
        until(lambda: mux.logged(event="not_added", path="/fairlead/muxes/mux1") == 1, 60, mux.log())
        stays(lambda: mux.ring() == {} and mux.get("/healthz")[0] == 503, 1, "that it serves nothing")
        assert tree.mux() is None
        tree.add("mux1")
        mux.until_serving(service.image)
        until(tree.mux, 60, "its node")
        assert mux.logged(event="not_added") == mux.logged(event="added") == 1
    finally:
        mux.stop()


def test_one_that_is_removed_announces_nothing_until_it_is_added_again(
    tree: Tree, zookeeper: ZooKeeperProcess, tmp_path
):
    """It goes on following, since packets may still come to it, and others no longer know it."""
    tree.client.create("/fairlead/cluster", b"1" * 32)
    service = served(tree)
    mux = MuxProcess(zookeeper.address, tmp_path, announce="tun")
    mux.start()
    try:
        mux.until_serving(service.image)
        until(lambda: mux.metric("announced", service="web") == 1, 60, mux.log())
        until(lambda: mux.metric("registered") == 1, 60, mux.log())
        tree.remove("mux1")
        until(lambda: mux.logged(event="removed") == 1, 60, mux.log())
        until(lambda: mux.metric("announced", service="web") == 0, 60, mux.log())
        assert mux.metric("registered") == 0
        mux.until_serving(service.commit([], [run(0, 9, 1)]))
        assert mux.metric("announced", service="web") == 0
        tree.add("mux1")
        until(lambda: mux.metric("announced", service="web") == 1, 60, mux.log())
        until(tree.mux, 60, "its node")
        assert mux.logged(event="added_again") == 1 and not mux.logged(event="deleted")
    finally:
        mux.stop()


def test_a_tree_of_another_cluster_removes_no_mux(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path):
    """ZooKeeper's data is lost, and a controller begins anew: the list is empty, and nobody has removed anything."""
    tree.client.create("/fairlead/cluster", b"1" * 32)
    service = served(tree)
    mux = MuxProcess(zookeeper.address, tmp_path, announce="tun")
    mux.start()
    try:
        mux.until_serving(service.image)
        until(lambda: mux.metric("announced", service="web") == 1, 60, mux.log())
        everything = tree.client.transaction()
        everything.set_data("/fairlead/cluster", b"2" * 32)
        service.delete(everything)
        if tree.mux():
            everything.delete("/fairlead/muxes/mux1/live")
        everything.delete("/fairlead/muxes/mux1")
        everything.commit()
        until(lambda: mux.logged(event="not_added") == 1, 60, mux.log())
        until(lambda: mux.metric("foreign_cluster") == 1, 60, mux.log())
        stays(lambda: mux.metric("announced", service="web") == 1, 2, "what it serves")
        assert not mux.logged(event="removed") and mux.ring()["generation"] == "2"
    finally:
        mux.stop()


def test_one_that_a_restored_tree_lacks_serves_on(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path):
    """Of a backup from before it was added. Nobody has removed it, so it follows, and announces, until it is added."""
    tree.client.create("/fairlead/cluster", b"1" * 32)
    service = served(tree)
    mux = MuxProcess(zookeeper.address, tmp_path, announce="tun")
    mux.start()
    try:
        mux.until_serving(service.image)
        until(lambda: mux.metric("announced", service="web") == 1, 60, mux.log())
        until(tree.mux, 60, "its node")
        tree.join("mux2", {"format": 1, "address": "10.1.0.12"})
        until(lambda: mux.logged(event="peers", muxes=2) == 1, 60, mux.log())
        zookeeper.stop()
        zookeeper.forget()
        zookeeper.start()
        anew = Tree(zookeeper.address)  # a server without data refuses sessions that have seen more
        service.client = anew.client
        restored = anew.client.transaction()
        restored.create("/fairlead")
        restored.create("/fairlead/muxes")
        restored.create("/fairlead/services")
        service.create(restored)
        restored.create("/fairlead/cluster", b"2" * 32)
        restored.commit()
        until(lambda: mux.metric("foreign_cluster") == 1, 60, mux.log())
        until(lambda: mux.logged(event="not_added") == 1, 60, mux.log())
        stays(lambda: not mux.logged(event="peers", muxes=0), 1, "its peers")
        anew.client.set("/fairlead/cluster", b"1" * 32)
        until(lambda: mux.metric("foreign_cluster") == 0, 60, mux.log())
        mux.until_serving(service.commit([], [run(0, 9, 1)]))
        stays(lambda: mux.metric("announced", service="web") == 1, 1, "what it announces")
        assert mux.metric("registered") == 0
        assert mux.logged(event="entry_missing") == 1 and not mux.logged(event="removed")
        anew.add("mux1")
        until(anew.mux, 60, "its node")
        anew.remove("mux1")
        until(lambda: mux.metric("announced", service="web") == 0, 60, mux.log())
        assert mux.logged(event="removed") == 1
        anew.close()
    finally:
        mux.stop()
