# SPDX-License-Identifier: Apache-2.0
"""
Health while the network, ZooKeeper or a server is half broken, each on a lab of its own:

    mux1, mux2 ──✂──▶ server1, server2     a rack that no mux reaches: taken out, as many as may be
    controller, probes ──✂── ZooKeeper     nothing changes until it is back
    a slow server, one that accepts and never answers, one that flaps, one whose machine is gone

Open connections live on in all of them, but those of the machine that is gone.
"""

import contextlib
import time
from collections.abc import Iterator

import pytest

from jepsen.faults.lab_cluster import LabCluster
from lab import Lab, nginx, topology
from lab.deadline import until
from lab.health import Health, apart, filtered, frozen, probing
from lab.traffic import Traffic
from lab.variant import Variant

pytestmark = pytest.mark.long

WINDOW = 600  # longer than any test
ALL = {1, 2, 3, 4}
LONG = 100  # connections that talk
FIRST_HOLD = 30  # seconds until a backend returns that went out a second time, and 60 the next time
SILENT_SECONDS = 90  # an agent is silent after 30 s, and what was removed as dead comes again after 30 s
PATIENCE_SECONDS = 60.0  # of connections to a server that is away
AGAIN_SECONDS = 60  # in which TCP sends again: after as long as it has waited, here some 25 s, then 50 s


@contextlib.contextmanager
def checked(variant: Variant | None = None, **settings: object) -> Iterator[Health]:
    """A lab whose service has this check; all backends are healthy and the leader acts."""
    lab = Lab(servers=4, muxes=2, window=WINDOW, variant=variant or Variant())
    lab.settings = {"faults": {"switch": None, "zookeepers": 1}}
    with lab, probing(lab):
        health = Health(lab)
        health.check(**settings)
        health.wait_healthy(ALL)
        yield health


@pytest.fixture
def health(built: None) -> Iterator[Health]:
    with checked() as health:
        yield health


@contextlib.contextmanager
def unbroken(health: Health) -> Iterator[Traffic]:
    """Connections of all servers, none of which breaks within the block."""
    with health.lab.traffic(long=LONG, short_rate=0) as traffic:
        traffic.wait_open()
        assert all(traffic.held_by(f"server{number}") for number in ALL)
        yield traffic
        traffic.wait_quiet()
        assert not traffic.broken()


def fresh_servers(health: Health) -> set[int]:
    """Of new connections, all of which are answered."""
    health.lab.wait_applied()
    with health.lab.traffic(long=LONG, short_rate=20) as later:
        later.wait_open()
        held = {number for number in ALL if later.held_by(f"server{number}")}
        assert not later.stop()["broken"]
    return held


def test_a_rack_that_no_mux_reaches(health: Health) -> None:
    """Its servers' connections live on by chaining, as other servers reach it."""
    with unbroken(health):
        with apart(health.lab, [1, 2], [1, 2]):
            health.wait({1: "out", 2: "out", 3: "healthy", 4: "healthy"})
            health.wait_owners({3, 4})
            assert all(health.backend(number)["silent"] == 2 for number in (1, 2))
            assert fresh_servers(health) == {3, 4}
        health.wait_healthy(ALL)
        health.wait_owners(ALL)


def test_without_zookeeper_nothing_changes(health: Health) -> None:
    lab = health.lab
    with unbroken(health), contextlib.ExitStack() as first, contextlib.ExitStack() as second:
        first.enter_context(filtered(lab.servers[4]))
        health.wait({4: "out"})
        health.wait_owners(ALL - {4})
        lab.wait_applied()
        generations = [mux.generation("web") for mux in lab.running_muxes()]
        lab.stop_zookeeper()
        first.close()
        second.enter_context(filtered(lab.servers[3]))
        time.sleep(20)  # the sessions of probes and controllers are over
        assert [mux.generation("web") for mux in lab.running_muxes()] == generations
        lab.start_zookeeper()
        health.wait({3: "out", 4: "healthy"}, 90)
        health.wait_owners(ALL - {3})
        second.close()
        health.wait_healthy(ALL, 90)


