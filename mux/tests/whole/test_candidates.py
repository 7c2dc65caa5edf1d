# SPDX-License-Identifier: Apache-2.0
"""
Steering `hunt` and `maat` from a port to a port: both buckets' owners in every header, in the order that is due, and
their former owners; what is counted of that; and that `explain` says what was sent.
"""

import itertools
import json
import time
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from deadline import until
from oracle import list as lists
from oracle import list_srv6
from oracle.flow import flow_hash64
from oracle.notice import PROTOCOL
from rack import BACKENDS, BACKENDS6, CLIENT, VIP, Rack
from scapy.all import IP, TCP, UDP, Ether, IPv6, IPv6ExtHdrSegmentRouting, Raw
from tree import Service, Tree, backend, run
from whole_mux import WholeMux

WEIGHT = 100  # of tree.backend()
MAAT = {"load": "agents", "deltaThousandths": 10, "halfLifeMillis": 60000, "filterBytes": 65536, "filterHashes": 3}
HASHES = MAAT["filterHashes"]
PORTS = range(2000, 4000)
OF_A_KIND = 12
POOLS = {"gue": BACKENDS, "srv6": BACKENDS6}
Order = dict[int, bool]
"""By the client's port: whether the bucket of the hash's high half is the first."""


@dataclass
class Candidates:
    """What a mux must say of the service's connections."""

    service: Service

    def buckets(self, port: int) -> tuple[int, int]:
        """By the low and by the high half of the hash."""
        flow = {"source": CLIENT, "sourcePort": port, "destination": VIP, "destinationPort": 80, "protocol": 6}
        config = {name: self.service.config[name] for name in ("hash", "hashKey", "affinity")}
        both = flow_hash64(flow | config)
        return both % self.service.image["buckets"], (both >> 32) % self.service.image["buckets"]

    def owner(self, bucket: int) -> int:
        return self.service.image["rows"][bucket][0]

    def owners(self, port: int) -> tuple[int, int]:
        first, second = self.buckets(port)
        return self.owner(first), self.owner(second)

    def address(self, number: int) -> str:
        return self.service.image["backends"][number][0]

    def former(self, bucket: int) -> list[dict]:
        """Newest first."""
        history = self.service.image["rows"][bucket][1]
        return [{"id": number, "address": self.address(number), "since": since} for number, since in history]

    def in_order(self, port: int, is_second_first: bool) -> list[int]:
        """Its buckets, each once."""
        first, second = self.buckets(port)
        if is_second_first:
            first, second = second, first
        return [first] if first == second else [first, second]

    def servers(self, port: int, is_second_first: bool, is_syn: bool) -> list[str]:
        """All that the header must name, the first destination included."""
        buckets = self.in_order(port, is_second_first)
        named = [self.address(self.owner(bucket)) for bucket in buckets]
        if not is_syn:
            named += [former["address"] for bucket in buckets for former in self.former(bucket)]
        return list(dict.fromkeys(named))

    def kind(self, port: int) -> tuple[bool, bool | None]:
        """Whether its first bucket has moved, and its second one if there is one."""
        first, second = self.buckets(port)
        moved = [bool(self.former(bucket)) for bucket in (first, second)]
        return moved[0], None if first == second else moved[1]

    def explanation(self, port: int, is_second_first: bool) -> dict:
        """What `explain` must say of both."""
        buckets = self.in_order(port, is_second_first)
        said = self._explained(buckets[0])
        if len(buckets) > 1:
            said["second"] = self._explained(buckets[1])
        return said

    def _explained(self, bucket: int) -> dict:
        owner = self.owner(bucket)
        current = {"id": owner, "address": self.address(owner)}
        return {"bucket": bucket, "current": current, "former": self.former(bucket)}


