# SPDX-License-Identifier: Apache-2.0
"""What a mux shares with all of its cluster, by a real ZooKeeper: the seed that deals fragments out, and the time."""

from deadline import stays, until
from mux_process import MuxProcess
from tree import Service, Tree, backend, run

SEED = "/fairlead/fragment_seed"


def uses(mux: MuxProcess) -> str | None:
    """Where the seed comes from, as the mux logged it last."""
    lines = [line for line in mux.log().splitlines() if "event=fragment_seed " in line]
    return lines[-1].rsplit("from=", 1)[1] if lines else None


def test_the_seed_is_followed(tree: Tree, mux: MuxProcess):
    until(lambda: tree.mux(), 60, "the mux's node")
    stays(lambda: uses(mux) is None, 0.5, "no seed")
    tree.client.create(SEED, b"000102030405060708090a0b0c0d0e0f")
    until(lambda: uses(mux) == SEED, 60, "the seed")
    tree.client.delete(SEED)
    until(lambda: uses(mux) == "zero", 60, "no seed")


def test_the_seed_of_another_clusters_tree_is_not_used(tree: Tree, mux: MuxProcess):
    """Muxes without ZooKeeper, and those that have not seen that tree yet, deal fragments out by the former seed."""
    tree.client.create("/fairlead/cluster", b"0" * 32)
    tree.client.create(SEED, b"000102030405060708090a0b0c0d0e0f")
    service = Service(tree).create()
    service.commit([backend(1)], [run(0, service.image["buckets"], 1)])
    mux.until_serving(service.image)
    until(lambda: uses(mux) == SEED, 60, "the seed")
    tree.client.set("/fairlead/cluster", b"1" * 32)
    until(lambda: mux.metric("foreign_cluster") == 1, 60, "the other cluster to be seen")
    tree.client.delete(SEED)
    stays(lambda: mux.logged(event="fragment_seed") == 1, 1, "the seed")
    tree.client.set("/fairlead/cluster", b"0" * 32)
    until(lambda: uses(mux) == "zero", 60, "its own cluster's")


def test_the_clock_is_compared_with_zookeepers(tree: Tree, mux: MuxProcess):
    """Both run on one machine: nothing differs, though a loaded machine may take a while to answer."""
    until(lambda: mux.metric("clock_difference_seconds") is not None, 60, "a comparison")
    assert mux.metric("clock_difference_seconds") == 0
