# SPDX-License-Identifier: Apache-2.0
"""A rack with the clients' own MTU, and servers of both families: large uploads on connections that move between them.

    client ── 1500 ──▶ mux ── over IPv4 ──▶ server1 ── over IPv6 ──▶ server2

The mux tells clients a size by ICMP. Nothing tells them if a packet does not fit from one server to the next.
"""

import socket
from collections.abc import Iterator

import pytest

from lab import Lab, topology
from lab.chains import Chains
from lab.dual import VIPS, DualService, backend_address

CONNECTIONS_MAX = 200  # to each VIP; nearly half of them begin at servers that muxes reach over IPv6
UPLOADS = 10  # to each VIP, of those
UPLOAD = 200_000
UPLOAD_SECONDS = 10


@pytest.fixture
def narrow(lab: Lab, dual: DualService) -> Iterator[None]:
    machines = [*lab.muxes.values(), *lab.servers.values()]
    try:
        for machine in machines:
            machine.namespace.ip(f"link set eth0 mtu {topology.CLIENT_MTU}")
        yield
    finally:
        for machine in machines:
            machine.namespace.ip(f"link set eth0 mtu {topology.RACK_MTU}")
        forget(lab)


def forget(lab: Lab) -> None:
    """The client knows no size any more; with one, other tests' datagrams would have other fragments."""
    for family in ("-4", "-6"):
        lab.clients[0].run("ip", family, "route", "flush", "cache")


def response(sock: socket.socket) -> str:
    """The name of the server that answers."""
    data = b""
    while b"\r\n\r\n" not in data or not data.endswith(b"\n"):
        more = sock.recv(4096)
        assert more, "the connection was closed"
        data += more
    return data.rpartition(b"\r\n")[2].decode().strip()


def open_connection(lab: Lab, vip: str) -> tuple[socket.socket, str]:
    with lab.clients[0].namespace.inside():
        sock = socket.socket(socket.AF_INET6 if topology.is_ipv6(vip) else socket.AF_INET)
    sock.settimeout(UPLOAD_SECONDS)
    sock.connect((vip, topology.VIP_PORT))
    sock.sendall(b"GET / HTTP/1.1\r\nHost: web\r\n\r\n")
    return sock, response(sock)


def upload(sock: socket.socket) -> str:
    sock.sendall(b"POST / HTTP/1.1\r\nHost: web\r\nContent-Length: %d\r\n\r\n" % UPLOAD + b"x" * UPLOAD)
    name = response(sock)
    # The answer may come before the body is read; the next one comes after it.
    sock.sendall(b"GET / HTTP/1.1\r\nHost: web\r\n\r\n")
    assert response(sock) == name
    return name


def skipped(lab: Lab) -> int:
    """As often as a packet did not fit to a server of its list."""
    return sum(server.show()["counters"]["skipped"] for server in lab.servers.values())


def test_an_upload_that_moves_between_families_fits_every_chain(lab: Lab, dual: DualService, narrow: None) -> None:
    chains = Chains(lab.router)
    before = skipped(lab)
    over_ipv6 = {server.name: server for server in lab.servers.values() if topology.is_ipv6(backend_address(server))}
    forget(lab)
    connections: list[tuple[socket.socket, str]] = []
    try:
        began = []
        for vip in VIPS:
            mine: list[tuple[socket.socket, str]] = []
            for _ in range(CONNECTIONS_MAX):
                connections.append(open_connection(lab, vip))
                mine += [opened for opened in connections[-1:] if opened[1] in over_ipv6]
                if len(mine) == UPLOADS:
                    break
            assert len(mine) == UPLOADS, (vip, [name for _, name in connections])
            began += mine
        # In one change, so that no bucket moves twice.
        dual.change(*({"op": "weight", "id": server.number, "weight": 0} for server in over_ipv6.values()))
        broken = []
        for sock, name in began:
            try:
                assert upload(sock) == name
            except OSError as error:
                broken.append((sock.family.name, name, error))
        told = [mux.metrics()['fairlead_mux_drops_total{reason="too_big"}'] for mux in lab.muxes.values()]
        print(f"{len(began)} uploads, {broken} broken; muxes told senders {told} times")
        assert not broken
        assert sum(told) > 0
        assert skipped(lab) == before
        to_ipv6 = sum(packets for (_, owner), packets in chains.packets().items() if topology.is_ipv6(owner))
        assert to_ipv6 >= len(began) * UPLOAD // topology.CLIENT_MTU
    finally:
        for sock, _ in connections:
            sock.close()
