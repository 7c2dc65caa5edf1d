# SPDX-License-Identifier: Apache-2.0
"""A mux that cannot follow withdraws its VIPs, but only while another mux is ahead of it, and says why."""

from deadline import stays, until
from tree import Service, Tree, run
from whole_mux import WholeMux


def peer(tree: Tree, generation: int, **more: str) -> None:
    """Another mux, represented by its node."""
    node = {"format": 1, "id": "mux2", "version": "0.1.0", "address": "10.1.0.12", "ports": ["eth0"]}
    node["services"] = {"web": {"generation": generation, "state": "serving"} | more}
    tree.join("mux2", node)


def stuck(service: Service, new_mux, *limits: str) -> WholeMux:
    """A mux that announces its VIP and then refuses a generation."""
    mux = new_mux(*limits)
    mux.start()
    mux.settle(service)
    until(lambda: mux.routes() == {"10.99.0.1": "fl1"}, 60, "the VIP to be announced")
    service.commit([], [run(0, 9, 1)], damage=lambda data: data[:-1] + bytes([data[-1] ^ 1]))
    until(lambda: mux.metric("service_state", service="web", state="stale") == 1, 60, mux.log())
    return mux


def withdrawn(mux: WholeMux) -> bool:
    return mux.metric("withdrawn", service="web", reason="behind") == 1 and mux.routes() == {}


def test_it_withdraws_while_another_is_ahead_and_returns(tree: Tree, service: Service, new_mux):
    mux = stuck(service, new_mux, "--behind-seconds", "1")
    assert mux.metric("lag_generations", service="web") == 1
    until(lambda: mux.metric("lag_seconds", service="web") > 1.5, 60, "the lag to grow")
    stays(lambda: mux.routes() == {"10.99.0.1": "fl1"}, 2, "the announcement of the only mux")

    peer(tree, service.image["generation"])
    until(lambda: withdrawn(mux), 60, mux.log())
    until(lambda: tree.mux()["services"]["web"].get("withdrawn") == "behind", 60, "its node to say so")
    assert mux.metric("announced", service="web") == 0
    generation = service.image["generation"]
    assert mux.logged(event="withdrawn_behind", generation=generation - 1, latest=generation, ahead="mux2") == 1

    peer(tree, service.image["generation"], withdrawn="stopping")  # the other mux stops
    until(lambda: mux.routes() == {"10.99.0.1": "fl1"}, 60, mux.log())
    assert mux.logged(event="returned", why="no_mux_is_ahead") == 1
    until(lambda: "withdrawn" not in tree.mux()["services"]["web"], 60, "its node to say so")

    peer(tree, service.image["generation"])
    until(lambda: withdrawn(mux), 60, mux.log())
    service.commit([], [run(9, 9, 1)], with_snapshot=True)  # a snapshot bypasses the damage
    until(lambda: mux.metric("generation", service="web") == service.image["generation"], 60, mux.log())
    until(lambda: mux.routes() == {"10.99.0.1": "fl1"}, 60, mux.log())
    assert mux.logged(event="returned", why="caught_up") == 1
    assert mux.metric("lag_generations", service="web") == mux.metric("lag_seconds", service="web") == 0


def test_by_generations(tree: Tree, service: Service, new_mux):
    peer(tree, 1000)
    mux = stuck(service, new_mux, "--behind-seconds", "0", "--behind-generations", "2")
    service.commit([], [run(9, 9, 1)])
    until(lambda: mux.metric("lag_generations", service="web") == 2, 60, mux.log())
    stays(lambda: mux.routes() == {"10.99.0.1": "fl1"}, 2, "the announcement within the limit")
    service.commit([], [run(18, 9, 1)])
    until(lambda: withdrawn(mux), 60, mux.log())


def test_muxes_that_are_as_far_stay(tree: Tree, service: Service, new_mux):
    """A generation that every mux refuses withdraws no VIP."""
    peer(tree, service.image["generation"])
    mux = stuck(service, new_mux, "--behind-seconds", "1")
    until(lambda: mux.metric("lag_seconds", service="web") > 3, 60, "the lag to grow")
    assert mux.routes() == {"10.99.0.1": "fl1"}
    assert mux.logged(event="withdrawn_behind") == 0


def test_a_stopping_mux_says_so(tree: Tree, service: Service, new_mux):
    mux = new_mux("--withdraw-wait", "30")
    mux.start()
    mux.settle(service)
    mux.signal(15)
    until(lambda: tree.mux()["services"]["web"].get("withdrawn") == "stopping", 60, "its node to say so")
    assert mux.metric("withdrawn", service="web", reason="stopping") == 1
