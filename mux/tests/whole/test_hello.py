# SPDX-License-Identifier: Apache-2.0
"""Muxes tell each other what they serve: one that has lost ZooKeeper learns from the others that it is behind."""

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cutting_proxy import CuttingProxy
from deadline import stays, until
from oracle.hello import ANNOUNCES, read, write
from switch import HERE, IMITATED, IMITATED6, Switch
from tree import Service, Tree, backend, run
from whole_mux import WholeMux
from zookeeper_process import ZooKeeperProcess

CLUSTER = "00112233445566778899aabbccddeeff"
KEY = bytes(range(0x10, 0x20))
PORT = 6081
BEHIND_S = 3
LATER_S = 12  # after the limit: a hello a second, a decision a second, and a loaded machine
VIP = {"10.99.0.1": "fl1"}


class Imitated:
    """A mux that is nothing but its hellos, and its node if it is given one."""

    def __init__(self, address: str, key: bytes | None = None):
        self.address, self.key, self.boot, self.counter = address, key, 1_700_000_000_000, 0
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.bind((address, PORT))
        self.socket.settimeout(60)

    def hello(self, generation: int, **other: object) -> bytes:
        self.counter += 1
        services = [{"id": 1, "flags": ANNOUNCES, "generation": generation, "settled": 0}]
        one = {"sender": self.address, "cluster": CLUSTER, "boot": self.boot, "counter": self.counter}
        return write(one | {"services": services} | other, self.key)

    def send(self, to: str, data: bytes) -> None:
        self.socket.sendto(data, (to, PORT))

    def receive(self) -> bytes:
        return self.socket.recv(2000)

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def web(tree: Tree) -> Service:
    """`web` in a cluster with a name."""
    tree.client.create("/fairlead/cluster", CLUSTER.encode())
    service = Service(tree)
    service.create()
    service.commit([backend(1)], [run(0, service.image["buckets"], 1)])
    return service


@pytest.fixture
def undo() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as undo:
        yield undo


@pytest.fixture
def switch(undo: contextlib.ExitStack) -> Switch:
    return Switch(undo)


@pytest.fixture
def new_mux(zookeeper: ZooKeeperProcess, switch: Switch, undo: contextlib.ExitStack, tmp_path: Path) -> Iterator:
    """Starts mux1, mux2, ... on machines of their own, each with a proxy to ZooKeeper."""

    def make(number: int, *arguments: str, is_only6: bool = False) -> WholeMux:
        machine = switch.machine(number, is_only6)
        proxy = CuttingProxy(zookeeper.port, HERE)
        undo.callback(proxy.close)
        waits = ("--behind-seconds", str(BEHIND_S), "--withdraw-wait", "0")
        mux = WholeMux(
            machine,
            proxy.address,
            tmp_path / f"mux{number}.log",
            *waits,
            *arguments,
            name=f"mux{number}",
            http=f"{machine.address}:9108",
        )
        mux.proxy = proxy
        undo.callback(mux.end)
        mux.start()
        return mux

    yield make


def cut(mux: WholeMux) -> None:
    mux.proxy.is_closed = True
    mux.proxy.cut_now()
    until(lambda: mux.metric("zookeeper_connected") == 0, 60, mux.log)


def heal(mux: WholeMux) -> None:
    mux.proxy.is_closed = False


def serves(mux: WholeMux, service: Service) -> bool:
    return mux.metric("generation", service="web") == service.image["generation"]


def withdrawn(mux: WholeMux) -> bool:
    return mux.metric("withdrawn", service="web", reason="behind") == 1 and mux.routes() == {}


def heard(mux: WholeMux) -> float:
    return mux.metric("hello_peers", state="heard")


def settle(muxes: list[WholeMux], service: Service) -> None:
    """All serve the newest generation, announce it, and hear each other."""
    for mux in muxes:
        until(lambda mux=mux: serves(mux, service) and mux.routes() == VIP, 60, mux.log)
        until(lambda mux=mux: heard(mux) == len(muxes) - 1, 60, mux.get("/peers"))
        until(lambda mux=mux: mux.metric("hello_muxes", service="web") == len(muxes), 60, mux.get("/peers"))


def logs(muxes: list[WholeMux]) -> str:
    return "\n".join(mux.log() for mux in muxes)


def move(service: Service) -> None:
    service.commit([], [run(service.image["generation"] % 9, 1, 1)])


