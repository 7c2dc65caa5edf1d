# SPDX-License-Identifier: Apache-2.0
"""
What a mux keeps on disk: after a restart during an outage of ZooKeeper it serves from there, and continues from there
when ZooKeeper returns. The files themselves are covered by test_state.c.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import stays, until
from mux_process import MuxProcess
from tree import Service, Tree, backend, run
from zookeeper_process import ZooKeeperProcess

BOTH = [backend(1), backend(2)]
CLUSTER = b"6c9d1e7a-test"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def mux(zookeeper: ZooKeeperProcess, tree: Tree, folder: Path, tmp_path: Path) -> Iterator[MuxProcess]:
    tree.client.create("/fairlead/cluster", CLUSTER)
    process = MuxProcess(zookeeper.address, tmp_path, state=folder)
    process.start()
    yield process
    process.stop()
    zookeeper.start()


def served(tree: Tree, mux: MuxProcess, **config: object) -> Service:
    service = Service(tree, **config).create()
    mux.until_serving(service.commit(BOTH, [run(0, 128, 1), run(128, 128, 2)]), service.name)
    return service


def until_saved(mux: MuxProcess) -> None:
    until(lambda: mux.metric("state_unsaved") == 0 and mux.metric("state_usable") == 1, 60, mux.log())


def restored(tree: Tree, service: str) -> int | None:
    """By the mux's node. That of the session before the outage ends with it, and then there is none for a moment."""
    return (tree.mux() or {"services": {}})["services"].get(service, {}).get("restored")


def restart(mux: MuxProcess) -> None:
    mux.kill()
    mux.start()


def test_a_restart_during_an_outage_serves_from_disk(
    tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess, folder: Path
):
    web, mail = served(tree, mux), served(tree, mux, id_=2, name="mail", vips=["10.99.0.2"])
    until_saved(mux)
    assert sorted(path.name for path in folder.iterdir()) == ["cluster", "lock", "mail.service", "web.service"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir()), "they hold hash keys"
    owners = [mux.explain(sourcePort=port) for port in range(4000, 4050)]
    zookeeper.stop()
    restart(mux)
    begun = time.monotonic()
    mux.until_serving(web.image)
    took = time.monotonic() - begun
    mux.until_serving(mail.image, "mail")
    print(f"served from disk {took:.2f} s after the start")
    assert [mux.explain(sourcePort=port) for port in range(4000, 4050)] == owners
    assert mux.get("/healthz")[0] == 200
    assert mux.metric("restored", service="web") == mux.metric("restored", service="mail") == 1
    assert mux.metric("lag_generations", service="web") == 0 and mux.state() == "serving"
    assert mux.logged(event="restored", generation=2) == 2 and mux.logged(event="peers", muxes=1) == 2
    stays(lambda: mux.serves(web.image), 1, "the restored ring")

    zookeeper.start()
    until(lambda: mux.metric("restored", service="web") == mux.metric("restored", service="mail") == 0, 60, mux.log())
    until(lambda: tree.answers() and restored(tree, "web") == 2, 60, "the mux's node to say so")
    loaded = mux.logged(event="loaded")
    mux.until_serving(web.commit([backend(3)], [run(0, 40, 3)]))
    assert mux.logged(event="loaded") == loaded, "the delta follows the restored ring: no snapshot is read"
    assert not mux.logged(event="refused") and not mux.logged(event="state_refused")


def test_fragments_are_dealt_out_as_before(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess, folder: Path):
    """By the seed that the other muxes use."""
    seed = "/fairlead/fragment_seed"
    tree.client.create(seed, bytes(range(16)).hex().encode())
    web = served(tree, mux)
    until(lambda: mux.logged(event="fragment_seed", **{"from": seed}) == 1, 60, mux.log())
    until_saved(mux)
    until(lambda: bytes(range(16)) in (folder / "cluster").read_bytes(), 60, "the seed on disk")
    zookeeper.stop()
    restart(mux)
    mux.until_serving(web.image)
    assert mux.logged(event="fragment_seed", **{"from": "disk"}) == 1
    zookeeper.start()
    until(lambda: mux.metric("restored", service="web") == 0, 60, mux.log())
    until(lambda: tree.answers() and tree.mux(), 60, "the mux's node")
    stays(lambda: mux.logged(event="fragment_seed") == 2, 1, "the seed")
    tree.client.delete(seed)
    until(lambda: mux.logged(event="fragment_seed", **{"from": "zero"}) == 1, 60, mux.log())
    until(lambda: bytes(range(16)) not in (folder / "cluster").read_bytes(), 60, "no seed on disk")
    zookeeper.stop()
    restart(mux)
    mux.until_serving(web.image)
    assert mux.logged(event="fragment_seed") == 3, "zero, as it was"


def test_what_changed_during_the_outage_is_followed(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess, folder):
    """The mux was off for longer than ZooKeeper: deltas, a service that is gone, and one that is new."""
    web, mail = served(tree, mux), served(tree, mux, id_=2, name="mail", vips=["10.99.0.2"])
    until_saved(mux)
    mux.kill()
    mail.delete()
    for at in range(3):
        web.commit([], [run(at * 8, 8, 2)])
    new = Service(tree, id_=3, name="new", vips=["10.99.0.2"]).create()
    new.commit(BOTH, [run(0, 256, 1)])
    zookeeper.stop()
    mux.start()
    until(lambda: mux.generation() == 2 and mux.generation("mail") == 2, 60, "the restored rings")
    zookeeper.start()
    mux.until_serving(web.image)
    mux.until_serving(new.image, "new")  # its VIP was mail's
    until(lambda: mux.generation("mail") is None, 60, "mail to be gone")
    until(lambda: {path.name for path in folder.iterdir()} == {"cluster", "lock", "new.service", "web.service"}, 60, "")
    assert mux.logged(event="loaded", service="web") == 2, "once before and once from disk: deltas did the rest"


