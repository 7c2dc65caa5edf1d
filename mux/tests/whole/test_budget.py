# SPDX-License-Identifier: Apache-2.0
"""A budget of a service: what is beyond it is dropped and counted, and the service beside it loses nothing."""

import time

from deadline import until
from rack import CLIENT, Rack, is_tunnel
from scapy.all import IP, TCP, Ether
from tree import Service, Tree, backend, run
from whole_mux import WholeMux

RATE = 1000  # packets a second
DEPTH = RATE // 10  # at once
BURST = 32
ROUNDS = 40
OTHER = "10.99.0.7"


def dropped(mux: WholeMux, name: str) -> float:
    return mux.metric("service_drops_total", service=name, reason="over_budget") or 0


def forwarded(mux: WholeMux, name: str) -> float:
    found = mux.metric("service_packets_total", service=name)
    assert found is not None
    return found


def spend(mux: WholeMux, rack: Rack, name: str = "web") -> None:
    """Waits for the budget to be in force, and until nothing of it is left."""

    def is_spent() -> bool:
        rack.send(rack.to_vip(sport) for sport in range(2 * DEPTH))
        return dropped(mux, name) > 0

    until(is_spent, 60, "the budget to be in force")
    rack.drain()


def test_a_flood_costs_the_service_beside_it_nothing(mux: WholeMux, service: Service, tree: Tree, rack: Rack):
    other = Service(tree, id_=2, name="other", vips=[OTHER]).create()
    other.commit([backend(1)], [run(0, 256, 1)])
    mux.settle(service)
    until(lambda: mux.metric("generation", service="other") == other.image["generation"], 60, "the other service")
    service.configure(packetsPerSecond=RATE)
    spend(mux, rack)
    syn = TCP(sport=7, dport=80, flags="S")
    beside = bytes(Ether(src=rack.mac, dst=rack.mux_mac) / IP(src=CLIENT, dst=OTHER) / syn)
    flood = [bytes(rack.to_vip(sport)) for sport in range(1000, 1100)]

    def arrived() -> float:
        return forwarded(mux, "web") + dropped(mux, "web")

    until(lambda: arrived() == (time.sleep(0.2), arrived())[1], 60, "what was sent before to be counted")
    began, before, lost, first = time.monotonic(), forwarded(mux, "web"), dropped(mux, "web"), arrived()
    for number in range(1, ROUNDS + 1):
        for frame in [*flood, beside]:
            rack.socket.send(frame)
        until(lambda number=number: arrived() - first == number * len(flood), 60, "the flood to be counted")
    passed, seconds = forwarded(mux, "web") - before, time.monotonic() - began
    assert 0 < passed <= RATE * seconds + DEPTH + BURST, (passed, seconds)
    assert dropped(mux, "web") - lost == ROUNDS * len(flood) - passed
    until(lambda: forwarded(mux, "other") == ROUNDS, 60, "the other service's packets")
    assert dropped(mux, "other") == 0
    assert mux.metric("drops_total", reason="over_budget") == dropped(mux, "web")


def test_a_budget_is_raised(mux: WholeMux, service: Service, rack: Rack):
    mux.settle(service)
    service.configure(bytesPerSecond=1)
    spend(mux, rack)
    service.configure(bytesPerSecond=1_000_000)

    def passes() -> bool:
        rack.send([rack.to_vip(3)])
        return bool(rack.receive(is_tunnel, 1, 0.5))

    until(passes, 60, "the new budget")