def test_a_mux_without_zookeeper_withdraws_and_returns(tree: Tree, web: Service, new_mux):
    muxes = [new_mux(number) for number in (1, 2, 3)]
    settle(muxes, web)
    others, late = muxes[:2], muxes[2]

    cut(late)
    stays(lambda: late.routes() == VIP, BEHIND_S + 2, "the announcement while nothing has changed")
    begin = time.monotonic()
    move(web)
    until(lambda: withdrawn(late), 60, late.log)
    assert BEHIND_S < time.monotonic() - begin < BEHIND_S + LATER_S
    generation = web.image["generation"]
    assert late.logged(event="withdrawn_behind", generation=generation - 1, latest=generation, muxes_ahead=2) == 1
    answer = json.loads(late.get("/peers"))
    assert sorted(answer["services"]["web"]["ahead"]) == ["mux1", "mux2"]
    assert answer["services"]["web"]["withdrawn"] == "behind"
    assert late.metric("hello_muxes_ahead", service="web") == 2
    assert late.metric("lag_generations", service="web") == 1

    # Its node goes with its session; it stays a peer of the others, and goes on hearing them.
    until(lambda: tree.mux("mux3") is None, 60, "the end of the session")
    for _ in range(3):
        move(web)
        until(lambda: all(serves(mux, web) for mux in others), 60, "the others to follow")
    stays(lambda: withdrawn(late) and all(mux.routes() == VIP for mux in others), 7, "what is announced")
    until(lambda: late.metric("lag_generations", service="web") == 4, 60, late.get("/peers"))
    assert all(heard(mux) == 2 for mux in muxes)
    assert [mux.metric("hello_peers", state="gone") for mux in others] == [0, 0]

    heal(late)
    until(lambda: serves(late, web) and late.routes() == VIP, 60, late.log)
    assert late.logged(event="returned", why="caught_up") == 1
    assert all(mux.logged(event="withdrawn_behind") == 0 for mux in others)


def test_one_that_is_ahead_of_all_is_not_left_alone(tree: Tree, web: Service, new_mux):
    ahead, second, third = muxes = [new_mux(number) for number in (1, 2, 3)]
    settle(muxes, web)
    cut(second)
    cut(third)
    move(web)
    until(lambda: second.metric("lag_seconds", service="web") > 2 * BEHIND_S, 60, lambda: logs(muxes))
    stays(lambda: all(mux.routes() == VIP for mux in muxes), 2, "all announcements")

    heal(second)  # two of three are ahead now
    until(lambda: withdrawn(third), 60, third.log)
    assert second.routes() == ahead.routes() == VIP

    for mux in (ahead, second):  # now it hears neither ZooKeeper nor another mux
        mux.signal(9)
        mux.wait(60)
    until(lambda: third.routes() == VIP, 60, third.log)
    assert third.logged(event="returned", why="no_mux_is_ahead") == 1
    assert third.metric("hello_peers", state="heard") == 0


def test_a_mux_that_starts_again_without_zookeeper(tree: Tree, web: Service, new_mux, tmp_path: Path):
    """It serves from its disk, which has the other muxes' addresses and the cluster's name as well."""
    state = tmp_path / "state"
    state.mkdir()
    first, late = new_mux(1), new_mux(2, "--state-dir", str(state))
    settle([first, late], web)
    generation = web.image["generation"]
    until(lambda: late.metric("state_unsaved") == 0, 60, late.log)
    announced = late.logged(event="announced")
    assert announced > 0
    cut(late)
    late.signal(9)
    late.wait(60)
    move(web)
    until(lambda: tree.mux("mux2") is None and serves(first, web), 60, first.log)
    late.start()
    until(lambda: late.metric("generation", service="web") == generation, 60, late.log)
    until(lambda: heard(late) == heard(first) == 1, 60, late.get("/peers"))
    until(lambda: withdrawn(late), 60, late.get("/peers"))
    assert first.routes() == VIP
    assert late.metric("restored", service="web") == 1
    assert late.logged(event="announced") == announced, "its ring may be older than the window"

    # The other one tells it what is settled, so it announces nothing when that one has ended, nor when it starts again.
    settled = {"format": 1, "services": {"1": web.image["generation"]}}
    tree.client.create("/fairlead/settled", json.dumps(settled).encode())
    until(lambda: late.metric("withdrawn", service="web", reason="settled") == 1, 60, late.get("/peers"))
    first.signal(9)
    first.wait(60)
    until(lambda: heard(late) == 0, 60, late.get("/peers"))
    kept = (1).to_bytes(4, "little") + web.image["generation"].to_bytes(4, "little")
    until(lambda: kept in (state / "cluster").read_bytes(), 60, late.log)
    stays(lambda: late.routes() == {}, 3, "no announcement by the only mux")
    late.signal(9)
    late.wait(60)
    late.start()
    until(lambda: late.metric("restored", service="web") == 1, 60, late.log)
    stays(lambda: late.routes() == {}, 3, "no announcement after a start without ZooKeeper and other muxes")
    assert late.metric("withdrawn", service="web", reason="settled") == 1
    assert late.logged(event="announced") == announced

    heal(late)
    until(lambda: serves(late, web) and late.routes() == VIP, 60, late.log)


