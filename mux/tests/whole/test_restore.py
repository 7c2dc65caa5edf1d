# SPDX-License-Identifier: Apache-2.0
"""A mux that is restarted while ZooKeeper is down: it announces and steers from what it has on disk."""

import json
import signal
import time
from pathlib import Path

import pytest
from deadline import until
from rack import Rack, is_tunnel
from tree import Service, Tree, run
from zookeeper_process import ZooKeeperProcess

PACKETS = 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder


@pytest.mark.parametrize("port", ["af_packet", "af_xdp"])
def test_packets_flow_after_a_restart_without_zookeeper(
    port: str, tree: Tree, service: Service, zookeeper: ZooKeeperProcess, new_mux, rack: Rack, folder: Path
):
    tree.client.create("/fairlead/cluster", b"whole")
    mux = new_mux("--state-dir", str(folder), port=port)
    mux.start()
    mux.settle(service)
    until(lambda: mux.metric("state_unsaved") == 0 and mux.metric("state_usable") == 1, 60, mux.log())
    zookeeper.stop()
    try:
        mux.signal(signal.SIGKILL)
        mux.wait(60)
        until(lambda: mux.routes() == {}, 60, "the VIP to be withdrawn")
        begun = time.monotonic()
        mux.start()
        until(lambda: mux.routes() == {"10.99.0.1": "fl1"}, 60, mux.log())
        print(f"announced {time.monotonic() - begun:.2f} s after the process began")
        mux.settle(service)
        rack.send(rack.to_vip(sport) for sport in range(3000, 3000 + PACKETS))
        assert len(rack.receive(is_tunnel, PACKETS)) == PACKETS
        assert mux.metric("restored", service="web") == 1 and mux.metric("zookeeper_connected") == 0
        assert json.loads(mux.get("/healthz"))["services"] == {"web": "serving"}
    finally:
        zookeeper.start()
    until(lambda: mux.metric("restored", service="web") == 0, 60, mux.log())
    until(tree.answers, 60, "the test's session")
    service.commit([], [run(0, 100, 2)])
    mux.settle(service)
    rack.send(rack.to_vip(sport) for sport in range(3000, 3000 + PACKETS))
    assert len(rack.receive(is_tunnel, PACKETS)) == PACKETS
    assert mux.logged(event="loaded") == 2 and not mux.logged(event="withdrawn"), mux.log()
