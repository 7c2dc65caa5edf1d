# SPDX-License-Identifier: Apache-2.0
"""Events in the lab while traffic runs, for the demo and for the tests.

An event is over when everything it may break has broken: it ends with wait_quiet(). `tell` takes a sentence for the
viewer. Events pick their servers from those that have a weight, so that they can follow each other in any order.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from lab import nginx
from lab.answers import Moved
from lab.deadline import LabError, until
from lab.lab import SERVICE, Lab
from lab.rest import Refused, Unreachable
from lab.server import Server
from lab.traffic import Traffic

Tell = Callable[[str], None]

RELEASED_SECONDS = 260  # 200 s after the move, when no mux sends it a SYN and no SYN cookie comes back
WATCH_SECONDS = 4  # of traffic after a change, to see what it does
OUTAGE_SECONDS = 20
FLOOD_RATE = 15_000
FLOOD_RATE_MACHINES = 3_000  # if virtual machines, whose processors are emulated, take a share of it
FLOOD_SECONDS = 8.0


@dataclass(frozen=True)
class Event:
    name: str
    run: Callable[[Lab, Traffic, Tell], object]
    moves: bool  # buckets with live connections move, so packets must be chained


def active(lab: Lab) -> list[int]:
    """Servers that have a weight."""
    return [number for number, backend in sorted(lab.backends().items()) if backend["weight"] > 0]


def _moved(plan: Moved, lab: Lab) -> str:
    return f"{plan['movedBuckets']:,} of {lab.service()['buckets']:,} buckets move, generation {plan['generation']}"


def add_server(lab: Lab, traffic: Traffic, tell: Tell, machine: bool = False) -> Server:
    """Adds a server of the XDP form, or a virtual `machine`; returns its number."""
    server, plan = lab.add_server(machine=machine)
    tell(f"{server.name} joins: {_moved(plan, lab)}")
    traffic.wait_seconds(WATCH_SECONDS)
    traffic.wait_quiet()
    return server


def drain_and_remove_server(lab: Lab, traffic: Traffic, tell: Tell, number: int | None = None) -> None:
    """As an operator would: weight 0, removed from the service, switched off once its last connection was closed."""
    number = active(lab)[1] if number is None else number
    server = lab.servers[number]
    plan = lab.drain(number)
    tell(f"{server.name} is drained: {_moved(plan, lab)}; it keeps {server.connections()} connections")
    traffic.wait_seconds(WATCH_SECONDS)
    lab.remove_server(number)
    tell(f"{server.name} is out of the service and still serves {server.connections()} connections")
    traffic.wait_seconds(WATCH_SECONDS)
    traffic.renew(server.name)
    until(f"{server.name} has no connection left", lambda: not nginx.clients(server) & lab.client_ends(), 60)
    lab.switch_off(number)
    tell(f"its clients have left it, {server.name} is switched off")
    traffic.wait_quiet()


def drain_that_ends(lab: Lab, traffic: Traffic, tell: Tell) -> None:
    """As an operator would where servers have agents: one order, and the controller waits for the last connection."""
    number = active(lab)[1]
    server = lab.servers[number]
    plan = lab.api("POST", f"/v1/services/{SERVICE}/drains", {"ids": [number], "then": "remove"})
    lab.wait_applied()
    tell(f"{server.name} drains and will then be removed: {_moved(plan, lab)}")
    traffic.wait_seconds(WATCH_SECONDS)
    until(
        f"the agent of {server.name} has reported all of its connections",
        lambda: lab.agents()[number].get("established") == server.connections(),
        60,
    )
    tell(f"its agent reports {lab.agents()[number]['established']} connections")
    traffic.renew(server.name)
    until(f"{server.name} has no connection left", lambda: not nginx.clients(server) & lab.client_ends(), 60, pause=0.1)
    closed = time.monotonic()
    until(f"{server.name} is removed", lambda: number not in lab.backends(), RELEASED_SECONDS, pause=0.1)
    tell(f"{time.monotonic() - closed:.1f} s after the last connection was closed, {server.name} is removed by itself")
    lab.switch_off(number)
    tell(f"{server.name} is switched off")
    traffic.wait_quiet()


def move_half(lab: Lab, traffic: Traffic, tell: Tell) -> None:
    servers = active(lab)
    leaving = servers[::2][: len(servers) // 2]
    plan = lab.weights(dict.fromkeys(leaving, 0))
    lab.wait_applied()
    tell(f"{' and '.join(lab.servers[n].name for n in leaving)} give up all they have: {_moved(plan, lab)}")
    traffic.wait_seconds(WATCH_SECONDS)
    traffic.wait_quiet()


def kill_mux(lab: Lab, traffic: Traffic, tell: Tell) -> None:
    mux = lab.running_muxes()[0]
    killed = time.monotonic()
    mux.kill()
    until(
        f"the router's route no longer goes by {mux.name}", lambda: mux.address not in lab.router.vip_hops(), 30, 0.01
    )
    tell(f"{mux.name} is killed; the router knew after {time.monotonic() - killed:.2f} s")
    traffic.wait_seconds(WATCH_SECONDS)
    traffic.wait_quiet()


def start_mux(lab: Lab, traffic: Traffic, tell: Tell) -> None:
    mux = next(mux for mux in lab.muxes.values() if not mux.process.alive)
    started = time.monotonic()
    lab.start_mux(mux.number)
    tell(f"{mux.name} is back, caught up and announced after {time.monotonic() - started:.1f} s")
    traffic.wait_seconds(WATCH_SECONDS)
    traffic.wait_quiet()


def upgrade_mux(lab: Lab, traffic: Traffic, tell: Tell) -> None:
    """As a package's upgrade would: the old process stops in order, a new one starts under the same name."""
    mux = lab.running_muxes()[0]
    sent_again, began, second = lab.retransmitted(), time.monotonic(), len(traffic.seconds())
    lab.stop_mux(mux.number)
    ended = next(line for line in reversed(mux.process.tail(20).splitlines()) if "event=drained" in line)
    tell(f"{mux.name} was told to stop and did after {time.monotonic() - began:.1f} s: {ended.split('drained ', 1)[1]}")
    traffic.wait_seconds(WATCH_SECONDS // 2)
    lab.start_mux(mux.number)
    traffic.wait_seconds(WATCH_SECONDS)
    traffic.wait_quiet()
    tell(
        f"its new process serves; of {sum(s['requests'] for s in traffic.seconds()[second:]):,} requests meanwhile "
        f"clients retransmitted {lab.retransmitted() - sent_again} segments"
    )


def restart_controller(lab: Lab, traffic: Traffic, tell: Tell) -> None:
    """Its death affects no traffic; after its return it commits the next generation."""
    before = lab.service()["generation"]
    lab.kill_controller()
    tell(f"the controller is killed at generation {before}")
    traffic.wait_seconds(WATCH_SECONDS)
    started = time.monotonic()
    lab.start_controller()
    after = lab.service()["generation"]
    if after != before:
        raise LabError(f"the controller came back with generation {after}, not {before}")
    plan = lab.weights(
        {number: 100 for number, b in lab.backends().items() if b["weight"] == 0} or {active(lab)[0]: 90}
    )
    lab.wait_applied()
    tell(f"it is back after {time.monotonic() - started:.1f} s with generation {before}: {_moved(plan, lab)}")
    traffic.wait_seconds(WATCH_SECONDS)
    traffic.wait_quiet()


def stop_zookeeper(lab: Lab, traffic: Traffic, tell: Tell) -> None:
    """The muxes keep serving with what they have; a change waits until ZooKeeper is back."""
    number = active(lab)[0]
    lab.stop_zookeeper()
    stopped = time.monotonic()
    tell(f"ZooKeeper is stopped for {OUTAGE_SECONDS} s")
    traffic.wait_seconds(OUTAGE_SECONDS // 2)
    try:
        lab.api("PATCH", f"/v1/services/{SERVICE}/backends/{number}?force=true", {"weight": 110}, timeout=5)
        raise LabError("a change was acknowledged while ZooKeeper was stopped")
    except (Refused, Unreachable) as error:
        tell(f"a change is refused meanwhile: {error}")
    traffic.wait_seconds(max(1, round(OUTAGE_SECONDS - (time.monotonic() - stopped))))
    lab.start_zookeeper()
    started = time.monotonic()
    lab.controller.wait()
    lab.weights({number: 120})
    committed = time.monotonic() - started
    lab.wait_applied()
    applied = time.monotonic() - started
    tell(f"ZooKeeper is back; a change is committed {committed:.1f} s later and at every mux {applied:.1f} s later")
    traffic.wait_seconds(2)
    traffic.wait_quiet()


def drain_under_flood(lab: Lab, traffic: Traffic, tell: Tell) -> None:
    number = active(lab)[-1]
    rate = FLOOD_RATE_MACHINES if lab.has_machines else FLOOD_RATE
    flood = lab.syn_flood(rate, FLOOD_SECONDS)
    tell(f"a SYN flood of {rate:,} packets/s from client2, for {FLOOD_SECONDS:g} s")
    traffic.wait_seconds(2)
    plan = lab.drain(number)
    tell(f"during the flood, {lab.servers[number].name} is drained: {_moved(plan, lab)}")
    sent = flood.finish(FLOOD_SECONDS + 60)[-1]
    tell(f"the flood is over: {sent['packets']:,} packets in {sent['seconds']:.1f} s")
    traffic.wait_quiet()


EVENTS = (
    Event("add a server", add_server, moves=True),
    Event("a drain that ends by itself", drain_that_ends, moves=True),
    Event("move half of all buckets", move_half, moves=True),
    Event("kill -9 a mux", kill_mux, moves=False),
    Event("start the mux again", start_mux, moves=False),
    Event("upgrade a mux", upgrade_mux, moves=False),
    Event("kill -9 the controller, restart it", restart_controller, moves=False),
    Event("stop ZooKeeper for 20 s", stop_zookeeper, moves=False),
    Event("SYN flood during a drain", drain_under_flood, moves=True),
)
