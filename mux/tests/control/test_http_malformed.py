# SPDX-License-Identifier: Apache-2.0
"""
Requests that two readers of HTTP may take for different ones, against the servers of a mux and of a probe: each is
refused, or at least answered once alone, and whatever follows is never read as another request.
"""

import contextlib
import itertools
import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deadline import until
from free_port import free_port
from mux_process import MuxProcess
from tree import Tree
from zookeeper_process import ROOT, ZooKeeperProcess

VECTORS = json.loads((ROOT / "protocol" / "vectors" / "http-malformed.json").read_text())["refused"]
# what libmicrohttpd 0.9.75 takes for a well-formed head, and shows nothing of (mux/observe/head.h): answered, once
ANSWERED = {"lf-request-line", "lf-header", "lf-end-of-head", "lf-alone", "line-two-spaces", "line-empty-first"}
ANSWERED |= {"nul-in-value", "target-nul", "no-name"}


@pytest.fixture
def probe(zookeeper: ZooKeeperProcess, tree: Tree, tmp_path: Path) -> Iterator[str]:
    """Where a probe answers HTTP."""
    http = f"127.0.0.1:{free_port()}"
    command = [os.environ["FAIRLEAD_PROBE"], "--id", "mux1", "--zookeeper", zookeeper.address, "--http", http]
    with (tmp_path / "probe.log").open("wb") as log:
        process = subprocess.Popen([*command, "--address", "10.1.0.11"], stderr=log)

    def is_up() -> bool:
        assert process.poll() is None, (tmp_path / "probe.log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(http.split(":"), timeout=20):
            return True
        return False

    until(is_up, 60, "the probe")
    yield http
    process.terminate()
    assert process.wait(60) == 0, (tmp_path / "probe.log").read_text()


def send(http: str, raw: str, half: bool) -> bytes:
    """All that comes until the connection ends; half: in two parts, the second after the first was read."""
    fields = {"path": "/metrics", "host": http, "auth": "", "second": f"GET /nowhere HTTP/1.1\r\nHost: {http}\r\n\r\n"}
    fields["chunk2"] = f"{len(fields['second']):x}\r\n{fields['second']}\r\n"
    data = re.sub(r"\{(path|host|auth|second|chunk2)\}", lambda name: fields[name[1]], raw).encode("latin-1")
    received = b""
    with socket.create_connection(http.split(":"), timeout=60) as client, contextlib.suppress(ConnectionError):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in (data[: len(data) // 2], data[len(data) // 2 :]) if half else (data,):
            client.sendall(part)
        while part := client.recv(65536):
            received += part
    return received


def verdict(http: str, vector: dict[str, str], half: bool) -> str | None:
    """What is wrong, if anything. An error of libmicrohttpd's own may come twice: that is no second request."""
    answer = send(http, vector["raw"], half)
    codes = re.findall(rb"^HTTP/1\.1 (\d+)", answer, re.MULTILINE)
    if all(code[:1] in b"45" and code not in (b"401", b"404") for code in codes):
        return None
    if len(codes) == 1 and vector["name"] in ANSWERED and b"\r\nConnection: close" in answer:
        return None
    return f"{vector['name']}, {'in halves' if half else 'at once'}: {codes}"


def check(http: str) -> None:
    """At once, since the server waits up to 10 s for the rest of some."""
    with ThreadPoolExecutor(32) as pool:
        found = pool.map(lambda row: verdict(http, *row), itertools.product(VECTORS, (False, True)))
    assert not [wrong for wrong in found if wrong]


def test_a_mux_refuses_them(mux: MuxProcess):
    assert len(VECTORS) >= 40
    check(mux.http)
    assert mux.get("/metrics")[0] == 200
    assert mux.metric("http_refused_total", reason="malformed") >= 2 * 40


def test_a_probe_refuses_them(probe: str):
    check(probe)
    good = send(probe, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n{second}", False)
    assert good.startswith(b"HTTP/1.1 200") and good.count(b"HTTP/1.1 ") == 1
    assert int(re.search(rb'^fairlead_probe_http_refused_total{reason="malformed"} (\d+)$', good, re.MULTILINE)[1]) > 80
