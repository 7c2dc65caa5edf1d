# SPDX-License-Identifier: Apache-2.0
"""fairlead-p4mux in place of another process: both kinds in turn, two under one name; what it says of itself."""

import json
import os
import urllib.error
from pathlib import Path

import pytest
from deadline import until
from rack import BACKENDS6, CLIENT, INSIDE, MUX, VIP, Rack, is_tunnel
from scapy.all import IP, TCP, Ether
from tree import Service, Tree, backend, run
from whole_mux import WholeMux
from zookeeper_process import ZooKeeperProcess

PROGRAMS = {"c": os.environ["FAIRLEAD_C_MUX"], "p4": os.environ["FAIRLEAD_MUX"]}
PACKETS = 64


@pytest.fixture
def folder(tmp_path: Path) -> str:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return str(folder)


@pytest.fixture
def wide(tree: Tree) -> Service:
    """A service that the P4 mux can't serve."""
    wide = Service(tree, id_=2, name="wide", vips=["10.99.0.2"], encap="srv6").create()
    wide.commit([backend(1, BACKENDS6[0])], [run(0, 256, 1)])
    return wide


def steered(mux: WholeMux) -> float:
    """By the pipeline; 0 of a C mux."""
    return mux.metric("pipeline_packets_total")


def sends(mux: WholeMux, rack: Rack, kind: str) -> None:
    """Packets come out, by the pipeline if there is one."""
    before = steered(mux)
    rack.send(rack.to_vip(sport) for sport in range(3000, 3000 + PACKETS))
    assert len(rack.receive(is_tunnel, PACKETS)) == PACKETS
    assert steered(mux) == (before + PACKETS if kind == "p4" else 0), kind


def node_of(tree: Tree, kind: str) -> dict:
    until(lambda: (tree.mux() or {}).get("kind") == kind, 60, f"the node of a mux of kind {kind}")
    return tree.mux()


def serves_in_turn(mux: WholeMux, tree: Tree, service: Service, rack: Rack, kind: str) -> None:
    """With ZooKeeper: it follows changes, and refuses what its kind can't serve."""
    until(lambda: mux.metric("restored", service="web") == 0, 60, mux.log())
    until(tree.answers, 60, "the test's session")
    assert ("serves" in node_of(tree, kind)) == (kind == "p4")
    service.commit([], [run(0, 10, 2 if kind == "p4" else 3)])
    mux.settle(service)
    sends(mux, rack, kind)
    until(lambda: "wide" in tree.mux()["services"], 60, mux.log())
    refused, announced = ("unsupported", {"fl1"}) if kind == "p4" else (None, {"fl1", "fl2"})
    until(lambda: tree.mux()["services"]["wide"].get("refused") == refused, 60, mux.log())
    until(lambda: set(mux.routes().values()) == announced, 60, mux.log())


def test_both_kinds_take_over_from_each_other(
    tree: Tree, service: Service, wide: Service, zookeeper: ZooKeeperProcess, new_mux, rack: Rack, folder: str
):
    """Under one name, with one folder, each time without ZooKeeper: what one has kept the next one serves."""
    tree.client.create("/fairlead/cluster", b"whole")
    mux = new_mux("--state-dir", folder, "--withdraw-wait", "0", "--drain", "1")
    for turn, kind in enumerate(("c", "p4", "c")):
        mux.command[0] = PROGRAMS[kind]
        if turn:
            zookeeper.stop()
        try:
            mux.start()
            mux.settle(service)
            sends(mux, rack, kind)
            assert mux.metric("restored", service="web") == bool(turn)
            until(lambda: mux.routes().get(VIP) == "fl1", 60, mux.log())
        finally:
            zookeeper.start()
        serves_in_turn(mux, tree, service, rack, kind)
        if turn < 2:
            until(lambda: mux.metric("state_unsaved") == 0 and mux.metric("state_usable") == 1, 60, mux.log())
        assert mux.stop() == 0, mux.log()
        assert mux.logged(event="stopped") == turn + 1 and mux.routes() == {}


