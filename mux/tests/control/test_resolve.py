# SPDX-License-Identifier: Apache-2.0
"""A silent name server delays the connection to ZooKeeper, and nothing else of the mux."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import until
from mux_process import MuxProcess
from test_follow import served
from tree import Tree
from zookeeper_process import SESSION_SECONDS, ZooKeeperProcess

NAME = "zk.test"
ABANDON_SECONDS = 3 * SESSION_SECONDS + 1.1  # STORE_ABANDON_SESSIONS and the jitter of reopening
RESOLVER = "nameserver 127.0.0.1\noptions timeout:10 attempts:2\n"  # 20 s until the resolver gives up


class NameServer:
    """A name server with one name, over UDP on port 53 of this network namespace."""

    def __init__(self) -> None:
        self.is_mute, self.unanswered = False, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                query, client = self.socket.recvfrom(512)
            except OSError:
                return
            if self.is_mute:
                self.unanswered += 1
                continue
            end = query.index(b"\0", 12) + 5
            is_a = query[end - 4 : end - 2] == b"\0\1"
            record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton("127.0.0.1")
            head = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0"
            self.socket.sendto(head + query[12:end] + (record if is_a else b""), client)


@pytest.fixture
def names() -> Iterator[NameServer]:
    server = NameServer()
    yield server
    server.socket.close()


def test_metrics_answer_while_names_do_not(
    names: NameServer, tree: Tree, zookeeper: ZooKeeperProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "resolv.conf").write_text(RESOLVER)
    (tmp_path / "nsswitch.conf").write_text("hosts: dns\n")
    wrapper = tmp_path / "mux"
    binds = " && ".join(f"mount --bind {tmp_path}/{name} /etc/{name}" for name in ("resolv.conf", "nsswitch.conf"))
    wrapper.write_text(
        f'#!/bin/sh\nexec unshare --mount sh -c \'{binds} && exec "$@"\' sh {os.environ["FAIRLEAD_CONTROL_MUX"]} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("FAIRLEAD_CONTROL_MUX", str(wrapper))
    mux = MuxProcess(f"{NAME}:{zookeeper.port}", tmp_path)
    mux.start()
    try:
        service = served(tree, mux)
        names.is_mute = True
        zookeeper.stop()
        until(lambda: mux.metric("zookeeper_connected") == 0, 60, mux.log())
        slowest, last = 0.0, time.monotonic() + 60
        end = time.monotonic() + ABANDON_SECONDS + 3
        while time.monotonic() < (end if names.unanswered else last):  # get() gives up before the resolver does
            began = time.monotonic()
            assert mux.generation() == service.image["generation"]
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.05)
        print(f"slowest answer: {slowest:.3f} s, {names.unanswered} questions unanswered")
        assert names.unanswered > 0, "no name was looked up: the test shows nothing"
        names.is_mute = False
        zookeeper.start()
        until(lambda: mux.metric("zookeeper_connected") == 1, 60, mux.log())
    finally:
        zookeeper.start()
        mux.stop()
