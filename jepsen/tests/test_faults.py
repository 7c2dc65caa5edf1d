# SPDX-License-Identifier: Apache-2.0
"""Each fault of fault-ctl takes effect, affects no other node, and heals."""

import contextlib
import json
import socket
import time
from collections.abc import Iterable

import pytest

from jepsen.faults.lab_cluster import LabCluster
from jepsen.tests.conftest import Commands, curl
from lab import topology
from lab.deadline import LabError, until
from lab.mux import HTTP_PORT

SENT = 400
SENT_A_WAY = 20
HEALING_SECONDS = 60


def sockets(cluster: LabCluster, source: str, target: str) -> tuple[socket.socket, socket.socket]:
    """A connected socket that sends on one machine, and one that listens on the other."""
    receiver = cluster.node(target)
    with cluster.namespace(receiver).inside():
        listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        listening.bind((receiver.address, 0))
    with cluster.namespace(cluster.node(source)).inside():
        sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sending.connect(listening.getsockname())
    return sending, listening


def datagrams(cluster: LabCluster, source: str, target: str, count: int) -> int:
    """How many of `count` datagrams from one machine to another arrive, each at most a second after the one before."""
    sending, listening = sockets(cluster, source, target)
    with sending, listening:
        listening.settimeout(1)
        for _ in range(count):
            with contextlib.suppress(OSError):  # as in check_ways
                sending.send(b"fairlead")
        arrived = 0
        with contextlib.suppress(TimeoutError):
            while arrived < count:
                listening.recv(100)
                arrived += 1
        return arrived


def check_ways(cluster: LabCluster, passing: Iterable[str], cut: Iterable[str] = ()) -> None:
    """Ways are like "mux1 mux2". 20 datagrams arrive on each way that is open; none on a way that is cut, even half a
    second after all the others have arrived."""
    ways = {way: sockets(cluster, *way.split()) for way in (*cut, *passing)}
    for sending, _ in ways.values():
        for _ in range(SENT_A_WAY):
            with contextlib.suppress(OSError):  # the sender gets an error for what its own host drops or can't resolve
                sending.send(b"fairlead")

    def arrived(way: str) -> int:
        with contextlib.suppress(BlockingIOError):
            while ways[way][1].recv(100, socket.MSG_DONTWAIT):
                counts[way] += 1
        return counts[way]

    counts = dict.fromkeys(ways, 0)
    for way in passing:
        until(f"all datagrams pass from {way}", lambda w=way: arrived(w) == SENT_A_WAY, HEALING_SECONDS)
    if cut:
        time.sleep(0.5)
    assert {way: arrived(way) for way in cut} == dict.fromkeys(cut, 0)
    for sending, listening in ways.values():
        sending.close()
        listening.close()


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
    ways = [("controller", "controller2"), ("mux1", "mux2"), ("mux1", "router")]
    both = [f"{a} {b}" for a, b in ways] + [f"{b} {a}" for a, b in ways]
    check_ways(cluster, ["controller mux1", "mux2 router", "server1 mux2"], both)
    commands("fault-ctl", "heal", "halves")
    check_ways(cluster, both)


def test_one_way(commands: Commands, cluster: LabCluster) -> None:
    commands("fault-ctl", "partition", "one-way", "mux1", "mux1,mux2,controller")
    check_ways(cluster, ["mux2 mux1", "mux1 server1"], ["mux1 mux2", "mux1 controller"])
    commands("fault-ctl", "heal", "one-way", "mux1")
    check_ways(cluster, ["mux1 mux2", "mux1 controller"])


def test_agents(commands: Commands, cluster: LabCluster) -> None:
    """One that is cut off from the controllers, and one that is dead: neither is heard any more; both return."""
    controllers, state = "controller,controller2,controller3", {"server1": "reporting", "server2": "reporting"}

    def known() -> dict[str, str]:
        listed = curl(cluster, f"{commands.nodes()['controller']['rest']}/v1/agents")
        by_address = {each["address"]: each["state"] for each in listed}
        return {name: by_address[cluster.node(name).address] for name in state}

    until("both report", lambda: known() == state, HEALING_SECONDS)
    commands("fault-ctl", "partition", "one-way", "server1", controllers)
    commands("node-ctl", "kill", "server2/agent")
    check_ways(cluster, ["server1 mux1", "server2 controller"], ["server1 controller"])
    until("neither is heard", lambda: set(known().values()) == {"silent"}, HEALING_SECONDS)
    assert reaches(cluster, "client1", topology.VIP, topology.VIP_PORT)
    commands("fault-ctl", "heal", "one-way", "server1")
    commands("node-ctl", "start", "server2/agent")
    until("both report again", lambda: known() == state, HEALING_SECONDS)