def test_a_ring_that_went_back_is_read_anew(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess):
    """The service was deleted and created again under its name while the mux was off."""
    web = served(tree, mux)
    for at in range(5):
        mux.until_serving(web.commit([], [run(at * 8, 8, 2)]))
    until_saved(mux)
    mux.kill()
    web.delete()
    again = Service(tree, id_=9, buckets=512).create()
    again.commit(BOTH, [run(0, 512, 2)])
    zookeeper.stop()
    mux.start()
    until(lambda: mux.generation() == 7, 60, "the restored ring")
    zookeeper.start()
    mux.until_serving(again.image)


def test_with_zookeeper_nothing_is_read_from_disk(tree: Tree, mux: MuxProcess, folder: Path):
    web = served(tree, mux)
    until_saved(mux)
    mux.kill()
    web.commit([], [run(0, 64, 2)])
    (folder / "old.service").write_bytes(b"of a service that was deleted meanwhile")
    mux.start()
    mux.until_serving(web.image)
    assert not mux.logged(event="restored") and mux.metric("restored", service="web") == 0
    until(lambda: not (folder / "old.service").exists(), 60, "the file of an unlisted service to be removed")
    until(lambda: "restored" not in tree.mux()["services"]["web"], 60, "the mux's node")


def test_damaged_files_are_refused_by_name(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess, folder: Path):
    web, mail = served(tree, mux), served(tree, mux, id_=2, name="mail", vips=["10.99.0.2"])
    until_saved(mux)
    zookeeper.stop()
    mux.kill()
    path = folder / "mail.service"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    (folder / "web.service.new").write_bytes(b"what a crash leaves")
    mux.start()
    mux.until_serving(web.image)
    assert mux.generation("mail") is None
    assert mux.logged(event="state_refused", file=str(path), reason="checksum") == 1
    assert mux.metric("state_refused_total", reason="checksum") == 1
    assert not (folder / "web.service.new").exists()
    zookeeper.start()
    mux.until_serving(mail.image, "mail")
    until_saved(mux)
    assert path.read_bytes() != data

    mux.kill()  # and without the cluster's name nothing is served
    zookeeper.stop()
    (folder / "cluster").write_bytes(b"")
    mux.start()
    until(lambda: mux.metric("state_refused_total", reason="truncated") == 1, 60, mux.log())
    stays(lambda: mux.get("/healthz")[0] == 503 and mux.generation() is None, 1, "it waits")
    zookeeper.start()
    mux.until_serving(web.image)
    until_saved(mux)
    until(lambda: (folder / "cluster").stat().st_size > 100, 60, "the cluster's file to be written again")


def test_another_cluster_is_not_followed(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess):
    """As for any mux that serves: a tree with another name is left alone."""
    web = served(tree, mux)
    until_saved(mux)
    mux.kill()
    tree.client.set("/fairlead/cluster", b"another")
    zookeeper.stop()
    mux.start()
    mux.until_serving(web.image)
    zookeeper.start()
    until(lambda: mux.metric("foreign_cluster") == 1, 60, mux.log())
    stays(lambda: mux.serves(web.image), 1, "the restored ring")
    until(tree.answers, 60, "the test's session")
    tree.client.set("/fairlead/cluster", CLUSTER)
    until(lambda: mux.metric("restored", service="web") == 0, 60, mux.log())


def test_a_disk_that_is_full_hurts_nothing(tree: Tree, mux: MuxProcess, folder: Path):
    web = served(tree, mux)
    until_saved(mux)
    before = (folder / "web.service").read_bytes()
    mux.kill()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "full", str(folder)]
    assert os.spawnvp(os.P_WAIT, "mount", mount) == 0
    try:
        (folder / "filler").write_bytes(b"x" * 60_000)
        mux.start()
        mux.until_serving(web.image)
        until(lambda: (mux.metric("state_writes_total", result="failed") or 0) > 0, 60, mux.log())
        assert mux.metric("state_usable") == 0 and mux.logged(event="state_write_failed") == 1
        mux.until_serving(web.commit([], [run(0, 64, 2)]))
        assert mux.metric("state_unsaved") == 1 and mux.state() == "serving"
        assert not list(folder.glob("*.new"))
        mux.stop()
    finally:
        mux.stop()
        assert os.spawnvp(os.P_WAIT, "umount", ["umount", str(folder)]) == 0
    assert (folder / "web.service").read_bytes() == before
    mux.start()


def test_a_folder_belongs_to_one_mux(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess, folder, tmp_path):
    served(tree, mux)
    until_saved(mux)
    second = MuxProcess(zookeeper.address, tmp_path, "mux2", state=folder)
    second.start()
    until(lambda: second.generation() == 2, 60, "the second mux to serve")
    assert second.metric("state_usable") == 0 and second.logged(event="state_unusable") == 1
    assert second.metric("state_unsaved") == 1
    second.stop()
    third = MuxProcess(zookeeper.address, tmp_path, "mux3", state=folder / "missing")
    third.start()
    until(lambda: third.generation() == 2, 60, "the third mux to serve")
    assert third.metric("state_usable") == 0 and third.logged(event="state_unusable") == 1
    third.stop()
