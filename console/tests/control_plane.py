# SPDX-License-Identifier: Apache-2.0
"""A controller with ZooKeeper inside and one large service, without muxes and servers: what makes a page slow."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.controller import Controller
from lab.instance import Instance
from lab.router import Router
from lab.runner import Runner

SERVICE = "large"
BACKENDS = 65_535
BUCKETS = 8_388_608
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
        controller = Controller(instance, router, 1, zookeepers=0)
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


def address(number: int) -> str:
    return f"10.{200 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
