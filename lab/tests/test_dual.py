# SPDX-License-Identifier: Apache-2.0
"""Both families from end to end: clients, VIPs, BGP and servers of each, and datagrams in fragments."""

import hashlib
import itertools
import random
import socket
from collections import Counter

import pytest

from lab import Lab, topology
from lab.chains import Chains
from lab.deadline import until
from lab.dual import UDP_PORT, VIPS, DualService, backend_address
from lab.mux import Mux

LONG = 60
DATAGRAMS = 12
SIZE = 8000  # six fragments of either family, at the clients' MTU
FRAGMENTS = 6
ANSWER_SECONDS = 2.0
ATTEMPTS = 5
# The fragments of a datagram, alternately to one mux and the other: offsets count units of 8 bytes, of which each
# fragment has 185 (IPv4) or 181 (IPv6). Other packets are routed as always.
APART = """\
table inet apart {{
  chain forward {{
    type filter hook prerouting priority -150
    ip daddr {vip} ip frag-off & 0x3fff != 0 ip frag-off & 1 == 0 meta mark set 1
    ip daddr {vip} ip frag-off & 1 == 1 meta mark set 2
    ip6 daddr {vip6} frag frag-off & 1 == 0 meta mark set 1
    ip6 daddr {vip6} frag frag-off & 1 == 1 meta mark set 2
  }}
}}
"""


def test_each_family_is_served_over_each(lab: Lab, dual: DualService) -> None:
    """Odd servers are reached over IPv4, even ones over IPv6, for clients of both."""
    for vip in VIPS:
        assert len(lab.router.vip_hops(vip)) == len(lab.muxes)
        with lab.traffic(long=LONG, interval=0.2, short_rate=0, vip=vip) as traffic:
            traffic.wait_open()
            assert all(traffic.held_by(server.name) for server in lab.servers.values())
        assert traffic.total is not None and traffic.total["broken"] == 0, traffic.broken()


@pytest.fixture
def apart(lab: Lab, dual: DualService):
    """The router sends fragments of one datagram to different muxes, by routes of their own."""
    router = lab.router
    rules = router.directory / "apart.nft"
    rules.write_text(APART.format(vip=topology.DUAL_VIP, vip6=topology.DUAL_VIP6))
    undo = []
    try:
        router.run("nft", "-f", str(rules))
        undo.append(("nft", "delete", "table", "inet", "apart"))
        for mark, mux in enumerate(lab.muxes.values(), 1):
            for family, address in (("-4", mux.address), ("-6", mux.address6)):
                router.run("ip", family, "route", "add", "default", "via", address, "table", str(mark))
                undo.append(("ip", family, "route", "del", "default", "via", address, "table", str(mark)))
                router.run("ip", family, "rule", "add", "fwmark", str(mark), "table", str(mark))
                undo.append(("ip", family, "rule", "del", "fwmark", str(mark), "table", str(mark)))
        yield
    finally:
        for command in reversed(undo):
            router.run(*command)


def counts(mux: Mux) -> Counter[str]:
    """The mux's counters, by verdict or reason."""
    samples = mux.metrics().items()
    return Counter({name.split('"')[1]: int(n) for name, n in samples if "packets_total{v" in name or "_drops" in name})


def ask(lab: Lab, vip: str, data: bytes) -> tuple[list[str], int]:
    """Sends a datagram from its own port until it is answered; returns the answer's words and how often it was sent."""
    family = socket.AF_INET6 if topology.is_ipv6(vip) else socket.AF_INET
    with lab.clients[0].namespace.inside():
        sock = socket.socket(family, socket.SOCK_DGRAM)
    with sock:
        sock.settimeout(ANSWER_SECONDS)
        for attempt in range(1, ATTEMPTS + 1):
            sock.sendto(data, (vip, UDP_PORT))
            try:
                return sock.recv(2048).decode().split(), attempt
            except TimeoutError:
                continue
    raise AssertionError(f"{ATTEMPTS} datagrams of {len(data)} bytes to {vip} without an answer")


