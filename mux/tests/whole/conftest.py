# SPDX-License-Identifier: Apache-2.0
"""A ZooKeeper server for all tests; for each an empty tree, a fresh rack, and a mux that serves one service there."""

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "control"), str(TESTS / "ports")]

import rack as racks  # noqa: E402
from tree import Service, Tree, backend, run  # noqa: E402
from whole_mux import WholeMux  # noqa: E402
from zookeeper_process import ZooKeeperProcess  # noqa: E402

spec = importlib.util.spec_from_file_location("control_conftest", TESTS / "control" / "conftest.py")
control = importlib.util.module_from_spec(spec)
spec.loader.exec_module(control)
pytest_configure = control.pytest_configure


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper"), listen="0.0.0.0")
    process.start()
    yield process
    process.stop()


@pytest.fixture
def tree(zookeeper: ZooKeeperProcess) -> Iterator[Tree]:
    zookeeper.start()
    tree = Tree(zookeeper.address)
    tree.clear()
    yield tree
    tree.close()


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
    """Makes muxes on the rack's port that are not started yet, and ends them."""
    made: list[WholeMux] = []

    def make(*arguments: str, **named: str) -> WholeMux:
        made.append(WholeMux(rack, f"10.1.0.1:{zookeeper.port}", tmp_path / f"mux{len(made)}.log", *arguments, **named))
        return made[-1]

    yield make
    for mux in made:
        mux.end()


@pytest.fixture
def mux(service: Service, new_mux) -> WholeMux:
    """One that serves the service and knows the way to its backends."""
    mux = new_mux()
    mux.start()
    mux.settle(service)
    return mux
