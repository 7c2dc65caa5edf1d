# SPDX-License-Identifier: Apache-2.0
"""
ZooKeeper has lost its quorum, and the remaining server is in read-only mode. Neither mux nor controller connects to it:
on the other side of a partition the others may have committed more. Both continue with what they have, report it, and
follow changes once there is a quorum again.
"""

import json
import os
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from controller_process import ControllerProcess
from deadline import stays, until
from mux_process import MuxProcess
from zookeeper_process import ZooKeeperEnsemble

BACKEND = "/v1/services/web/backends/1"


@pytest.fixture
def ensemble(tmp_path: Path) -> Iterator[ZooKeeperEnsemble]:
    ensemble = ZooKeeperEnsemble(tmp_path)
    try:
        ensemble.start()
        yield ensemble
    finally:
        ensemble.stop()


def ask(controller: ControllerProcess, method: str, path: str, **body: object) -> tuple[int, dict]:
    headers = controller.authorization | ({"Content-Type": "application/json"} if body else {})
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(controller.api + path, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def create(controller: ControllerProcess) -> None:
    """A service with one backend: generation 2."""
    service = {"name": "web", "vips": ["10.99.0.1"], "ports": [{"protocol": "tcp", "port": 80}], "buckets": 256}
    service["vipRanges"] = ["10.99.0.0/16"]
    until(lambda: ask(controller, "POST", "/v1/services", **service)[0] in (201, 409), 120, controller.log())
    until(lambda: ask(controller, "PUT", BACKEND, address="10.1.0.21")[0] in (200, 201), 120, controller.log())


def is_read_only(port: int) -> bool:
    """By ZooKeeper's command `isro`: `rw` or `ro`."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"isro")
            return connection.recv(64) == b"ro"
    except OSError:
        return False


def check(address: str, login: Path) -> dict[str, str]:
    """The session check of `fairlead-mux --check`: its text by verdict."""
    command = [os.environ["FAIRLEAD_MUX"], "--check", "--output", "json", "--id", "mux9", "--zookeeper", address]
    command += ["--port", "net_null0", "--no-huge", "--announce", "none", "--zookeeper-auth", login]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
    assert done.returncode == 1, done.stderr
    return {one["verdict"]: one["text"] for one in json.loads(done.stdout)["checks"] if one["check"] == "session"}


def test_a_server_that_is_read_only_is_not_followed(ensemble: ZooKeeperEnsemble, tmp_path: Path):
    controller = ControllerProcess(ensemble.address, tmp_path)
    mux, late = (
        MuxProcess(ensemble.address, tmp_path, each, login=controller.login(each)) for each in ("mux1", "mux2")
    )
    left, gone = ensemble.servers
    try:
        controller.start()
        create(controller)
        for each in (mux, late):
            controller.add_mux(each.id)
        mux.start()
        until(lambda: mux.generation() == 2, 60, mux.log())
        ring = mux.ring()
        gone.stop()
        until(lambda: is_read_only(left.port), 60, "the server that is left to be read-only")
        until(lambda: mux.metric("zookeeper_connected") == 0, 60, mux.log())
        until(lambda: controller.health()["zookeeper"] == "lost", 60, controller.log())
        late.start()

        assert "read-only" in check(ensemble.address, controller.login("mux1"))["fail"]
        stays(lambda: mux.ring() == ring and mux.state() == "serving", 3, "the ring")
        assert mux.get("/healthz")[0] == 200 and mux.logged(event="zookeeper_lost") >= 1
        assert mux.metric("zookeeper_connected") == mux.metric("registered") == 0
        assert late.metric("zookeeper_connected") == 0 and late.get("/healthz")[0] == 503

        assert ask(controller, "GET", "/v1/services/web")[1]["generation"] == 2
        assert ask(controller, "GET", "/healthz") == (200, controller.health())
        status, problem = ask(controller, "PATCH", BACKEND, weight=7)
        assert status == 503 and problem["allowed"].startswith("to try again"), problem
        assert is_read_only(left.port), "it has found a quorum: the test shows nothing"

        gone.start()
        until(lambda: ask(controller, "PATCH", BACKEND, weight=7)[0] == 200, 120, controller.log())
        for each in (mux, late):
            until(lambda each=each: each.generation() == 3, 120, each.log())
            until(lambda each=each: each.metric("registered") == 1, 120, each.log())
        assert mux.ring()["sum"] == late.ring()["sum"]
    finally:
        controller.stop()
        for each in (mux, late):
            each.stop()
