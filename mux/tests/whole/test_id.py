# SPDX-License-Identifier: Apache-2.0
"""Two muxes with one id: the second does not start, unless the first is dead. Outer sources tell their places apart.

The muxes of test_follow.py have one place: there a process serves beside an earlier one that is about to stop.
"""

import signal

import pytest
from deadline import until
from rack import INSIDE, MUX, Rack
from tree import Service, Tree
from whole_mux import WholeMux

OTHER = "10.1.0.12"


@pytest.fixture
def elsewhere(rack: Rack, new_mux) -> WholeMux:
    """A mux with the id of new_mux()'s, on an interface of its own and with another outer source."""
    for words in (("link", "add", "fld0", "type", "veth", "peer", "name", "fld1"), ("link", "set", "fld0", "up")):
        rack.inside("ip", *words)
    mux = new_mux("--address", OTHER, "--announce", "none", http=f"{MUX}:9109")
    mux.command = [word.replace(INSIDE, "fld0") for word in mux.command]
    return mux


def test_the_second_does_not_start(tree: Tree, service: Service, new_mux, elsewhere: WholeMux):
    first = new_mux()
    first.start()
    first.settle(service)
    owner = tree.session()
    second = elsewhere.inside(*elsewhere.command, text=True)
    assert second.returncode == 1, second.stderr
    assert f"--id is 'mux1', the id of a live mux with the outer source {MUX}" in second.stderr, second.stderr
    assert "event=node_taken" in second.stderr and "place=other" in second.stderr
    assert "event=loaded" not in second.stderr and "event=stopping" not in second.stderr
    assert tree.session() == owner
    assert first.routes() and first.metric("registered") == 1


def test_one_takes_the_id_of_a_dead_one(tree: Tree, service: Service, new_mux, elsewhere: WholeMux):
    """As a new machine under an old name; it serves once the dead one's session has expired, and not before."""
    first = new_mux()
    first.start()
    first.settle(service)
    first.signal(signal.SIGKILL)
    first.wait(60)
    elsewhere.start()
    until(lambda: elsewhere.metric("generation", service="web") == service.image["generation"], 60, elsewhere.log())
    assert tree.mux()["address"] == OTHER
    events = [word for line in elsewhere.log().splitlines() for word in line.split() if word.startswith("event=")]
    assert events.index("event=registered") < events.index("event=loaded"), elsewhere.log()
