# SPDX-License-Identifier: Apache-2.0
"""What clients get from a mux besides service: errors for packets too big for the servers' path, ping replies, tags."""

import contextlib
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Lab, topology
from lab.deadline import until
from lab.dual import DualService, backend_address

NARROW = 1500
# What fits beside outer IPv6, UDP, GUE, the list header with six candidates, and the tag: of a pool of both families.
TOLD = NARROW - 40 - 8 - 4 - 8 - 6 * 16 - 8
BODY = 500_000
OTHER_KEY = "000102030405060708090a0b0c0d0e0f"
TOO_BIG = 'fairlead_mux_drops_total{reason="too_big"}'


def request(sock: socket.socket, method: str, body: bytes = b"") -> bytes:
    """One request on a connection that stays open; the answer's body."""
    sock.sendall(f"{method} / HTTP/1.1\r\nHost: lab\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = b""
    while b"\r\n\r\n" not in answer or not answer.endswith(b"\n"):
        data = sock.recv(65536)
        assert data, f"closed after {answer!r}"
        answer += data
    assert answer.startswith(b"HTTP/1.1 200"), answer
    return answer.partition(b"\r\n\r\n")[2]


@pytest.fixture
def narrow(lab: Lab) -> Iterator[Lab]:
    """The path from muxes to servers has the clients' own MTU, as in a network where it was not raised."""
    muxes = list(lab.muxes.values())
    for mux in muxes:
        mux.namespace.ip(f"link set eth0 mtu {NARROW}")
    yield lab
    for mux in muxes:
        mux.namespace.ip(f"link set eth0 mtu {topology.RACK_MTU}")
    forget(lab)


def forget(lab: Lab) -> None:
    """Clears the clients' path MTUs."""
    for client in lab.clients:
        for family in ("-4", "-6"):
            client.run("ip", family, "route", "flush", "cache")


def connect(lab: Lab, vip: str, servers: set[str]) -> socket.socket:
    """A client's connection to one of these servers, after its first answer."""
    for _ in range(100):
        sock = lab.clients[0].namespace.connect(vip, topology.VIP_PORT, 10)
        sock.settimeout(20)
        if request(sock, "GET").decode().strip() in servers:
            return sock
        sock.close()
    raise AssertionError(f"none of 100 connections to {vip} reached {servers}")


@pytest.mark.parametrize("outside", ["IPv4", "IPv6"])
@pytest.mark.parametrize("vip", [topology.DUAL_VIP, topology.DUAL_VIP6])
def test_a_narrow_way_is_no_black_hole(narrow: Lab, dual: DualService, vip: str, outside: str) -> None:
    """A real client sends full-sized segments, gets the MTU, and retransmits them: every byte arrives."""
    ipv6 = topology.is_ipv6(vip)
    servers = {s.name for s in narrow.servers.values() if topology.is_ipv6(backend_address(s)) == (outside == "IPv6")}
    before = sum(mux.metrics()[TOO_BIG] for mux in narrow.muxes.values())
    forget(narrow)
    with contextlib.closing(connect(narrow, vip, servers)) as sock:
        server = request(sock, "POST", bytes(BODY))
        assert request(sock, "GET") == server  # answered once the body was read to its end
        # IP_MTU, IPV6_MTU: the kernel's current value for the path
        mtu = sock.getsockopt(socket.IPPROTO_IPV6, 24) if ipv6 else sock.getsockopt(socket.IPPROTO_IP, 14)
    assert mtu == TOLD
    assert sum(mux.metrics()[TOO_BIG] for mux in narrow.muxes.values()) > before


def echo_request(identifier: int) -> bytes:
    packet = struct.pack("!BBHHH", 8, 0, 0, identifier, 1) + b"fairlead"
    total = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
    total = (total & 0xFFFF) + (total >> 16)
    return packet[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + packet[4:]


def echoes(lab: Lab) -> float:
    return sum(mux.metrics()['fairlead_mux_packets_total{verdict="echo"}'] for mux in lab.muxes.values())


def await_echoes(lab: Lab, count: float) -> None:
    """Waits for the count: a mux counts an answer after it has sent it, and so may be later than the client."""
    until(f"muxes have counted {count:g} echo replies", lambda: echoes(lab) >= count, 10)
    assert echoes(lab) == count


def test_the_vip_answers_a_ping(lab: Lab) -> None:
    before = echoes(lab)
    with (
        lab.clients[0].namespace.inside(),
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock,
    ):
        sock.settimeout(5)
        sock.connect((topology.VIP, 0))
        sock.send(echo_request(4711))
        answer = sock.recv(2048)
    assert answer[20] == 0 and answer[24:26] == struct.pack("!H", 4711) and answer.endswith(b"fairlead")
    await_echoes(lab, before + 1)


def test_the_ipv6_vip_answers_a_ping(lab: Lab, dual: DualService) -> None:
    before = echoes(lab)
    with (
        lab.clients[0].namespace.inside(),
        socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as sock,
    ):
        sock.settimeout(5)
        sock.connect((topology.DUAL_VIP6, 0))
        sock.send(struct.pack("!BBHHH", 128, 0, 0, 4711, 1) + b"fairlead")  # the kernel fills in the checksum
        answer = sock.recv(2048)
    assert (answer[0], answer[4:]) == (129, struct.pack("!HH", 4711, 1) + b"fairlead")
    await_echoes(lab, before + 1)


@contextlib.contextmanager
def keyed(lab: Lab, *arguments: str) -> Iterator[None]:
    """Restarts each mux in turn with these arguments in place of the lab's key, and with that again afterwards."""
    usual = {mux: list(mux.process.argv) for mux in lab.muxes.values()}

    def restart() -> None:
        for number, mux in lab.muxes.items():
            mux.kill()
            lab.wait_announced()  # without it, or the route that it had would count as the new one
            lab.start_mux(number)

    try:
        for mux, argv in usual.items():
            at = argv.index("--tag-key")
            mux.process.argv[at : at + 2] = arguments
        restart()
        yield
    finally:
        for mux, argv in usual.items():
            mux.process.argv[:] = argv
        restart()


def refused(lab: Lab, reason: str) -> int:
    return sum(server.show()["counters"][f"drop_untrusted_tag_{reason}"] for server in lab.servers.values())


def answers(lab: Lab) -> None:
    for _ in range(40):
        with contextlib.closing(lab.clients[0].namespace.connect(topology.VIP, topology.VIP_PORT, 10)) as sock:
            sock.settimeout(10)
            assert request(sock, "GET").startswith(b"server")


def test_servers_take_what_muxes_have_tagged_and_nothing_else(lab: Lab, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(OTHER_KEY + "\n")
    key.chmod(0o600)
    client = lab.clients[0].namespace
    missing, wrong = refused(lab, "missing"), refused(lab, "wrong")
    answers(lab)
    assert (refused(lab, "missing"), refused(lab, "wrong")) == (missing, wrong)
    for arguments, reason in ((), "missing"), (("--tag-key", str(key)), "wrong"):
        before = refused(lab, reason)
        with keyed(lab, *arguments):
            with pytest.raises(TimeoutError):
                client.connect(topology.VIP, topology.VIP_PORT, 2)
            until(f"the SYN's tag is counted as {reason}", lambda b=before, r=reason: refused(lab, r) > b, 60)
    answers(lab)