def serve(tree: Tree, encap: str = "gue", **config: object) -> Candidates:
    """A service whose three backends have a third of the buckets each; some have moved a moment ago."""
    service = Service(tree, encap=encap, **config).create()
    service.commit(
        [backend(n + 1, address) for n, address in enumerate(POOLS[encap])],
        [run(0, 85, 1), run(85, 85, 2), run(170, 86, 3)],
    )
    service.commit([], [run(0, 20, 2), run(85, 20, 3), run(170, 20, 1)], committed=int(time.time()))
    return Candidates(service)


def header_of(frame: Ether) -> tuple[int, str, dict] | None:
    """The client's port, the outer destination and the header of a packet to a server; None for anything else."""
    if UDP in frame and frame[UDP].dport == 6080 and bytes(frame[UDP].payload)[1] != PROTOCOL:
        data = bytes(frame[UDP].payload)
        to = frame[IP].dst if IP in frame else frame[IPv6].dst
        fields = lists.read(data, to)
    elif IPv6ExtHdrSegmentRouting in frame:
        data = bytes(frame)[54:]
        to = frame[IPv6].dst
        fields = list_srv6.read(data, to)
    else:
        return None
    return IP(data[fields["headerLength"] :])[TCP].sport, to, fields


def exchange(mux: WholeMux, rack: Rack, ports: list[int], flags: str) -> dict[int, dict]:
    """A segment of each connection through the mux. Headers by port."""
    rack.drain()
    ether = Ether(src=rack.mac, dst=rack.mux_mac)
    rack.send(
        ether / IP(src=CLIENT, dst=VIP) / TCP(sport=port, dport=80, flags=flags) / Raw(b"x" * 9 * ("S" not in flags))
        for port in ports
    )
    came = [header_of(frame) for frame in rack.receive(lambda frame: header_of(frame) is not None, len(ports), 20)]
    assert sorted(port for port, _, _ in came) == sorted(ports), mux.log()
    return {port: fields | {"syn": "S" in flags} for port, _, fields in came}


def check(candidates: Candidates, came: dict[int, dict], order: Order) -> None:
    for port, fields in came.items():
        assert fields["order"] == candidates.servers(port, order[port], fields["syn"]), port
        assert fields["left"] == len(fields["candidates"]) and not fields["flags"] & (lists.LATE | lists.TAG)
        assert fields["generation"] == candidates.service.image["generation"]


def have_two(candidates: Candidates, ports: Iterable[int]) -> int:
    """How many of the connections have two owners."""
    owners = [candidates.owners(port) for port in ports]
    return sum(first != second for first, second in owners)


def check_explained(mux: WholeMux, candidates: Candidates, order: Order) -> None:
    for port, is_second_first in order.items():
        asked = {"service": "web", "protocol": "tcp", "source": CLIENT, "sourcePort": port}
        asked |= {"destination": VIP, "destinationPort": 80}
        answer = json.loads(mux.get(f"/explain?{urllib.parse.urlencode(asked)}"))
        wanted = candidates.explanation(port, is_second_first)
        said = {name: answer.get(name) for name in wanted}
        if "second" in wanted:
            said["second"] = {name: answer["second"][name] for name in wanted["second"]}
        assert said == wanted, port
        named = [each["address"] for each in answer["candidates"]]
        assert (named, answer["late"]) == (candidates.servers(port, is_second_first, is_syn=False), False)
        assert ("second" in answer) == ("second" in wanted)
        has_order = candidates.service.config["steering"] == "maat" and "second" in wanted
        assert answer.get("order") == ({"noted": is_second_first} if has_order else None)


def counts(mux: WholeMux) -> list[float]:
    """Packets that name a second bucket's owner, those that name it first, SYNs among them."""
    names = ("second_bucket_packets_total", "second_first_packets_total", "second_first_syns_total")
    return [sum(mux.samples(name)) for name in names]


def grown(mux: WholeMux, before: list[float]) -> list[float]:
    return [now - then for now, then in zip(counts(mux), before, strict=True)]


