# SPDX-License-Identifier: Apache-2.0
"""No mux sends packets to itself or another mux: two real muxes count each packet that could loop once.

The number of counted packets, without those for the kernel, is the number that arrived at a mux: a packet that a mux
sent to itself or to the other would be counted twice.
"""

import itertools
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from scapy.all import IP, TCP, UDP, Packet, Raw, fragment

from lab import Lab, topology
from lab.cluster_key import KEY
from lab.deadline import until
from lab.rest import Refused
from protocol.vectors.oracle import fragment as fragments
from protocol.vectors.oracle import list as lists

SERVICE = "loop"
VIP = "10.99.0.3"
GUE_PORT = 6080
PACKETS = 60


def counts(lab: Lab) -> Counter[str]:
    """The counters of both muxes for VIPs and for themselves, by verdict or reason."""
    sums: Counter[str] = Counter()
    for mux in lab.muxes.values():
        for name, value in mux.metrics().items():
            if "mux_packets_total{" in name or "mux_drops_total{" in name:
                sums[name.split('"')[1]] += int(value)
    return Counter({name: n for name, n in sums.items() if name not in ("not_ours", "from_kernel")})


def send(lab: Lab, packets: Iterable[Packet]) -> int:
    """Sends packets from a client, with any source; returns how many these were."""
    with lab.clients[0].namespace.inside():
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    with raw:
        sent = [raw.sendto(bytes(packet), (packet.dst, 0)) for packet in packets]
    return len(sent)


def counted(lab: Lab, packets: Iterable[Packet]) -> Counter[str]:
    """How they are counted. A packet in a loop would still loop while the last ones are counted."""
    before = counts(lab)
    sent = send(lab, packets)
    until("the packets are counted", lambda: (counts(lab) - before).total() >= sent, 30)
    last = send(lab, (IP(src=lab.clients[0].address, dst=VIP) / TCP(sport=n, dport=9) for n in range(1, 101)))
    until("the last ones are counted", lambda: (counts(lab) - before).total() >= sent + last, 30)
    grown = counts(lab) - before
    assert grown.total() == sent + last, grown
    grown["no_service_port"] -= last
    return +grown


@pytest.fixture(scope="module")
def loop(session_lab: Lab) -> Iterator[None]:
    """A service whose backends are both muxes. The controller takes these addresses while the muxes are off."""
    muxes = session_lab.muxes.values()
    ports = [{"protocol": "tcp", "port": 80}, {"protocol": "udp", "port": GUE_PORT}]
    for mux in muxes:
        mux.stop()
    until("no mux is registered", lambda: not any(m["alive"] for m in session_lab.api("GET", "/v1/muxes")), 30)
    session_lab.api("POST", "/v1/services", {"name": SERVICE, "vips": [VIP], "ports": ports})
    try:
        session_lab.change(*(addition(n, mux.address) for n, mux in enumerate(muxes, 1)), service=SERVICE)
        for mux in muxes:
            mux.start()
        session_lab.wait_applied(service=SERVICE)
        session_lab.wait_announced(vip=VIP)
        yield
    finally:
        session_lab.api("DELETE", f"/v1/services/{SERVICE}")
        # otherwise the next test takes a route that is about to vanish for its own
        until(f"no mux announces {VIP}", lambda: not session_lab.router.vip_hops(VIP), 60)


def addition(number: int, address: str) -> dict[str, Any]:
    return {"op": "add", "id": number, "address": address}


def between_muxes(sender: str, receiver: str, inner: bytes) -> bytes:
    """GUE and the tag that a mux puts in front of a fragment for another."""
    key = bytes.fromhex(KEY)
    fields = {"innerProtocol": 4, "key": bool(key[0] & 1), "tag": bytes(8).hex()}
    tag = fragments.tag(key, fragments.head(fields) + inner, sender, receiver)
    return fragments.head(fields | {"tag": tag.hex()})


