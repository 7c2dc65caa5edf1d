# SPDX-License-Identifier: Apache-2.0
"""
The connection or the session breaks while a mux catches up, delta by delta, on the published ring or on a staged one.
The published ring keeps serving, no delta is applied twice or skipped, and a break does not count as a refusal.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cutting_proxy import CuttingProxy
from deadline import until
from mux_process import MuxProcess, ring_of
from tree import Service, Tree, backend, run
from zookeeper_process import ZooKeeperProcess

DELTAS = 40
# The n-th delta request of a connection breaks it: before the server gets the request, or before its answer arrives.
CUTS = [(1, False), (2, True), (9, False), (1, True), (6, True)]


@pytest.fixture
def proxy(zookeeper: ZooKeeperProcess) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(zookeeper.port)
    yield proxy
    proxy.close()


def first(tree: Tree) -> tuple[Service, list[dict]]:
    service = Service(tree).create()
    return service, [service.image, service.commit([backend(1), backend(2)], [run(0, 256, 1)])]


def more(service: Service) -> list[dict]:
    """Buckets move back and forth, so that a delta skipped or applied twice shows."""
    return [service.commit([], [run((7 * n) % 200, 20 + n, 1 if n % 2 else 2)]) for n in range(DELTAS)]


def broken_at(mux: MuxProcess, proxy: CuttingProxy, cut: tuple[int, bool], images: list[dict]) -> int:
    """The mux reconnects, and the connection breaks again. Returns the generation that it then serves."""
    done = proxy.done
    proxy.cuts, proxy.closes_then, proxy.is_closed = [cut], True, False
    until(lambda: proxy.done > done, 60, f"request {cut}\n{mux.log()}")
    until(lambda: mux.metric("zookeeper_connected") == 0, 60, mux.log())
    ring = mux.ring()
    assert not ring or ring in [ring_of(image) for image in images]
    return int(ring.get("generation", 0))


def let_go(mux: MuxProcess, proxy: CuttingProxy, image: dict) -> None:
    proxy.closes_then = proxy.is_closed = False
    mux.until_serving(image, seconds=60)
    assert is_quiet(mux), mux.log()


def is_quiet(mux: MuxProcess) -> bool:
    return not mux.logged(event="refused") and mux.state() == "serving"


@pytest.fixture
def late(tree: Tree, proxy: CuttingProxy, tmp_path: Path) -> Iterator[tuple[MuxProcess, list[dict]]]:
    """A serving mux that loses its connection and falls 40 generations behind; and all images so far."""
    service, images = first(tree)
    mux = MuxProcess(proxy.address, tmp_path)
    mux.start()
    mux.until_serving(images[-1])
    until(lambda: mux.metric("registered") == 1, 60, mux.log())
    proxy.is_closed = True
    proxy.cut_now()
    until(lambda: mux.metric("zookeeper_connected") == 0, 60, mux.log())
    yield mux, images + more(service)
    mux.stop()


def test_at_the_ring_that_serves(late: tuple[MuxProcess, list[dict]], proxy: CuttingProxy):
    mux, images = late
    generations = [broken_at(mux, proxy, cut, images) for cut in CUTS]
    assert generations == sorted(generations)
    assert images[1]["generation"] < generations[-1] < images[-1]["generation"], generations
    let_go(mux, proxy, images[-1])


def test_with_its_session(late: tuple[MuxProcess, list[dict]], proxy: CuttingProxy, tree: Tree):
    """A break that outlasts the session: the next session continues from the ring's generation."""
    mux, images = late
    generation = broken_at(mux, proxy, (12, True), images)
    assert images[1]["generation"] < generation < images[-1]["generation"]
    until(lambda: tree.mux() is None, 60, "the node to go with its session")
    assert mux.generation() == generation
    let_go(mux, proxy, images[-1])
    until(lambda: mux.metric("registered") == 1, 60, "its new node")


def test_at_an_image_aside(tree: Tree, proxy: CuttingProxy, tmp_path: Path):
    """A starting mux: what it has read so far was never the latest committed ring, so it is not served."""
    service, images = first(tree)
    images += more(service)
    proxy.is_closed = True
    mux = MuxProcess(proxy.address, tmp_path)
    mux.start()
    try:
        assert [broken_at(mux, proxy, cut, images) for cut in CUTS] == [0] * len(CUTS)
        let_go(mux, proxy, images[-1])
    finally:
        mux.stop()