@pytest.mark.parametrize(("port", "encap"), [("af_packet", "gue"), ("af_xdp", "srv6")])
def test_hunt_names_both_in_the_order_of_the_hash(tree: Tree, rack: Rack, new_mux, port: str, encap: str):
    candidates = serve(tree, encap, steering="hunt")
    kinds: dict[tuple, list[int]] = {}
    for number in PORTS:
        kinds.setdefault(candidates.kind(number), []).append(number)
    assert set(kinds) == set(itertools.product((False, True), (False, True, None)))
    order = {number: False for numbers in kinds.values() for number in numbers[:OF_A_KIND]}
    mux = new_mux(port=port)
    mux.start()
    until(lambda: mux.metric("generation", service="web") == candidates.service.image["generation"], 60, mux.log())
    settle(mux, rack)
    before = counts(mux)
    for flags in ("S", "A", "PA", "FA", "R"):
        came = exchange(mux, rack, list(order), flags)
        check(candidates, came, order)
    named = 5 * have_two(candidates, came)
    assert 0 < named < 5 * len(order)
    until(lambda: grown(mux, before) == [named, 0, 0], 60, f"{named} counted")
    assert mux.samples("filter_cells") == mux.samples("backend_load") == []
    check_explained(mux, candidates, order)


def settle(mux: WholeMux, rack: Rack) -> None:
    """Waits until the neighbours of all backends are known."""

    def reached() -> bool:
        before = mux.metric("packets_total", verdict="service")
        arrived = mux.arrived()
        rack.send(rack.to_vip(sport) for sport in range(100, 164))
        until(lambda: mux.arrived() >= arrived + 64, 60, "the settling packets to be counted")
        return mux.metric("packets_total", verdict="service") == before + 64

    until(reached, 100, "the backends' neighbours")
    rack.receive(lambda frame: header_of(frame) is not None, 64, 1)


@pytest.fixture
def maat(tree: Tree, new_mux) -> tuple[WholeMux, Candidates]:
    candidates = serve(tree, steering="maat", maat=MAAT)
    mux = new_mux()
    mux.start()
    mux.settle(candidates.service)
    return mux, candidates


def known(mux: WholeMux) -> dict[int, float]:
    found = {number: mux.metric("backend_load", service="web", backend=str(number)) for number in (1, 2, 3)}
    return {number: load for number, load in found.items() if load is not None}


def report(mux: WholeMux, candidates: Candidates, loads: dict[int, int]) -> None:
    """As the controllers' leader does; they count for 10 s."""
    client, path = candidates.service.client, f"{candidates.service.path}/loads"
    text = json.dumps({"format": 1, "loads": {str(number): load for number, load in loads.items()}}).encode()
    if client.exists(path):
        client.set(path, text)
    else:
        client.create(path, text)
    wanted = {number: load / WEIGHT for number, load in loads.items()}
    until(lambda: known(mux) == wanted, 10, f"the loads\n{mux.log()}")


def by_loads(candidates: Candidates, ports: list[int], loads: dict[int, float]) -> Order:
    """Where new connections go: to the second one's owner if it has less to do."""
    owners = {port: candidates.owners(port) for port in ports}
    return {port: loads[first] > loads[second] for port, (first, second) in owners.items()}


def used(mux: WholeMux) -> float:
    return mux.metric("filter_cells", service="web", state="used")