def test_from_zookeeper(commands: Commands, cluster: LabCluster) -> None:
    """Also from the one on the same machine, and from nothing else there."""
    assert zookeeper_known(cluster, "mux1")
    for node in ("mux1", "controller"):
        commands("fault-ctl", "partition", "from-zookeeper", node)
    for number in (1, 2, 3):
        address = topology.controller_address(number)
        assert not reaches(cluster, "controller", address, topology.ZOOKEEPER_PORT)
        assert reaches(cluster, "runner", address, topology.ZOOKEEPER_PORT)
    until("the mux to lose ZooKeeper", lambda: not zookeeper_known(cluster, "mux1"), HEALING_SECONDS)
    assert zookeeper_known(cluster, "mux2")
    commands("fault-ctl", "heal", "from-zookeeper")
    until("the mux to reach ZooKeeper", lambda: zookeeper_known(cluster, "mux1"), HEALING_SECONDS)


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
    check_ways(cluster, [f"server2 {peer}"])
    commands("fault-ctl", "heal", "loss")
    check_ways(cluster, [f"{peer} {node}", f"{node} {peer}"])


def test_slow(commands: Commands, cluster: LabCluster) -> None:
    """100 ms each way: a connection takes two of them. No packet is lost."""

    def seconds() -> float:
        begun = time.monotonic()
        assert reaches(cluster, "runner", cluster.node("mux1").address, HTTP_PORT, 5)
        return time.monotonic() - begun

    commands("fault-ctl", "slow", "mux1", 100)
    assert min(seconds() for _ in range(3)) >= 0.2
    check_ways(cluster, ["mux2 mux1", "mux1 server1"])
    commands("fault-ctl", "partition", "one-way", "mux1", "mux2")  # whichever port its packets arrive by
    check_ways(cluster, ["mux2 mux1", "mux1 server1"], ["mux1 mux2"])
    commands("fault-ctl", "slow", "mux1", 20)
    commands("fault-ctl", "heal", "slow")
    until("it is as fast as before", lambda: seconds() < 0.1, HEALING_SECONDS)


def test_reattach(commands: Commands, cluster: LabCluster) -> None:
    """The server side forgets the generation that it knew, and its counters; another one keeps them."""

    def syns(server: str) -> int:
        show = ("build/lab/server/fairlead-server", "show", "--interface", "eth0", "-o", "json")
        return json.loads(cluster.run(cluster.node(server), *show))["counters"]["deliver_syn"]

    def answered() -> bool:
        assert reaches(cluster, "client1", topology.VIP, topology.VIP_PORT, 10)
        return bool(syns("server1") and syns("server2"))

    until("both servers have answered", answered, 30)
    commands("node-ctl", "reattach", "server1")
    assert syns("server1") == 0 < syns("server2")


def weigh(cluster: LabCluster, weight: int) -> bool:
    """Whether a change of a weight is committed."""
    body = json.dumps({"weight": weight})
    url = f"http://{topology.CONTROLLER}:{topology.REST_PORT}/v1/services/web/backends/1?force=true"
    try:
        curl(cluster, url, "-XPATCH", "-HContent-Type: application/json", "-d", body)
    except LabError:
        return False
    return True


def test_disk(commands: Commands, cluster: LabCluster) -> None:
    node = cluster.node("controller3")
    commands("fault-ctl", "disk", "controller3", "full")

    def left() -> bool:
        weigh(cluster, 50 + int(time.monotonic()) % 50)
        return cluster.zookeeper_mode(node) is None

    until("the member without room for its log to leave the ensemble", left, 120)
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
    print(f"{moved} of 64 flows arrive at another mux")
    assert moved >= 8  # of 32 expected
    commands("fault-ctl", "heal", "reshuffle")
    assert hops() == before
