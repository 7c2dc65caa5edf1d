# SPDX-License-Identifier: Apache-2.0
"""Steering `maat` against a real ZooKeeper: the servers' loads are read, watched, refused, too old."""

import json

import pytest
from deadline import until
from mux_process import MuxProcess
from test_follow import served
from tree import Service, Tree

MAAT = {"load": "agents", "deltaThousandths": 10, "halfLifeMillis": 1000, "filterBytes": 65536, "filterHashes": 3}
TOO_OLD = 10  # seconds
WEIGHT = 100  # of tree.backend()


def put(service: Service, text: str) -> None:
    path = f"{service.path}/loads"
    if service.client.exists(path):
        service.client.set(path, text.encode())
    else:
        service.client.create(path, text.encode())


def loads(**of: float) -> str:
    return json.dumps({"format": 1, "loads": {name.removeprefix("b"): load for name, load in of.items()}})


def known(mux: MuxProcess) -> dict[int, float]:
    """Load over weight, by backend."""
    found = {backend: mux.metric("backend_load", service="web", backend=str(backend)) for backend in (1, 2)}
    return {backend: load for backend, load in found.items() if load is not None}


def test_follows_the_node(tree: Tree, mux: MuxProcess):
    service = served(tree, mux, steering="maat", maat=MAAT)
    until(lambda: known(mux) == {}, 10, "none are known, once they are looked at for the first time")
    put(service, loads(b1=300, b2=100))
    until(lambda: known(mux) == {1: 300 / WEIGHT, 2: 100 / WEIGHT}, 10, f"the first\n{mux.log()}")
    put(service, loads(b2=200))
    until(lambda: known(mux) == {2: 200 / WEIGHT}, 10, f"the second\n{mux.log()}")
    until(lambda: known(mux) == {}, TOO_OLD + 5, f"too old\n{mux.log()}")
    service.configure(maat=MAAT | {"halfLifeMillis": 2000})  # reads the same loads once more
    until(lambda: mux.metric("filter_cells", service="web", state="free") == 65536, 10, "the change")
    assert known(mux) == {}
    put(service, loads(b1=0))
    until(lambda: known(mux) == {1: 0}, 10, f"new ones\n{mux.log()}")
    assert mux.metric("filter_cells", service="web", state="used") == 0
    assert mux.metric("filter_cells", service="web", state="free") == 65536
    assert mux.refused("loads") == 0


def test_a_change_of_settings_reads_them(tree: Tree, mux: MuxProcess):
    service = served(tree, mux, steering="maat", maat=MAAT | {"load": "packets"})
    put(service, loads(b1=700))
    until(lambda: known(mux) == {1: 0, 2: 0}, 10, "no packets yet")
    service.configure(maat=MAAT | {"filterBytes": 1024})
    until(lambda: known(mux) == {1: 700 / WEIGHT}, 10, f"the loads\n{mux.log()}")
    assert mux.metric("filter_cells", service="web", state="free") == 1024
    answer = mux.explain()[1]
    assert answer["order"] == {"noted": False}
    assert answer["second"]["bucket"] != answer["bucket"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "loads is not JSON"),
        ('{"format": 2, "loads": {}}', "format is 2; allowed: 1"),
        ('{"format": "1", "loads": {}}', "format is no integer; allowed: 1"),
        ('{"format": 1}', "loads is missing; allowed: an object"),
        ('{"format": 1, "loads": {"0": 1}}', "loads names backend '0'; allowed: 1..65535"),
        ('{"format": 1, "loads": {"65536": 1}}', "loads names backend '65536'; allowed: 1..65535"),
        ('{"format": 1, "loads": {"1x": 1}}', "loads names backend '1x'; allowed: 1..65535"),
        ('{"format": 1, "loads": {"1": "7"}}', "loads.1 is not a number; allowed: a number 0..1e12"),
        ('{"format": 1, "loads": {"1": -1}}', "loads.1 is -1; allowed: a number 0..1e12"),
    ],
)
def test_refuses_by_name_and_keeps_the_last(tree: Tree, mux: MuxProcess, text: str, why: str):
    service = served(tree, mux, steering="maat", maat=MAAT)
    put(service, loads(b1=300))
    until(lambda: 1 in known(mux), 10, "the first")
    put(service, text)
    until(lambda: mux.refused("loads") == 1, 10, f"the refusal\n{mux.log()}")
    assert why in mux.log()
    assert 1 in known(mux)
    put(service, loads(b1=100))
    until(lambda: known(mux) == {1: 100 / WEIGHT}, 10, f"good ones again\n{mux.log()}")
    assert mux.refused("loads") == 1
