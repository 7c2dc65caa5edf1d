# SPDX-License-Identifier: Apache-2.0
"""
A mux with a ZooKeeper that requires a login: it reads what it may, owns its own node, and no other mux can change it.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from deadline import until
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import ACL, OPEN_ACL_UNSAFE, make_digest_acl
from mux_process import MuxProcess
from tree import Service, Tree, backend, live, run
from zookeeper_process import ZooKeeperProcess

CONTROLLERS = ("controllers", "controllers-secret")
READERS = ("readers", "the-readers-secret")
OWN = {mux: (f"mux-{mux}", f"the-secret-of-{mux}") for mux in ("mux1", "mux2")}


def acl(*others: ACL, **readers: bool) -> list[ACL]:
    return [make_digest_acl(*CONTROLLERS, all=True), make_digest_acl(*READERS, **readers), *others]


def lines(*logins: tuple[str, str]) -> list[str]:
    return [":".join(login) for login in logins]


def login(folder: Path, *logins: str, mode: int = 0o600) -> Path:
    path = folder / "login"
    path.write_text("".join(f"{line}\n" for line in logins))
    path.chmod(mode)
    return path


@pytest.fixture
def protected(zookeeper: ZooKeeperProcess, tree: Tree) -> Iterator[Tree]:
    """A tree protected as a controller does it."""
    for one in (CONTROLLERS, READERS):
        tree.client.add_auth("digest", ":".join(one))
    tree.client.default_acl = acl(read=True)
    for path in ("", "/services", "/muxes"):
        tree.client.set_acls(f"/fairlead{path}", acl(read=True))
    for mux, own in OWN.items():
        tree.client.set_acls(f"/fairlead/muxes/{mux}", acl(make_digest_acl(*own, read=True, create=True), read=True))
    yield tree
    tree.client.delete("/fairlead", recursive=True)  # the next test's client could not


def tree_below(tree: Tree, path: str = "/services") -> Iterator[str]:
    for child in tree.client.get_children(f"/fairlead{path}"):
        yield f"{path}/{child}"
        yield from tree_below(tree, f"{path}/{child}")


def served(tree: Tree) -> dict:
    service = Service(tree).create()
    return service.commit([backend(1)], [run(0, service.image["buckets"], 1)])


def attacks(by: KazooClient) -> list[Callable]:
    """What would make its session a mux that it is not, or another mux something that it is not."""
    node = b'{"format": 1, "address": "10.1.0.66", "services": {}}'
    return [
        lambda: by.set(live("mux1"), node),
        lambda: by.set_acls(live("mux1"), acl(all=True)),
        lambda: by.delete(live("mux1")),
        lambda: by.create("/fairlead/muxes/evil", node, ephemeral=True),
        lambda: by.create(live("mux1") + "2", node, ephemeral=True),
        lambda: by.set("/fairlead/muxes/mux1", node),
        lambda: by.set("/fairlead/services/web/config", b"{}"),
        lambda: by.create("/fairlead/services/mine", b""),
    ]


def test_it_serves_and_owns_its_node(protected: Tree, zookeeper: ZooKeeperProcess, tmp_path: Path):
    image = served(protected)
    logins = login(tmp_path, "# mux1", "", *lines(READERS, OWN["mux1"]))
    mux = MuxProcess(zookeeper.address, tmp_path, login=logins)
    mux.start()
    other = KazooClient(hosts=zookeeper.address, auth_data=[("digest", line) for line in lines(READERS, OWN["mux2"])])
    try:
        mux.until_serving(image)
        until(lambda: (protected.mux() or {}).get("services"), 60, "the mux to tell what it serves")
        other.start(timeout=20)
        assert json.loads(other.get(live("mux1"))[0])["id"] == "mux1"
        for attack in attacks(other):
            with pytest.raises(NoAuthError):
                attack()
        zookeeper.stop()  # and logs in again by itself
        zookeeper.start()
        until(lambda: mux.metric("zookeeper_connected") == 1, 60, mux.log())
        until(protected.answers, 60, "this test's own session")
        until(protected.mux, 60, mux.log())
        peers = mux.logged(event="peers")
        other.create(live("mux2"), b'{"address": "10.1.0.12"}', ephemeral=True, acl=acl(read=True))
        until(lambda: mux.logged(event="peers", muxes=2) == 1, 60, mux.log())
        assert mux.logged(event="peers") == peers + 1, "nothing that was refused is a peer, which gets fragments"
    finally:
        other.stop()
        other.close()
        mux.stop()


@pytest.mark.parametrize(
    ("path", "logins", "said"),
    [
        ("muxes/mux1", [], {"event": "not_allowed"}),
        ("muxes/mux1", [READERS, OWN["mux2"]], {"event": "not_allowed"}),
        ("muxes/mux1", [READERS, (OWN["mux1"][0], "not-its-secret")], {"event": "not_allowed"}),
        ("cluster", [("readers", "not-the-readers-secret"), OWN["mux1"]], {"event": "zookeeper_denied"}),
        ("services", [OWN["mux1"], OWN["mux1"]], {"event": "zookeeper_denied"}),
    ],
)
def test_without_the_right_login_it_serves_nothing_until_it_may(
    protected: Tree, zookeeper: ZooKeeperProcess, tmp_path: Path, path: str, logins: list, said: dict[str, str]
):
    """And logs why, once for all of its requests meanwhile."""
    image = served(protected)
    if path == "cluster":
        protected.client.create("/fairlead/cluster", b"1" * 32)
    mux = MuxProcess(zookeeper.address, tmp_path, login=login(tmp_path, *lines(*logins)) if logins else None)
    mux.start()
    try:
        until(lambda: mux.metric("zookeeper_connected") == 1, 60, mux.log())
        until(lambda: mux.logged(path=f"/fairlead/{path}", **said) == 1, 60, mux.log())
        assert mux.get("/healthz")[0] != 200
        assert mux.ring() == {}
        if said["event"] == "not_allowed":
            assert protected.mux() is None and "--zookeeper-auth lacks its login" in mux.log()
        else:
            assert 'why="--zookeeper-auth is wrong"' in mux.log()
        nodes = ["", "/muxes", "/muxes/mux1", *(["/cluster"] if path == "cluster" else []), "/services"]
        for node in (*nodes, *tree_below(protected)):
            protected.client.set_acls(f"/fairlead{node}", OPEN_ACL_UNSAFE)
        mux.until_serving(image)
        assert mux.logged(**said) == 1
        if READERS in logins:  # whom it lets read its node
            until(protected.mux, 60, mux.log())
    finally:
        mux.stop()


@pytest.mark.parametrize(
    ("written", "mode", "why"),
    [
        (lines(READERS, OWN["mux1"]), 0o640, "has mode 0640; allowed: 0600"),
        ([], 0o600, "lines USER:PASSWORD"),
        (lines(READERS), 0o600, "2..4 lines USER:PASSWORD, the readers' first, then its own"),
        (["readers", "mux-mux1:the-own-secret"], 0o600, "lines USER:PASSWORD"),
        (["readers:short", "mux-mux1:the-own-secret"], 0o600, "lines USER:PASSWORD"),
        (["rea/ders:the-readers-secret", "mux-mux1:the-own-secret"], 0o600, "lines USER:PASSWORD"),
        (["readers:the readers secret", "mux-mux1:the-own-secret"], 0o600, "lines USER:PASSWORD"),
        (["readers:" + "x" * 400, "mux-mux1:the-own-secret"], 0o600, "lines USER:PASSWORD"),
        (["r" * 71 + ":the-readers-secret", "mux-mux1:the-own-secret"], 0o600, "lines USER:PASSWORD"),
        (["# " + "x" * 327 + "readers:the-readers-secret"], 0o600, "lines USER:PASSWORD"),
        (["readers:the-readers-secret\0 and more", "mux-mux1:the-own-secret"], 0o600, "lines USER:PASSWORD"),
        (["readers:the-readers-secret", "#" * 16384], 0o600, "at most 16 KB"),
        ([f"readers:the-readers-secret{n}" for n in range(5)], 0o600, "lines USER:PASSWORD"),
    ],
)
def test_a_file_of_something_else_is_refused(written: list[str], mode: int, why: str, tmp_path: Path):
    mux = MuxProcess("127.0.0.1:1", tmp_path, login=login(tmp_path, *written, mode=mode))
    with pytest.raises(AssertionError):
        mux.start()
    mux.process.wait(60)
    mux.process.stdout.close()
    assert why in mux.log() and "-secret" not in mux.log()