def wrap(source: str, destination: str, inner: Packet, header: dict | None) -> Packet:
    """A packet as a mux sends it: with a list header to a server, without one to another mux."""
    gue = lists.write(header) if header else between_muxes(source, destination, bytes(inner))
    return IP(src=source, dst=destination) / UDP(sport=0xC000, dport=GUE_PORT) / Raw(gue + bytes(inner))


@pytest.mark.parametrize("vip", [VIP, topology.VIP])
def test_no_vip_becomes_a_backend(lab: Lab, loop: None, vip: str) -> None:
    """The controller refuses one. mux/tests/test_loop.c tests what a mux does with one in its configuration."""
    with pytest.raises(Refused) as refused:
        lab.change(addition(9, vip), service=SERVICE)
    assert refused.value.status == 409 and vip in str(refused.value)


def test_backends_that_are_muxes_get_nothing(lab: Lab, loop: None) -> None:
    client = lab.clients[0].address
    until("the muxes know each other", lambda: only_loops(lab), 30)
    datagrams = (IP(src=client, dst=VIP) / UDP(sport=n, dport=GUE_PORT) for n in range(1024, 1024 + PACKETS))
    segments = (IP(src=client, dst=VIP) / TCP(sport=n, dport=80) for n in range(1024, 1024 + PACKETS))
    assert counted(lab, itertools.chain(datagrams, segments)) == {"backend_loop": 2 * PACKETS}


ports = itertools.count(30_000)


def probe(lab: Lab) -> Packet:
    return IP(src=lab.clients[0].address, dst=VIP) / TCP(sport=next(ports), dport=80)


def only_loops(lab: Lab) -> bool:
    """Whether both muxes take both backends for muxes: one that does not yet sends packets to the other."""
    before = counts(lab)
    sent = send(lab, [probe(lab) for _ in range(PACKETS)])
    until("the packets are counted", lambda: (counts(lab) - before).total() >= sent, 30)
    return (counts(lab) - before).keys() == {"backend_loop"}


def test_what_says_to_come_from_a_mux_a_server_or_a_vip_goes_nowhere_twice(lab: Lab, loop: None) -> None:
    mux1, mux2 = lab.muxes.values()
    server = lab.servers[min(lab.servers)]
    syns = [IP(src=s.address, dst=topology.VIP) / TCP(sport=next(ports), dport=80) for s in (mux1, mux2, server)] * 20
    assert counted(lab, syns) == {"service": 60}
    # a datagram from another service: both would answer each other
    assert counted(lab, [IP(src=topology.VIP, dst=VIP) / UDP(sport=80, dport=GUE_PORT)] * 20) == {"ip_source": 20}

    # as a mux sends to a server: as if two muxes were each other's backends
    inner = IP(src=lab.clients[0].address, dst=topology.VIP) / TCP(sport=next(ports), dport=80)
    header = {
        "at": 0, "order": [mux2.address], "service": 1, "generation": 1, "innerProtocol": 4, "late": False, "tag": None,
    }  # fmt: skip
    first, later = fragment(inner / Raw(b"x" * 100), 64)[:2]
    until("mux2 knows mux1", lambda: counted(lab, [wrap(mux1.address, mux2.address, first, None)])["service"], 30)
    assert counted(lab, [wrap(mux1.address, mux2.address, inner, header)] * 20) == {"peer_malformed": 20}
    # as a mux sends to another, but: not a fragment, encapsulated twice, or from another sender
    assert counted(lab, [wrap(mux1.address, mux2.address, inner, None)] * 20) == {"peer_malformed": 20}
    twice = wrap(mux2.address, mux1.address, later, None)
    assert counted(lab, [wrap(mux1.address, mux2.address, twice, None)] * 20) == {"peer_malformed": 20}
    assert counted(lab, [wrap(server.address, mux2.address, first, None)] * 20) == {"peer_unknown": 20}
    # fragments of one datagram, at the mux that does not have it: they stay at the mux that they arrived at
    assert counted(lab, [wrap(mux1.address, mux2.address, first, None)] * 20) == {"service": 20}
    assert counted(lab, [wrap(mux2.address, mux1.address, first, None)] * 20) == {"service": 20}
