# SPDX-License-Identifier: Apache-2.0
"""Each fault of fault-ctl bites, hits nobody else, and heals."""

import contextlib
import json
import socket
import time

import pytest

from jepsen.faults.lab_cluster import LabCluster
from jepsen.tests.conftest import Commands
from lab import topology
from lab.deadline import until
from lab.mux import HTTP_PORT

SENT = 400
HEALING_SECONDS = 60


def datagrams(cluster: LabCluster, source: str, target: str, count: int = 20) -> int:
    """How many of so many datagrams from one machine to another arrive."""
    sender, receiver = cluster.node(source), cluster.node(target)
    with cluster.namespace(receiver).inside():
        listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        listening.bind((receiver.address, 0))
    with cluster.namespace(sender).inside():
        sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with listening, sending:
        listening.settimeout(1)
        for _ in range(count):
            with contextlib.suppress(PermissionError):  # what its own host drops is told to the sender
                sending.sendto(b"fairlead", listening.getsockname())
        arrived = 0
        try:
            while arrived < count:
                listening.recv(100)
                arrived += 1
        except TimeoutError:
            pass
        return arrived


def reaches(cluster: LabCluster, source: str, host: str, port: int, seconds: float = 1) -> bool:
    try:
        cluster.namespace(cluster.node(source)).connect(host, port, seconds).close()
        return True
    except OSError:
        return False


def zookeeper_known(cluster: LabCluster, mux: str) -> bool:
    return bool(cluster.health(cluster.node(mux), "mux").get("zookeeper"))


def test_halves(commands: Commands, cluster: LabCluster) -> None:
    commands("fault-ctl", "partition", "halves", "controller,mux1", "controller2,mux2,router")
    assert datagrams(cluster, "controller", "mux1") == 20 and datagrams(cluster, "mux2", "router") == 20
    for a, b in (("controller", "controller2"), ("mux1", "mux2"), ("mux1", "router"), ("router", "mux1")):
        assert datagrams(cluster, a, b) == datagrams(cluster, b, a) == 0
    assert datagrams(cluster, "server1", "mux2") == 20
    commands("fault-ctl", "heal", "halves")
    assert datagrams(cluster, "mux1", "mux2") == 20 and datagrams(cluster, "mux1", "router") == 20


def test_one_way(commands: Commands, cluster: LabCluster) -> None:
    commands("fault-ctl", "partition", "one-way", "mux1", "mux1,mux2,controller")
    assert datagrams(cluster, "mux1", "mux2") == datagrams(cluster, "mux1", "controller") == 0
    assert datagrams(cluster, "mux2", "mux1") == datagrams(cluster, "mux1", "server1") == 20
    commands("fault-ctl", "heal", "one-way", "mux1")
    assert datagrams(cluster, "mux1", "mux2") == 20


def test_from_zookeeper(commands: Commands, cluster: LabCluster) -> None:
    """Also from the one on the same machine, and nothing else that is there."""
    assert zookeeper_known(cluster, "mux1")
    for node in ("mux1", "controller"):
        commands("fault-ctl", "partition", "from-zookeeper", node)
    for number in (1, 2, 3):
        address = topology.controller_address(number)
        assert not reaches(cluster, "controller", address, topology.ZOOKEEPER_PORT)
        assert reaches(cluster, "runner", address, topology.ZOOKEEPER_PORT)
    until("the mux misses ZooKeeper", lambda: not zookeeper_known(cluster, "mux1"), HEALING_SECONDS)
    assert zookeeper_known(cluster, "mux2")
    commands("fault-ctl", "heal", "from-zookeeper")
    until("the mux has ZooKeeper", lambda: zookeeper_known(cluster, "mux1"), HEALING_SECONDS)


def test_from_router(commands: Commands, cluster: LabCluster) -> None:
    mux = cluster.node("mux1")
    commands("fault-ctl", "partition", "from-router", "mux1")
    assert not reaches(cluster, "router", mux.address, HTTP_PORT) and reaches(cluster, "runner", mux.address, HTTP_PORT)
    until("BGP gives the mux up", lambda: not cluster.announced(mux), HEALING_SECONDS)
    commands("fault-ctl", "heal", "from-router", "mux1")
    until("the mux is announced", lambda: cluster.announced(mux), HEALING_SECONDS)


