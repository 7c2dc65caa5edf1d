# SPDX-License-Identifier: Apache-2.0
"""
Requests that two readers of HTTP may take for different ones, against the servers of a mux and of a probe, in clear
text and by TLS: each is refused with 400, once, and whatever follows is never read as another request.
"""

import contextlib
import itertools
import json
import os
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deadline import until
from free_port import free_port
from mux_process import MuxProcess
from pki import Authority
from tree import Tree
from zookeeper_process import ROOT, ZooKeeperProcess

VECTORS = json.loads((ROOT / "protocol" / "vectors" / "http-malformed.json").read_text())["refused"]


class Server:
    """Where it answers HTTP, and by which authority's TLS; None: in clear text."""

    def __init__(self, http: str, authority: Authority | None):
        self.http = http
        self.context = ssl.create_default_context(cafile=authority.certificate) if authority else None

    @contextlib.contextmanager
    def client(self) -> Iterator[socket.socket]:
        host, port = self.http.split(":")
        with socket.create_connection((host, int(port)), timeout=60) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if not self.context:
                yield client
                return
            with self.context.wrap_socket(client, server_hostname=host) as secured:
                yield secured

    def exchange(self, raw: str, half: bool) -> bytes:
        """All that comes until the server ends the connection; half: in two parts."""
        second = f"GET /nowhere HTTP/1.1\r\nHost: {self.http}\r\n\r\n"
        fields = {"path": "/metrics", "host": self.http, "auth": "", "second": second}
        fields["chunk2"] = f"{len(second):x}\r\n{second}\r\n"
        data = re.sub(r"\{(path|host|auth|second|chunk2)\}", lambda name: fields[name[1]], raw).encode("latin-1")
        received = b""
        with self.client() as client:
            with contextlib.suppress(OSError):  # it may have closed after the first part
                for part in (data[: len(data) // 2], data[len(data) // 2 :]) if half else (data,):
                    client.sendall(part)
            while part := client.recv(65536):
                received += part
        return received


@pytest.fixture(params=["clear", "tls"])
def authority(request: pytest.FixtureRequest, tmp_path: Path) -> Authority | None:
    return Authority(tmp_path) if request.param == "tls" else None


@pytest.fixture
def mux(
    zookeeper: ZooKeeperProcess,
    tree: Tree,
    tmp_path: Path,
    authority: Authority | None,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Server]:
    if authority:
        for name, path in zip(("HTTP_CERT", "HTTP_KEY"), authority.sign("mux"), strict=True):
            monkeypatch.setenv(name, str(path))
    process = MuxProcess(zookeeper.address, tmp_path)
    process.start()
    yield Server(process.http, authority)
    process.stop()


@pytest.fixture
def probe(zookeeper: ZooKeeperProcess, tree: Tree, tmp_path: Path, authority: Authority | None) -> Iterator[Server]:
    http = f"127.0.0.1:{free_port()}"
    command = [os.environ["FAIRLEAD_PROBE"], "--id", "mux1", "--zookeeper", zookeeper.address, "--http", http]
    if authority:
        certificate, key = authority.sign("probe")
        command += ["--http-cert", str(certificate), "--http-key", str(key)]
    with (tmp_path / "probe.log").open("wb") as log:
        process = subprocess.Popen([*command, "--address", "10.1.0.11"], stderr=log)

    def is_up() -> bool:
        assert process.poll() is None, (tmp_path / "probe.log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(http.split(":"), timeout=20):
            return True
        return False

    until(is_up, 60, "the probe")
    yield Server(http, authority)
    process.terminate()
    assert process.wait(60) == 0, (tmp_path / "probe.log").read_text()


def verdict(server: Server, vector: dict[str, str], half: bool) -> str | None:
    """What is wrong, if anything."""
    answer = server.exchange(vector["raw"], half)
    codes = re.findall(rb"^HTTP/1\.1 (\d+)", answer, re.MULTILINE)
    if codes == [b"400"] and b"\r\nConnection: close\r\n" in answer and b"application/problem+json" in answer:
        return None
    return f"{vector['name']}, {'in halves' if half else 'at once'}: {codes}"


def check(server: Server, prefix: str) -> None:
    rows = list(itertools.product(VECTORS, (False, True)))
    assert len(rows) >= 2 * 40
    with ThreadPoolExecutor(32) as pool:
        found = pool.map(lambda row: verdict(server, *row), rows)
    assert not [wrong for wrong in found if wrong]
    good = server.exchange("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n{second}", False)
    assert good.startswith(b"HTTP/1.1 200") and good.count(b"HTTP/1.1 ") == 1
    counted = re.search(rf'^{prefix}_http_refused_total{{reason="malformed"}} (\d+)$', good.decode(), re.MULTILINE)
    assert int(counted[1]) == len(rows)


def test_a_mux_refuses_them(mux: Server):
    check(mux, "fairlead_mux")


def test_a_probe_refuses_them(probe: Server):
    check(probe, "fairlead_probe")
