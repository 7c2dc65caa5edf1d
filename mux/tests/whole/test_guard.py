# SPDX-License-Identifier: Apache-2.0
"""A mux serves no VIP that would cut it off from what it needs: it refuses the service, and serves the others."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
from deadline import until
from rack import BACKENDS, MUX, MUX6
from tree import Service, Tree, backend, run
from whole_mux import WholeMux

ZOOKEEPER = "10.1.0.1"  # of the rack's side here, where the tests' ZooKeeper listens
NEIGHBOUR = "10.1.0.2"
GATEWAY = "10.1.0.3"
BGP_PORT = 179
LISTEN = f"""
import socket, time
server = socket.create_server(("{NEIGHBOUR}", {BGP_PORT}))
print("listens", flush=True)
held = server.accept()
time.sleep(1000)
"""
CONNECT = """
import socket, sys, time
held = socket.socket()
held.connect((sys.argv[1], int(sys.argv[2])))
time.sleep(1000)
"""


@contextlib.contextmanager
def process(*command: str, **named: object) -> Iterator[subprocess.Popen]:
    started = subprocess.Popen(command, **named)
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def oops(tree: Tree, vip: str, id_: int = 2) -> Service:
    """Another service, with a backend that has all of its buckets."""
    service = Service(tree, id_, name="oops", vips=[vip], ports=[{"protocol": "tcp", "port": 8088}])
    service.create()
    service.commit([backend(1, BACKENDS[0])], [run(0, 256, 1)])
    return service


def refusal(tree: Tree) -> str:
    """Why the mux refuses the service, as its node says; empty if it does not."""
    node = tree.mux()["services"].get("oops", {})
    return node.get("why", "") if node.get("refused") == "vip" else ""


def check_refused(tree: Tree, mux: WholeMux, vip: str, why: str) -> None:
    """It says so everywhere, and the other service goes on; once the service is gone, so is the refusal."""
    service = oops(tree, vip)
    until(lambda: why in refusal(tree), 60, mux.log())
    assert mux.routes() == {"10.99.0.1": "fl1"}
    assert mux.metric("announced", service="oops") in (0, None)
    assert mux.metric("refused_total", service="oops", reason="vip") >= 1
    assert mux.logged(event="refused", service="oops", reason="vip") >= 1
    assert mux.metric("zookeeper_connected") == 1
    service.delete()
    until(lambda: "oops" not in tree.mux()["services"], 60, mux.log())
    assert mux.metric("service_state", service="web", state="serving") == 1


@pytest.mark.parametrize(
    ("vip", "why"),
    [
        (ZOOKEEPER, "this mux reaches ZooKeeper there"),
        (MUX, "this mux sends from it"),
        (MUX6, "this mux sends from it"),
        (BACKENDS[1], f"{BACKENDS[1]} of service oops is that of a backend of service web"),
    ],
)
def test_a_vip_that_it_needs_is_refused(tree: Tree, mux: WholeMux, vip: str, why: str):
    check_refused(tree, mux, vip, why)


def test_another_muxs_address_is_refused(tree: Tree, mux: WholeMux):
    node = {"format": 1, "id": "mux2", "version": "0.1.0", "address": "10.1.0.12", "ports": [], "services": {}}
    tree.join("mux2", node)
    until(lambda: mux.metric("hello_peers", state="silent") == 1, 60, "the mux to know the other one")
    check_refused(tree, mux, "10.1.0.12", "10.1.0.12 of service oops is that of a mux")


def test_a_bgp_neighbour_and_gateways_are_refused(tree: Tree, service: Service, mux: WholeMux):
    subprocess.run(["ip", "address", "add", f"{NEIGHBOUR}/24", "dev", "fls0"], check=True)
    subprocess.run(["ip", "address", "add", "10.7.0.1/32", "dev", "fls0"], check=True)
    mux.rack.inside("ip", "route", "add", "10.7.0.0/24", "via", GATEWAY)
    inside = ("ip", "netns", "exec", mux.rack.namespace)
    with process(sys.executable, "-c", LISTEN, stdout=subprocess.PIPE, text=True) as listener:
        assert listener.stdout.readline() == "listens\n"
        with process(*inside, sys.executable, "-c", CONNECT, NEIGHBOUR, str(BGP_PORT)):
            until(lambda: tree.mux()["needs"].get(NEIGHBOUR) == "bgp", 60, mux.log())
    # The session has ended, and the neighbour stays one.
    check_refused(tree, mux, NEIGHBOUR, "this mux has a BGP session with it")

    service.commit([backend(4, "10.7.0.1")], [run(0, 9, 4)])
    until(lambda: tree.mux()["needs"].get(GATEWAY) == "next_hop", 60, mux.log())
    check_refused(tree, mux, GATEWAY, "this mux sends to others through it")
    assert mux.metric("needs", kind="bgp") == 1


def test_what_it_serves_already_ends_when_it_needs_it(tree: Tree, mux: WholeMux):
    """The connection to the neighbour can't be made, as the VIP's route leads to the mux; that it is tried suffices."""
    vip = "10.99.0.8"
    service = oops(tree, vip)
    until(lambda: mux.routes() == {"10.99.0.1": "fl1", vip: "fl2"}, 60, mux.log())
    with process("ip", "netns", "exec", mux.rack.namespace, sys.executable, "-c", CONNECT, vip, str(BGP_PORT)):
        until(lambda: "BGP" in refusal(tree), 60, mux.log())
        until(lambda: mux.routes() == {"10.99.0.1": "fl1"}, 60, mux.log())
    assert mux.metric("generation", service="web") == 2
    service.delete()
    until(lambda: "oops" not in tree.mux()["services"], 60, mux.log())


def test_a_change_that_adds_one_leaves_the_service_as_it_is(tree: Tree, mux: WholeMux):
    service = oops(tree, "10.99.0.8")
    until(lambda: mux.routes() == {"10.99.0.1": "fl1", "10.99.0.8": "fl2"}, 60, mux.log())
    service.configure(vips=["10.99.0.8", ZOOKEEPER])
    until(lambda: "ZooKeeper" in refusal(tree), 60, mux.log())
    assert tree.mux()["services"]["oops"]["state"] == "stale"
    assert mux.routes() == {"10.99.0.1": "fl1", "10.99.0.8": "fl2"}
    service.configure(vips=["10.99.0.8", "10.99.0.9"])
    until(lambda: mux.routes() == {"10.99.0.1": "fl1", "10.99.0.8": "fl2", "10.99.0.9": "fl2"}, 60, mux.log())
    until(lambda: tree.mux()["services"]["oops"]["state"] == "serving", 60, mux.log())
