# SPDX-License-Identifier: Apache-2.0
"""
A mux with a ZooKeeper that requires a login: it reads what it may, owns its own node, and no other mux can change it.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import until
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import ACL, OPEN_ACL_UNSAFE, make_digest_acl
from mux_process import MuxProcess
from tree import Service, Tree, backend, run
from zookeeper_process import ZooKeeperProcess

CONTROLLERS = ("controllers", "controllers-secret")
MUXES = ("muxes", "the-muxes-secret")


def acl(**muxes: bool) -> list[ACL]:
    return [make_digest_acl(*CONTROLLERS, all=True), make_digest_acl(*MUXES, **muxes)]


def login(folder: Path, *lines: str, mode: int = 0o600) -> Path:
    path = folder / "login"
    path.write_text("".join(f"{line}\n" for line in lines))
    path.chmod(mode)
    return path


@pytest.fixture
def protected(zookeeper: ZooKeeperProcess, tree: Tree) -> Iterator[Tree]:
    """A tree protected as a controller does it."""
    tree.client.add_auth("digest", ":".join(CONTROLLERS))
    tree.client.add_auth("digest", ":".join(MUXES))
    tree.client.default_acl = acl(read=True)
    tree.client.set_acls("/fairlead", acl(read=True))
    tree.client.set_acls("/fairlead/services", acl(read=True))
    tree.client.set_acls("/fairlead/muxes", acl(read=True, create=True))
    yield tree
    tree.client.delete("/fairlead", recursive=True)  # the next test's client could not


def tree_below(tree: Tree, path: str = "/services") -> Iterator[str]:
    for child in tree.client.get_children(f"/fairlead{path}"):
        yield f"{path}/{child}"
        yield from tree_below(tree, f"{path}/{child}")


def served(tree: Tree) -> dict:
    service = Service(tree).create()
    return service.commit([backend(1)], [run(0, service.image["buckets"], 1)])


def test_it_serves_and_owns_its_node(protected: Tree, zookeeper: ZooKeeperProcess, tmp_path: Path):
    image = served(protected)
    mux = MuxProcess(zookeeper.address, tmp_path, login=login(tmp_path, "# the muxes", "", ":".join(MUXES)))
    mux.start()
    other = KazooClient(hosts=zookeeper.address, auth_data=[("digest", ":".join(MUXES))])
    try:
        mux.until_serving(image)
        until(lambda: (protected.mux() or {}).get("services"), 60, "the mux to tell what it serves")
        other.start(timeout=20)
        assert json.loads(other.get("/fairlead/muxes/mux1")[0])["id"] == "mux1"
        for change in (
            lambda: other.set("/fairlead/muxes/mux1", b"{}"),
            lambda: other.delete("/fairlead/muxes/mux1"),
            lambda: other.set("/fairlead/services/web/config", b"{}"),
            lambda: other.create("/fairlead/services/mine", b""),
            lambda: other.set_acls("/fairlead/muxes/mux1", acl(all=True)),
        ):
            with pytest.raises(NoAuthError):
                change()
        zookeeper.stop()  # and logs in again by itself
        zookeeper.start()
        until(lambda: mux.metric("zookeeper_connected") == 1, 60, mux.log())
        until(protected.answers, 60, "this test's own session")
        until(protected.mux, 60, "the mux to register again")
    finally:
        other.stop()
        other.close()
        mux.stop()


@pytest.mark.parametrize(
    ("path", "user", "why"),
    [
        ("services", None, "missing"),
        ("services", f"{MUXES[0]}:not-the-muxes-secret", "wrong"),
        ("cluster", "somebody:the-muxes-secret", "wrong"),
    ],
)
def test_without_the_right_login_it_serves_nothing_until_it_may(
    protected: Tree, zookeeper: ZooKeeperProcess, tmp_path: Path, path: str, user: str | None, why: str
):
    """And logs why, once for all of its requests meanwhile."""
    image = served(protected)
    if path == "cluster":
        protected.client.create("/fairlead/cluster", b"1" * 32)
    mux = MuxProcess(zookeeper.address, tmp_path, login=login(tmp_path, user) if user else None)
    mux.start()
    try:
        until(lambda: mux.metric("zookeeper_connected") == 1, 60, mux.log())
        until(lambda: mux.logged(event="zookeeper_denied") == 1, 60, mux.log())
        assert f'path=/fairlead/{path} services=0 why="--zookeeper-auth is {why}"' in mux.log()
        assert mux.get("/healthz")[0] != 200
        assert mux.ring() == {} and protected.mux() is None
        for node in ("", *(["/cluster"] if path == "cluster" else []), "/services", *tree_below(protected)):
            protected.client.set_acls(f"/fairlead{node}", OPEN_ACL_UNSAFE)
        mux.until_serving(image)
        assert mux.logged(event="zookeeper_denied") == mux.logged(event="zookeeper_allowed") == 1
    finally:
        mux.stop()


@pytest.mark.parametrize(
    ("lines", "mode", "why"),
    [
        ([":".join(MUXES)], 0o640, "has mode 0640; allowed: 0600"),
        ([], 0o600, "lines USER:PASSWORD"),
        (["muxes"], 0o600, "lines USER:PASSWORD"),
        (["muxes:short"], 0o600, "lines USER:PASSWORD"),
        (["mu/xes:the-muxes-secret"], 0o600, "lines USER:PASSWORD"),
        (["muxes:the muxes secret"], 0o600, "lines USER:PASSWORD"),
        (["muxes:" + "x" * 400], 0o600, "lines USER:PASSWORD"),
        (["# " + "x" * 321 + "muxes:the-muxes-secret"], 0o600, "lines USER:PASSWORD"),
        (["muxes:the-muxes-secret\0 and more"], 0o600, "lines USER:PASSWORD"),
        (["muxes:the-muxes-secret", "#" * 16384], 0o600, "at most 16 KB"),
        ([f"muxes:the-muxes-secret{n}" for n in range(5)], 0o600, "lines USER:PASSWORD"),
    ],
)
def test_a_file_of_something_else_is_refused(lines: list[str], mode: int, why: str, tmp_path: Path):
    mux = MuxProcess("127.0.0.1:1", tmp_path, login=login(tmp_path, *lines, mode=mode))
    with pytest.raises(AssertionError):
        mux.start()
    mux.process.wait(60)
    mux.process.stdout.close()
    assert why in mux.log() and "the-muxes" not in mux.log()
