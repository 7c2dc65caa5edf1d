# SPDX-License-Identifier: Apache-2.0
"""A controller with ZooKeeper inside and one large service, without servers: what makes a page slow.

Of muxes there are the nodes in ZooKeeper at most (`crowd`), as muxes write them: pages read little more of them, and a
hundred processes would leave a machine with two cores no time for a browser.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.client import KazooClient

from lab import topology
from lab.controller import Controller
from lab.instance import Instance
from lab.router import Router
from lab.runner import Runner
from lab.variant import Variant
from lab.zookeeper import AUTH_DATA

SERVICE = "large"
BACKENDS = 65_535
BUCKETS = 8_388_608
SERVICES = 1_000
MUXES = 100
AT_ONCE = 8_192  # adds in one request; a body has at most 16 MiB


class ControlPlane:
    """With the service's pool; `runner` is a machine that reaches the controller."""

    def __init__(self, instance: Instance, controller: Controller, runner: Runner) -> None:
        self.instance, self.controller, self.runner = instance, controller, runner


@contextmanager
def control_plane(backends: int = BACKENDS, buckets: int = BUCKETS) -> Iterator[ControlPlane]:
    instance = Instance.create({"console": True})
    try:
        router = Router(instance)
        # As in a datacenter: with the optimising compiler, which the lab's controllers do without.
        controller = Controller(instance, router, 1, zookeepers=0, variant=Variant(environment={"JAVA_OPTS": ""}))
        runner = Runner(instance, router)
        controller.start()
        controller.wait()
        begun = time.monotonic()
        fill(controller, backends, buckets)
        print(f"{backends} backends in {buckets} buckets were made in {time.monotonic() - begun:.0f} s")
        yield ControlPlane(instance, controller, runner)
    finally:
        instance.undo()


def fill(controller: Controller, backends: int, buckets: int) -> None:
    controller.api("PUT", "/v1/cluster", {"vipRanges": ["10.99.0.0/16"]})
    spec = {"name": SERVICE, "vips": ["10.99.0.1"], "ports": [{"protocol": "tcp", "port": 80}], "buckets": buckets}
    controller.api("POST", "/v1/services", spec)
    for first in range(1, backends + 1, AT_ONCE):
        ids = range(first, min(first + AT_ONCE, backends + 1))
        adds = [{"op": "add", "id": n, "address": address(n), "weight": 1 + n % 7} for n in ids]
        controller.api("POST", f"/v1/services/{SERVICE}/changes?force=true", {"changes": adds}, timeout=300)


@contextmanager
def crowd(plane: ControlPlane, services: int = SERVICES, muxes: int = MUXES) -> Iterator[None]:
    """So many services with the large one, served by so many muxes; each second one changes, and a mux follows."""
    names = [f"small{number}" for number in range(1, services)]
    for number, name in enumerate(names, 1):
        pool = [{"id": n, "address": f"10.{220 + n}.{number >> 8}.{number & 255}"} for n in range(1, 5)]
        spec = {"vips": [f"10.99.{1 + (number >> 8)}.{number & 255}"], "buckets": 256, "pool": pool}
        plane.controller.api("PUT", f"/v1/services/{name}", {**spec, "ports": [{"protocol": "tcp", "port": 80}]})
    with plane.runner.namespace.inside():
        client = KazooClient(hosts=f"{plane.controller.address}:{topology.ZOOKEEPER_PORT}", auth_data=AUTH_DATA)
        client.start(timeout=30)
    ended = threading.Event()
    change = threading.Thread(target=keep_changing, args=(plane, client, names, muxes, ended))
    try:
        states = serving(plane)
        for number in range(1, muxes + 1):
            added = plane.controller.api("PUT", f"/v1/muxes/mux{number:03}", {})
            for login in added.get("login", ()):
                client.add_auth("digest", login)
            client.create(mux_path(number), node(number, states), ephemeral=True)
        change.start()
        yield
    finally:
        ended.set()
        if change.is_alive():
            change.join()
        client.stop()
        client.close()


def keep_changing(
    plane: ControlPlane, client: KazooClient, names: list[str], muxes: int, ended: threading.Event
) -> None:
    step = 0
    while not ended.wait(1):
        path = f"/v1/services/{names[step % len(names)]}/backends/1?force=true"
        plane.controller.api("PATCH", path, {"weight": 50 + step % 100}, timeout=300)
        number = 1 + step % muxes
        client.set(mux_path(number), node(number, serving(plane)))
        step += 1


def serving(plane: ControlPlane) -> dict:
    """Every service in its committed generation, as a mux says it that has applied all."""
    services = plane.controller.api("GET", "/v1/services")
    return {each["name"]: {"generation": each["generation"], "state": "serving"} for each in services}


def mux_path(number: int) -> str:
    return f"/fairlead/muxes/mux{number:03}/live"


def node(number: int, services: dict) -> bytes:
    """What mux `number` says of itself (protocol/README.md, section 4)."""
    address = f"10.1.2.{number}"
    about = {"format": 1, "id": f"mux{number:03}", "kind": "c", "version": "0.2.0"}
    about |= {"address": address, "ports": ["eth0"], "needs": {address: "own"}, "services": services}
    return json.dumps(about).encode()


def address(number: int) -> str:
    return f"10.{200 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