def test_a_slow_server(health: Health) -> None:
    """What it says in time is fine; what it says later counts as nothing, and its connections go on."""
    lab = health.lab
    rack = LabCluster(lab.instance)
    node = rack.node("server1")
    with unbroken(health):
        rack.slow(node, 40)
        generation = lab.service()["generation"]
        time.sleep(5)
        assert health.states()[1] == "healthy"
        assert lab.service()["generation"] == generation
        rack.slow(node, 300)  # to and fro: more than the timeout
        health.wait({1: "out", 2: "healthy", 3: "healthy", 4: "healthy"})
        health.wait_owners(ALL - {1})
        rack.unslow(node)
        health.wait_healthy(ALL)


def test_a_server_that_accepts_and_never_answers(built: None) -> None:
    with checked(kind="http") as health:
        server = health.lab.servers[2]
        with Traffic(health.lab.clients, LONG, 0.25, 0, answer_seconds=PATIENCE_SECONDS) as traffic:
            traffic.wait_open()
            assert traffic.held_by(server.name)
            with frozen(server):
                health.wait({2: "out", 1: "healthy", 3: "healthy", 4: "healthy"})
                health.wait_owners(ALL - {2})
                assert set(health.backend(2)["faults"]) == {"mux1", "mux2"}
                assert all("no_answer" in fault for fault in health.backend(2)["faults"].values())
                assert fresh_servers(health) == ALL - {2}
            health.wait_healthy(ALL)
            traffic.wait_quiet()
            assert not traffic.broken()


def test_who_flaps_stays_out_longer_each_time(health: Health) -> None:
    lab = health.lab
    with unbroken(health):
        for times, hold in enumerate((0, FIRST_HOLD, 2 * FIRST_HOLD), 1):
            with filtered(lab.servers[1]):
                health.wait({1: "out"})
                until(f"it is out for time {times}", lambda n=times: health.backend(1).get("times") == n, 10)
            if hold:
                health.wait({1: "returning"})
                returns = health.backend(1)["returns"]
                assert hold - 10 < returns - time.time() <= hold + 1
            if times < 3:
                health.wait({1: "healthy"}, hold + 20)
                assert time.time() >= (returns if hold else 0)


def named_before(lab: Lab, connections: list[str]) -> set[int]:
    """Servers to which packets of these connections, each address:port, would be chained."""
    explained = (lab.explain(*one.rsplit(":", 1)) for one in connections)
    return {former["id"] for one in explained for former in one["former"]}


def test_a_machine_that_is_gone_is_let_go_of(built: None) -> None:
    """Its clients are reset in place of waiting, nothing is chained to it, and it comes back by itself."""
    with checked(Variant(agents=True, quiet=0), action={"dead": True}) as health:
        lab = health.lab
        lab.wait_reporting()
        dead = lab.servers[1]
        with Traffic(lab.clients, LONG, 0.25, 0, answer_seconds=2 * SILENT_SECONDS) as traffic:
            traffic.wait_open()
            assert traffic.held_by(dead.name)
            dead.namespace.ip("link set eth0 down")
            health.wait({1: "out"})
            health.wait_owners(ALL - {1})
            lab.wait_applied()
            ends = sorted(nginx.clients(dead))
            assert named_before(lab, ends) == {dead.number}
            health.wait({1: "dead"}, SILENT_SECONDS)
            lab.wait_applied()
            until("its clients are reset", lambda: len(traffic.broken()) > 0, AGAIN_SECONDS)
            until("all of its clients are", lambda: traffic.held_by(dead.name) == 0, 90)
            assert {one["server"] for one in traffic.broken()} == {dead.name}
            assert {one["kind"] for one in traffic.broken()} == {"reset"}
            assert dead.number not in named_before(lab, ends)
            until("it is in the pool again", lambda: 1 in lab.backends(), SILENT_SECONDS)
            assert lab.backends()[1]["weight"] == 100
            assert health.states()[1] == "dead"
            assert health.owners() == ALL - {1}
            records = [each["what"] for each in lab.api("GET", "/v1/audit") if each["who"] == "health"]
            assert any("removed as dead: backend 1" in what for what in records), records
            dead.namespace.ip("link set eth0 up", f"route replace default via {topology.ROUTER}")
            health.wait_healthy(ALL)
            health.wait_owners(ALL)
            assert fresh_servers(health) == ALL
            assert {one["server"] for one in traffic.broken()} == {dead.name}