def test_maat_asks_the_less_loaded_first_and_remembers(rack: Rack, maat: tuple[WholeMux, Candidates]):
    mux, candidates = maat
    before, loads, ports = counts(mux), {1: 300, 2: 100, 3: 200}, list(PORTS[:100])
    assert (used(mux), known(mux)) == (0, {})
    report(mux, candidates, loads)
    order = by_loads(candidates, ports, loads)
    noted = [port for port, is_second_first in order.items() if is_second_first]
    came = exchange(mux, rack, ports, "S")
    check(candidates, came, order)
    assert 0.2 < len(noted) / len(ports) < 0.5  # a third
    assert {candidates.kind(port) for port in noted} == set(itertools.product((False, True), repeat=2))
    until(lambda: grown(mux, before)[1:] == [len(noted)] * 2, 60, "SYNs counted")
    assert HASHES * len(noted) * 0.95 < used(mux) <= HASHES * len(noted)
    check_explained(mux, candidates, order)

    # loads are the other way round: what is open stays where it is, a repeated SYN too
    report(mux, candidates, {1: 100, 2: 300, 3: 200})
    check(candidates, exchange(mux, rack, ports, "A"), order)
    check(candidates, exchange(mux, rack, noted, "S"), order)
    until(lambda: grown(mux, before)[1:] == [3 * len(noted), 2 * len(noted)], 60, "the others counted")

    # one ends: its FIN goes where it is, and what still follows takes a hop
    check(candidates, exchange(mux, rack, ports[::2], "FA"), order)
    check(candidates, exchange(mux, rack, ports[1::2], "R"), order)
    until(lambda: used(mux) == 0, 60, "an empty filter")
    order = dict.fromkeys(ports, False)
    check(candidates, exchange(mux, rack, ports, "A"), order)
    check_explained(mux, candidates, order)
    second = have_two(candidates, came)
    assert grown(mux, before) == [4 * second + len(noted), 4 * len(noted), 2 * len(noted)]


def test_maat_without_loads_asks_the_first(rack: Rack, maat: tuple[WholeMux, Candidates]):
    mux, candidates = maat
    before, order = counts(mux), dict.fromkeys(PORTS[:50], False)
    for flags in ("S", "A"):
        check(candidates, exchange(mux, rack, list(order), flags), order)
    assert (used(mux), grown(mux, before)[1:]) == (0, [0, 0])


def test_maat_asks_the_first_while_the_second_cannot_be_reached(rack: Rack, maat: tuple[WholeMux, Candidates]):
    """`explain` says so, too, and the filter counts again once packets can be sent there."""
    mux, candidates = maat
    loads = {1: 300, 2: 100, 3: 200}
    report(mux, candidates, loads)
    order = by_loads(candidates, list(PORTS[:50]), loads)
    check(candidates, exchange(mux, rack, list(order), "S"), order)
    at_two = {port: True for port, is_second_first in order.items() if is_second_first and 2 in candidates.owners(port)}
    assert len(at_two) > 5

    def move_to(address: str) -> None:
        generation = candidates.service.commit([backend(2, address)], [], committed=int(time.time()))["generation"]
        until(lambda: mux.metric("generation", service="web") == generation, 60, mux.log())

    move_to("10.1.0.99")
    first = dict.fromkeys(at_two, False)
    check(candidates, exchange(mux, rack, list(first), "A"), first)
    check_explained(mux, candidates, first)
    move_to(BACKENDS[1])
    check(candidates, exchange(mux, rack, list(at_two), "A"), at_two)
    check_explained(mux, candidates, at_two)


def test_maat_counts_the_packets_that_it_sends(rack: Rack, maat: tuple[WholeMux, Candidates]):
    mux, candidates = maat
    candidates.service.configure(maat=MAAT | {"load": "packets"})
    until(lambda: len(known(mux)) == 3, 10, f"loads\n{mux.log()}")
    of = {n: [port for port in PORTS if candidates.owners(port) == (n, n)] for n in (1, 2, 3)}
    sent = {1: 900, 2: 0, 3: 450}
    start = known(mux)
    for number, packets in sent.items():
        for _ in range(packets // 30):
            exchange(mux, rack, (of[number] * 30)[:30], "A")
    loads = {}

    def counted() -> bool:
        loads.update(known(mux))
        return loads[1] > loads[3] > loads[2]

    until(counted, 10, f"the packets among the loads; at first {start}")
    for number in (1, 3):  # of the half-life of a minute little has passed
        assert 0.5 * sent[number] / WEIGHT < loads[number] - loads[2] <= 1.05 * sent[number] / WEIGHT
    order = by_loads(candidates, list(PORTS[-20:]), loads)
    assert any(order.values())
    check(candidates, exchange(mux, rack, list(order), "S"), order)
    check(candidates, exchange(mux, rack, list(order), "A"), order)
    check_explained(mux, candidates, order)
