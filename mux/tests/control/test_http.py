# SPDX-License-Identifier: Apache-2.0
"""The mux's HTTP interface: explain against the oracle, refusals, hostile clients."""

import contextlib
import json
import random
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import until
from mux_process import MuxProcess
from oracle.flow import bucket as bucket_of
from oracle.flow import flow_hash
from test_follow import served
from tree import Tree, backend, run
from zookeeper_process import ROOT, ZooKeeperProcess


def test_explain_agrees_with_the_oracle(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    service.commit([], [run(0, 64, 2)], committed=int(time.time()))  # its former owners count, whatever the time is
    mux.until_serving(service.image)
    draw = random.Random(3)
    for _ in range(200):
        source, port = f"10.2.{draw.randrange(256)}.{draw.randrange(256)}", draw.randrange(65536)
        flow = {"source": source, "destination": "10.99.0.1", "sourcePort": port, "destinationPort": 80, "protocol": 6}
        value = flow_hash(flow | {"affinity": "connection", "hash": "siphash", "hashKey": service.config["hashKey"]})
        bucket = bucket_of(value, 256)
        current, history = service.image["rows"][bucket]
        owners = [{"id": id_, "address": f"10.1.0.{20 + id_}", "since": since} for id_, since in history]
        owner = {"id": current, "address": f"10.1.0.{20 + current}"}
        expected = {
            "service": "web",
            "steering": "ring",
            "hash": value,
            "bucket": bucket,
            "current": owner,
            "former": owners,
            "candidates": [owner | {"reason": "owner"}, *(one | {"reason": "former"} for one in owners)],
            "late": False,
            "generation": 3,
        }
        assert mux.explain(source=source, sourcePort=port) == (200, expected)


def test_explain_names_all_candidates(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    for owner in (3, 2):
        image = service.commit([backend(owner)], [run(0, 256, owner)], committed=int(time.time()))
    mux.until_serving(image)
    said = mux.explain()[1]
    assert [one["id"] for one in said["candidates"]][:2] == [2, 3]
    assert [one["reason"] for one in said["candidates"]][:2] == ["owner", "former"]
    assert said["candidates"][1] == said["former"][0] | {"reason": "former"}


def test_explain_knows_ports_that_name_backends(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    assert mux.explain(destinationPort=20002)[0] == 400
    service.configure(mptcpPorts={"first": 20000, "last": 20999})
    until(lambda: mux.explain(destinationPort=20002)[0] == 200, 60, "the ports of ids")
    answer = mux.explain(destinationPort=20002)[1]
    assert answer["current"] == {"id": 2, "address": "10.1.0.22"}
    assert "bucket" not in answer and answer["former"] == []
    assert [one["id"] for one in answer["candidates"]] == [2]
    assert "current" not in mux.explain(destinationPort=20999)[1]
    assert mux.explain(destinationPort=21000)[0] == 400
    assert mux.explain(destinationPort=20002, protocol="udp")[0] == 400


def test_explain_refuses(tree: Tree, mux: MuxProcess):
    served(tree, mux)
    rows = [
        (404, "service", {"service": "unknown"}),
        (400, "protocol", {"protocol": "icmp"}),
        (400, "source", {"source": "10.2.1"}),
        (400, "source", {"source": "2001:db8::2"}),
        (400, "sourcePort", {"sourcePort": "65536"}),
        (400, "sourcePort", {"sourcePort": ""}),
        (400, "destination", {"destination": "web"}),
        (400, "destination", {"destination": "10.99.0.2"}),
        (400, "destinationPort", {"destinationPort": "81"}),
        (400, "destinationPort", {"destinationPort": "-1"}),
    ]
    for status, field, query in rows:
        got, problem = mux.explain(**query)
        assert (got, problem["field"], problem["status"]) == (status, field, status), query
        assert problem["value"] == query[field] and problem["allowed"]


def test_http_refuses(mux: MuxProcess):
    assert mux.get("/")[0] == 404
    assert mux.get("/ring")[0] == 400
    assert mux.get("/ring", service="unknown")[0] == 404
    allowed = "/metrics, /healthz, /ring, /rings, /explain, /sample, /notices, /peers"
    assert json.loads(mux.get("/nowhere")[1])["allowed"] == allowed


def test_http_refuses_what_is_no_text(mux: MuxProcess):
    status, body = mux.get("/ring?service=%ff%fe")
    assert status == 404 and json.loads(body)["value"] == "(not UTF-8)"
    assert mux.get("/%ff")[0] == 404


def test_http_refuses_other_methods_and_bodies_before_they_come(mux: MuxProcess):
    host, port = mux.http.split(":")
    for head, status in ((b"", b"405"), (b"Content-Length: 1000000000\r\n", b"400"), (b"Expect: x\r\n", b"400")):
        with socket.create_connection((host, int(port)), timeout=60) as client:
            client.sendall(b"POST /metrics HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n")
            answer = b"".join(iter(lambda: client.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 " + status) and (b"Allow: GET" in answer) == (status == b"405")


def test_http_under_hostile_clients(tree: Tree, mux: MuxProcess):
    """More slow connections than allowed: the mux keeps following rings, and answers again afterwards."""
    service = served(tree, mux)
    host, port = mux.http.split(":")
    with contextlib.ExitStack() as undo:
        for _ in range(80):
            client = undo.enter_context(socket.create_connection((host, int(port)), timeout=60))
            client.sendall(b"GET /metrics HTTP/1.1\r\nX-Slow: ")
        image = service.commit([], [run(0, 9, 2)])
        until(lambda: tree.mux()["services"]["web"]["generation"] == 3, 60, "the mux's node")
    mux.until_serving(image)


def test_metrics_are_named_and_typed(tree: Tree, mux: MuxProcess):
    served(tree, mux)
    text = mux.get("/metrics")[1]
    names = {line.split("{")[0].split()[0] for line in text.splitlines() if not line.startswith("#")}
    typed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    helped = {line.split()[2] for line in text.splitlines() if line.startswith("# HELP")}
    assert names <= typed == helped
    promised = "packets_total drops_total bytes_total service_packets_total generation zookeeper_connected"
    assert {f"fairlead_mux_{name}" for name in [*promised.split(), "moved_packets_total"]} <= names


@pytest.fixture
def keeping(zookeeper: ZooKeeperProcess, tree: Tree, tmp_path: Path) -> Iterator[MuxProcess]:
    """A mux with a folder for its state, which some metrics need."""
    process = MuxProcess(zookeeper.address, tmp_path, state=tmp_path / "state")
    process.start()
    yield process
    process.stop()


def test_metrics_of_the_alerts_are_there(tree: Tree, keeping: MuxProcess):
    """docs/alerts.yaml names only metrics that a mux has; the controller's own tests check the controller's."""
    served(tree, keeping)
    names = set(re.findall(r"\bfairlead_mux_[a-z_]+", (ROOT / "docs" / "alerts.yaml").read_text()))
    assert len(names) >= 3
    # there are none without a port, and no drops without packets; mux/tests/whole has them
    names -= {"fairlead_mux_next_hops", "fairlead_mux_service_drops_total"}

    def are_shown() -> bool:
        shown = keeping.get("/metrics")[1]
        return all(re.search(rf"^{name}[{{ ]", shown, re.M) for name in names)

    # a clock is compared within a second of the session's begin, and once more after 30 s if the answer took too long
    until(are_shown, 60, f"all of {sorted(names)}")