@pytest.mark.parametrize("node", ["mux1", "client1"])
def test_loss(commands: Commands, cluster: LabCluster, node: str) -> None:
    """400 draws of 30 %: outside of 60..180 once in 10^9 runs."""
    peer = "mux2" if node == "mux1" else "server1"
    commands("fault-ctl", "loss", node, 30)
    assert 60 < SENT - datagrams(cluster, peer, node, SENT) < 180
    assert 60 < SENT - datagrams(cluster, node, peer, SENT) < 180
    assert datagrams(cluster, "server2", peer) == 20
    commands("fault-ctl", "heal", "loss")
    assert datagrams(cluster, peer, node) == 20


def test_slow(commands: Commands, cluster: LabCluster) -> None:
    """100 ms each way: a connection takes two of them. Nothing is lost by it."""

    def seconds() -> float:
        begun = time.monotonic()
        assert reaches(cluster, "runner", cluster.node("mux1").address, HTTP_PORT, 5)
        return time.monotonic() - begun

    commands("fault-ctl", "slow", "mux1", 100)
    assert min(seconds() for _ in range(3)) >= 0.2
    assert datagrams(cluster, "mux2", "mux1", 100) == datagrams(cluster, "mux1", "server1", 100) == 100
    commands("fault-ctl", "partition", "one-way", "mux1", "mux2")  # by whichever port its packets come now
    assert datagrams(cluster, "mux1", "mux2") == 0
    commands("fault-ctl", "slow", "mux1", 20)
    commands("fault-ctl", "heal", "slow")
    until("it is as fast as before", lambda: seconds() < 0.1, HEALING_SECONDS)


def test_clock(commands: Commands, cluster: LabCluster) -> None:
    def error(server: str) -> int:
        show = ("build/lab/server-bpf/fairlead-server", "show", "--interface", "eth0", "-o", "json")
        return json.loads(cluster.run(cluster.node(server), *show))["clockErrorSeconds"]

    for seconds in (30, -45):
        commands("fault-ctl", "clock", "server1", seconds)
        assert (error("server1"), error("server2")) == (seconds, 0)
    commands("fault-ctl", "heal", "clock", "server1")
    assert error("server1") == 0


def weigh(cluster: LabCluster, weight: int) -> bool:
    """Whether a change of a weight is committed."""
    body = json.dumps({"weight": weight})
    curl = ["curl", "-s", "-f", "-m", "20", "-X", "PATCH", "-H", "Content-Type: application/json", "-d", body]
    url = f"http://{topology.CONTROLLER}:{topology.REST_PORT}/v1/services/web/backends/1"
    return cluster.run(cluster.node("runner"), "sh", "-c", '"$@" || echo refused', "sh", *curl, url) != "refused\n"


def test_disk(commands: Commands, cluster: LabCluster) -> None:
    node = cluster.node("controller3")
    commands("fault-ctl", "disk", "controller3", "full")

    def left() -> bool:
        weigh(cluster, 50 + int(time.monotonic()) % 50)
        return cluster.zookeeper_mode(node) is None

    until("the member without room for its log is no member any more", left, 120)
    until("the others commit", lambda: weigh(cluster, 33), HEALING_SECONDS)
    commands("fault-ctl", "heal", "disk")
    until("it is a member", lambda: cluster.zookeeper_mode(node) == "follower", HEALING_SECONDS)


def test_corrupt(commands: Commands, cluster: LabCluster) -> None:
    node = cluster.node("controller3")
    for weight in range(10):
        until("a change", lambda w=weight: weigh(cluster, 60 + w), HEALING_SECONDS)
    commands("fault-ctl", "corrupt", "controller3")
    until("it refuses its log", lambda: cluster.state(node, "zookeeper") == "dead", HEALING_SECONDS)
    assert "Unable to load database on disk" in cluster.process(node, "zookeeper").tail(60)
    commands("fault-ctl", "heal", "corrupt", "controller3")
    assert cluster.zookeeper_mode(node) == "follower"


def test_reshuffle(commands: Commands, cluster: LabCluster) -> None:
    def hops() -> list[str]:
        flow = f"{topology.VIP} from 10.2.1.2 iif client1 ipproto tcp dport 80 sport"
        asked = "\n".join(f"route get {flow} {port}" for port in range(20000, 20064))
        said = cluster.run(cluster.node("router"), "ip", "-batch", "-", stdin=asked + "\n")
        return [line.split(" via ")[1].split()[0] for line in said.splitlines() if " via " in line]

    before = hops()
    assert len(before) == 64 and len(set(before)) == 2
    commands("fault-ctl", "reshuffle", "router")
    moved = sum(a != b for a, b in zip(before, hops(), strict=True))
    print(f"{moved} of 64 flows come by another mux")
    assert moved >= 8  # of 32 expected
    commands("fault-ctl", "heal", "reshuffle")
    assert hops() == before