def test_what_is_refused(tree: Tree, web: Service, new_mux, undo: contextlib.ExitStack, tmp_path: Path):
    key = tmp_path / "key"
    key.write_text(KEY.hex())
    key.chmod(0o600)
    first, second = (Imitated(address, KEY) for address in IMITATED)
    for one in (first, second):
        undo.callback(one.close)
    node = {"format": 1, "id": "imitated", "version": "0.1.0", "address": first.address, "ports": [], "services": {}}
    tree.join("imitated", node)
    mux = new_mux(1, "--tag-key", str(key))
    until(lambda: serves(mux, web), 60, mux.log)
    to = mux.rack.address

    said = read(first.receive())
    assert said["cluster"] == CLUSTER
    assert said["sender"] == to
    until(lambda: read(data := first.receive())["services"] and data, 60, "a hello with the service")
    data = first.receive()
    said = read(data)
    assert said["services"] == [{"id": 1, "flags": ANNOUNCES, "generation": web.image["generation"], "settled": 0}]
    assert data == write(said, KEY)
    assert read(first.receive())["counter"] == said["counter"] + 1

    good = first.hello(web.image["generation"])
    cases = {
        "replayed": [good, good],
        "tag_wrong": [first.hello(9)[:-1] + b"\0", write(read(first.hello(9)), bytes(16))],
        "tag_missing": [write(read(first.hello(9)), None)],
        "cluster": [first.hello(9, cluster="ff" * 16)],
        "sender": [second.hello(9)],
        "truncated": [first.hello(9)[:40], b""],
        "length": [first.hello(9)[:-4], bytes(first.hello(9)) + bytes(1300)],
        "version_unknown": [b"FLH1" + first.hello(9)[4:]],
    }
    first.send(to, good)
    until(lambda: heard(mux) == 1, 60, mux.get("/peers"))
    for reason, packets in cases.items():
        expected = mux.metric("hello_refused_total", reason=reason) + len(packets)
        for packet in packets:
            first.send(to, packet)
        until(lambda r=reason, n=expected: mux.metric("hello_refused_total", reason=r) == n, 60, reason)
    assert sum(mux.samples("hello_refused_total")) == sum(len(packets) for packets in cases.values())
    assert mux.metric("hello_muxes_ahead", service="web") == 0  # nothing of the 9 was believed

    # A right tag is a mux of the cluster, with a node or without; two that are ahead withdraw one without ZooKeeper.
    cut(mux)
    far = web.image["generation"] + 1

    def told() -> bool:
        for one in (first, second):
            one.send(to, one.hello(far))
        return withdrawn(mux)

    until(told, 60, mux.log)
    assert mux.logged(event="withdrawn_behind", muxes_ahead=2) == 1


def test_without_a_key_only_known_addresses_are_heard(tree: Tree, web: Service, new_mux, undo: contextlib.ExitStack):
    """Over IPv6, by a mux without an IPv4 address."""
    peer = Imitated(IMITATED6)
    undo.callback(peer.close)
    mux = new_mux(1, is_only6=True)
    until(lambda: serves(mux, web), 60, mux.log)
    peer.send(mux.rack.address6, peer.hello(9))
    until(lambda: mux.metric("hello_refused_total", reason="peer_unknown") == 1, 60, mux.get("/peers"))
    assert heard(mux) == 0

    node = {"format": 1, "id": "imitated", "version": "0.1.0", "address6": peer.address, "ports": [], "services": {}}
    tree.join("imitated", node)
    assert read(peer.receive())["sender"] == mux.rack.address6
    peer.send(mux.rack.address6, peer.hello(9))
    until(lambda: heard(mux) == 1, 60, mux.get("/peers"))
    (one,) = json.loads(mux.get("/peers"))["peers"]
    assert (one["mux"], one["address"], one["registered"]) == ("imitated", IMITATED6, True)
    assert one["services"] == {"web": {"generation": 9, "announces": True}}


def test_off(web: Service, new_mux, tree: Tree):
    mux = new_mux(1, "--hello", "off")
    until(lambda: serves(mux, web), 60, mux.log)
    assert tree.mux()["behindSeconds"] == 0  # for all that controllers know it goes on without ZooKeeper
    assert json.loads(mux.get("/peers")) == {"mux": "mux1", "hello": False}
    assert mux.samples("hello_sent_total") == []
    assert str(PORT) not in mux.inside("ss", "-Huln", text=True).stdout


def test_a_port_that_is_taken_stops_the_start(web: Service, new_mux, undo: contextlib.ExitStack):
    mux = new_mux(1)
    assert mux.stop() == 0
    bind = (
        f"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', {PORT})); print(); input()"
    )
    command = ["ip", "netns", "exec", mux.rack.namespace, sys.executable, "-c", bind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        other.stdout.readline()
        second = mux.inside(*mux.command, text=True)
        other.communicate("\n")
    assert second.returncode == 1
    assert f"--hello: '{PORT}' can't be bound at {mux.rack.address}: Address already in use" in second.stderr
