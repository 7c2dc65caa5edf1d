# SPDX-License-Identifier: Apache-2.0
"""A fresh rack for each test, and a mux that serves one service in it."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "ports"))

import rack as racks  # noqa: E402
from tree import Service, Tree, backend, run  # noqa: E402
from whole_mux import WholeMux  # noqa: E402
from zookeeper_process import ZooKeeperProcess  # noqa: E402


@pytest.fixture
def rack() -> Iterator[racks.Rack]:
    with contextlib.ExitStack() as undo:
        rack = racks.Rack(undo)
        rack.inside("ip", "address", "add", f"{racks.MUX}/24", "dev", racks.INSIDE)
        rack.inside("ip", "address", "add", f"{racks.MUX6}/64", "dev", racks.INSIDE, "nodad")
        yield rack


@pytest.fixture
def service(tree: Tree) -> Service:
    """`web` at 10.99.0.1:80, its buckets shared by the rack's backends 1, 2 and 3."""
    service = Service(tree)
    third = service.image["buckets"] // 3
    service.create()
    service.commit(
        [backend(n + 1, address) for n, address in enumerate(racks.BACKENDS)],
        [run(0, third, 1), run(third, third, 2), run(2 * third, service.image["buckets"] - 2 * third, 3)],
    )
    return service


@pytest.fixture
def new_mux(zookeeper: ZooKeeperProcess, rack: racks.Rack, tmp_path: Path) -> Iterator:
    """Creates muxes on the rack's port without starting them, and stops them at the end."""
    made: list[WholeMux] = []

    def make(*arguments: str, **named: str) -> WholeMux:
        made.append(WholeMux(rack, f"10.1.0.1:{zookeeper.port}", tmp_path / f"mux{len(made)}.log", *arguments, **named))
        return made[-1]

    yield make
    for mux in made:
        mux.end()


@pytest.fixture
def mux(service: Service, new_mux) -> WholeMux:
    """A mux that serves the service and knows the neighbours of its backends."""
    mux = new_mux()
    mux.start()
    mux.settle(service)
    return mux