def test_a_second_process_waits_for_the_name_and_has_no_folder(
    tree: Tree, service: Service, new_mux, rack: Rack, folder: str
):
    """Nor does it get an interface that the first has."""
    first = new_mux("--state-dir", folder, "--withdraw-wait", "0", "--drain", "0")
    first.start()
    assert node_of(tree, "p4")["serves"] == {
        "encap": ["gue", "ipip"],
        "steering": ["ring", "hunt", "maat", "othello"],
        "buckets": 2097152,
    }
    second = new_mux("--state-dir", folder, "--announce", "none", http=f"{MUX}:9109")
    second.command[0] = PROGRAMS["c"]
    refused = second.inside(*second.command, text=True)
    assert refused.returncode == 1 and f"--port: {INSIDE} is in use by another fairlead-mux" in refused.stderr
    for words in (("link", "add", "fld0", "type", "veth", "peer", "name", "fld1"), ("link", "set", "fld0", "up")):
        rack.inside("ip", *words)
    second.command = [word.replace(INSIDE, "fld0") for word in second.command] + ["--address", "10.1.0.12"]
    second.start()
    until(lambda: second.logged(event="node_taken") == 1, 60, second.log())
    assert "belongs to another mux that runs" in second.log()
    assert tree.mux()["kind"] == "p4" and not second.logged(event="registered")
    assert first.stop() == 0
    node = node_of(tree, "c")
    assert "serves" not in node and second.logged(event="registered") == 1
    until(lambda: second.metric("generation", service="web") == service.image["generation"], 60, second.log())


def test_explain_of_what_the_pipeline_refers(service: Service, wide: Service, new_mux, rack: Rack):
    """SYNs of a service with maxSegmentSize; a service that is refused has no explanation."""
    service.configure(maxSegmentSize=1000)
    mux = new_mux("--memory", "173")  # the least that is allowed
    mux.start()
    until(lambda: mux.metric("generation", service="web") == service.image["generation"], 60, mux.log())
    ask = f"/explain?service=%s&protocol=tcp&source={CLIENT}&sourcePort=%d&destination=%s&destinationPort=80"
    ether, ip = Ether(src=rack.mac, dst=rack.mux_mac), IP(src=CLIENT, dst=VIP)

    def arrives() -> bool:
        rack.send([rack.to_vip(7999)])
        return bool(rack.receive(is_tunnel, 1, seconds=1))

    until(arrives, 60, "the backends' neighbours")
    for sport in range(8000, 8020):
        explained = json.loads(mux.get(ask % ("web", sport, VIP)))
        rack.drain()
        before = steered(mux)
        rack.send([ether / ip / TCP(sport=sport, dport=80, flags="S", options=[("MSS", 1460)])])
        syn = rack.receive(is_tunnel, 1)[0]
        assert steered(mux) == before
        rack.send([ether / ip / TCP(sport=sport, dport=80, flags="A")])
        ack = rack.receive(is_tunnel, 1)[0]
        assert steered(mux) == before + 1
        assert {frame[IP].dst for frame in (syn, ack)} == {explained["current"]["address"]}
    until(lambda: mux.logged(event="refused", service="wide", reason="unsupported"), 60, mux.log())
    with pytest.raises(urllib.error.HTTPError) as refused:
        mux.get(ask % ("wide", 8000, "10.99.0.2"))
    assert refused.value.code == 404
    assert "a service whose ring this mux has loaded" in refused.value.read().decode()


def test_the_preflight_is_of_this_mux(rack: Rack, service: Service, new_mux):
    mux = new_mux(port="af_xdp")
    done = mux.inside(*mux.command, "--check", "--output", "json", text=True)
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["ready"], done.stdout
    assert {one["check"]: one["verdict"] for one in answer["checks"]}["session"] == "ok"
    assert f"af_xdp:{INSIDE}" in done.stdout


def test_the_id_of_a_live_mux_elsewhere_is_refused(tree: Tree, service: Service, new_mux):
    tree.join("mux1", {"address": "10.1.0.12"})
    mux = new_mux()
    refused = mux.inside(*mux.command, text=True)
    assert refused.returncode == 1, refused.stderr
    assert (
        "fairlead-p4mux: --id is 'mux1', the id of a live mux with the outer source 10.1.0.12" in refused.stderr
    ), refused.stderr
    assert "event=loaded" not in refused.stderr