@pytest.mark.parametrize("vip", VIPS)
def test_fragments_meet_at_one_server_though_they_reach_different_muxes(lab: Lab, apart: None, vip: str) -> None:
    draw = random.Random(20261122)
    muxes = list(lab.muxes.values())
    ask(lab, vip, b"so that neighbours are resolved")
    before = [counts(mux) for mux in muxes]
    sent, servers = 0, Counter()
    for _ in range(DATAGRAMS):
        data = draw.randbytes(SIZE)
        (server, length, digest), attempts = ask(lab, vip, data)
        assert (int(length), digest) == (SIZE, hashlib.sha256(data).hexdigest())
        servers[server] += 1
        sent += attempts

    def steered_all() -> list[Counter[str]]:
        """What each mux has counted; empty until that is all fragments: a packet is counted after it is sent."""
        grown = [counts(mux) - earlier for mux, earlier in zip(muxes, before, strict=True)]
        return grown if sum(each["service"] for each in grown) >= DATAGRAMS * FRAGMENTS else []

    grown = until("each fragment to be counted", steered_all, 30)
    print(f"{sent} datagrams, by server {dict(servers)}, by mux {[dict(each) for each in grown]}")
    assert len(servers) > 1
    # Each mux got half of each datagram's fragments, and forwarded those of the datagrams that the other one has.
    assert all(each["fragment_forwarded"] > 0 for each in grown)
    forwarded, steered = (sum(each[verdict] for each in grown) for verdict in ("fragment_forwarded", "service"))
    assert DATAGRAMS * FRAGMENTS // 2 <= forwarded <= sent * FRAGMENTS // 2
    assert DATAGRAMS * FRAGMENTS <= steered <= sent * FRAGMENTS
    if sent == DATAGRAMS:
        dropped = {name for each in grown for name in each if name.startswith(("fragment_", "peer_"))}
        assert dropped == {"fragment_forwarded"}


def test_nothing_breaks_of_either_family(lab: Lab, dual: DualService) -> None:
    """A server joins, one of each family is drained, a mux is killed."""
    chains = Chains(lab.router)
    with (
        lab.traffic(long=LONG, short_rate=10) as web,
        lab.traffic(long=LONG, short_rate=10, vip=topology.DUAL_VIP) as ipv4,
        lab.traffic(long=LONG, short_rate=10, vip=topology.DUAL_VIP6) as ipv6,
    ):
        everything = (web, ipv4, ipv6)
        for traffic in everything:
            traffic.wait_open()
        added, _ = lab.add_server()
        dual.add(added)
        ipv6.wait_seconds(2)
        for number in (1, 2):
            dual.drain(number)
            ipv6.wait_seconds(2)
        lab.kill_mux(1)
        for vip in (topology.VIP, *VIPS):
            lab.wait_announced(vip=vip)
        ipv6.wait_seconds(2)
        for traffic in everything:
            traffic.wait_quiet()
    for traffic in everything:
        assert traffic.total is not None
        assert traffic.total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))
        assert traffic.total["connections"] >= LONG and traffic.total["requests"] > LONG
    # Servers of each family chain to the other's, too: only this service uses servers' IPv6 addresses, or drains 1.
    called = {server.name: backend_address(server) for server in lab.servers.values()}
    families = Counter()
    for (chainer, owner), packets in chains.packets().items():
        name = next(server.name for server in lab.servers.values() if chainer in (server.address, server.address6))
        if topology.is_ipv6(owner) or owner == lab.servers[1].address:
            families[topology.is_ipv6(called[name]), topology.is_ipv6(owner)] += packets
    print(f"chained, by the families of the chainer and the owner being IPv6: {dict(families)}")
    assert all(families[pair] > 0 for pair in itertools.product((False, True), repeat=2)), families
