# SPDX-License-Identifier: Apache-2.0
"""Routes of announced VIPs in this network namespace, which meson.build creates for the test run."""

import json
import socket
import subprocess

import pytest
from deadline import stays, until
from mux_process import MuxProcess
from test_follow import BOTH, served
from tree import Service, Tree, backend, run
from zookeeper_process import ZooKeeperProcess


def routes() -> dict[str, str]:
    """Routes of protocol 199: destination to device."""
    text = subprocess.run(["ip", "-j", "route", "show", "proto", "199"], capture_output=True, check=True).stdout
    return {route["dst"]: route["dev"] for route in json.loads(text or "[]")}


def owners(vip: str) -> list[str]:
    """Devices of all routes to a VIP."""
    text = subprocess.run(["ip", "-j", "route", "show", vip, "proto", "199"], capture_output=True, check=True).stdout
    return [route["dev"] for route in json.loads(text or "[]")]


def devices() -> set[str]:
    text = subprocess.run(["ip", "-j", "link", "show"], capture_output=True, check=True).stdout
    return {link["ifname"] for link in json.loads(text)} - {"lo"}


@pytest.fixture
def mux(zookeeper: ZooKeeperProcess, tree: Tree, tmp_path):
    assert devices() <= {
        "tunl0",
        "gre0",
        "gretap0",
        "erspan0",
        "ip_vti0",
        "ip6_vti0",
        "sit0",
        "ip6tnl0",
        "ip6gre0",
    }, "the tests of announcements need a network namespace of their own"
    process = MuxProcess(zookeeper.address, tmp_path, announce="tun")
    process.start()
    yield process
    process.stop()
    until(lambda: not routes(), 60, "all routes to be withdrawn")


def test_announced_while_some_backend_owns_a_bucket(tree: Tree, mux: MuxProcess):
    service = Service(tree, vips=["10.99.0.1", "10.99.0.2"]).create()
    mux.until_serving(service.image)
    assert routes() == {}, "no bucket has an owner yet"
    mux.until_serving(service.commit(BOTH, [run(5, 1, 1)]))
    until(lambda: routes() == {"10.99.0.1": "fl1", "10.99.0.2": "fl1"}, 60, "the routes")
    mux.until_serving(service.commit([], [run(5, 1, 0)]))
    until(lambda: routes() == {}, 60, "the routes to go with the last owner")
    mux.until_serving(service.commit([], [run(0, 256, 2)]))
    until(lambda: len(routes()) == 2, 60, "the routes to be back")
    assert mux.logged(event="announced") == 2 and mux.logged(event="withdrawn") == 1


def test_vips_change(tree: Tree, mux: MuxProcess):
    service = served(tree, mux, vips=["10.99.0.1", "10.99.0.2"])
    until(lambda: len(routes()) == 2, 60, "the routes")
    service.configure(vips=["10.99.0.2", "10.99.0.3"])
    until(lambda: routes() == {"10.99.0.2": "fl1", "10.99.0.3": "fl1"}, 60, "the routes to follow")


def test_withdrawn_with_its_service(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    other = served(tree, mux, id_=2, name="api", vips=["10.99.0.9"])
    until(lambda: routes() == {"10.99.0.1": "fl1", "10.99.0.9": "fl2"}, 60, "the routes")
    service.delete()
    until(lambda: routes() == {"10.99.0.9": "fl2"}, 60, "one route to go")
    assert mux.serves(other.image, "api")


def test_shared_vip_stays_with_either_service(tree: Tree, mux: MuxProcess):
    web = served(tree, mux, vips=["10.99.0.1"])
    api = served(tree, mux, id_=2, name="api", vips=["10.99.0.1"], ports=[{"protocol": "tcp", "port": 8081}])
    until(lambda: sorted(owners("10.99.0.1")) == ["fl1", "fl2"], 60, "a route for each service")
    web.delete()
    until(lambda: owners("10.99.0.1") == ["fl2"], 60, "one route to go")
    api.delete()
    until(lambda: routes() == {}, 60, "the last route to go")


def test_stays_without_zookeeper(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess):
    served(tree, mux)
    until(lambda: routes() == {"10.99.0.1": "fl1"}, 60, "the route")
    zookeeper.stop()
    until(lambda: mux.metric("zookeeper_connected") == 0, 60, "the loss to be seen")
    stays(lambda: routes() == {"10.99.0.1": "fl1"}, 1, "the route")
    zookeeper.start()


def test_killed(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path):
    mux = MuxProcess(zookeeper.address, tmp_path, announce="tun")
    mux.start()
    served(tree, mux)
    until(lambda: routes() == {"10.99.0.1": "fl1"}, 60, "the route")
    mux.kill()
    until(lambda: not routes() and "fl1" not in devices(), 60, "the kernel to take back device and route")


def test_device_is_deleted_under_it(tree: Tree, mux: MuxProcess):
    served(tree, mux)
    until(lambda: routes() == {"10.99.0.1": "fl1"}, 60, "the route")
    subprocess.run(["ip", "link", "delete", "fl1"], check=True)
    until(lambda: routes() == {"10.99.0.1": "fl1"}, 60, "the route to be back")


def test_packets_that_reach_the_device_are_counted(tree: Tree, mux: MuxProcess):
    served(tree, mux)
    until(lambda: routes() == {"10.99.0.1": "fl1"}, 60, "the route")
    before = mux.metric("announce_drained_total")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("10.1.0.11", 0))
        for _ in range(300):
            s.sendto(b"x", ("10.99.0.1", 9))
    until(lambda: mux.metric("announce_drained_total") >= before + 300, 60, "300 packets more")


def test_device_is_taken(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess, tmp_path):
    """A second mux in a namespace can't announce: it logs this once, serves, and takes over when the first has gone."""
    second = MuxProcess(zookeeper.address, tmp_path, mux_id="mux2", announce="tun")
    service = served(tree, mux)
    second.start()
    second.until_serving(service.image)
    until(lambda: second.logged(event="announce_failed") == 1, 60, "the failure")
    image = service.commit([backend(3)], [run(0, 9, 3)])
    second.until_serving(image)
    mux.kill()
    until(lambda: second.logged(event="announced") == 1, 60, "the second to announce")
    assert second.logged(event="announce_failed") == 1 and routes() == {"10.99.0.1": "fl1"}
    second.stop()
