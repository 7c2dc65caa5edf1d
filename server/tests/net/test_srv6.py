# SPDX-License-Identifier: Apache-2.0
"""
Segment routing with real connections, beside Linux's own nodes.

     our mux -> our servers a, b -> our server c, or a foreign end-point (ip route .. encap seg6local) in its place
"""

import contextlib
import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_address

import pytest
from forms import SECONDS
from rack import CLIENT, MUX6, SERVERS6, VIP, Client, Rack
from test_load import load, tell

from lab.deadline import until
from protocol.vectors.oracle import list_srv6

FAMILIES = {"IPv4": False, "IPv6": True}
KEY = bytes(range(16))
SID = "2001:db8:50::1"  # of a foreign end-point
IPPROTO_ROUTING = 43


@pytest.fixture
def srv6_rack(rack: Rack) -> Iterator[Rack]:
    """The rack with a mux that sends SRHs."""
    with rack.machine.inside():
        out = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)

    def send(packet: bytes, owner: str) -> None:
        to = rack.mux.addresses[owner]
        outer = b"\x60\x05\x43\x21" + len(packet).to_bytes(2) + bytes([IPPROTO_ROUTING, 64])
        outer += ip_address(MUX6).packed + ip_address(to).packed
        out.sendto(outer + packet, (to, 0))

    def encapsulate(packet: bytes, owner: str) -> bytes:
        whole = list_srv6.write(rack.mux.fields(packet, owner)) + packet
        return whole if rack.mux.key is None else list_srv6.put(rack.mux.key, whole, rack.mux.addresses[owner])

    rack.mux.addresses = dict(SERVERS6)
    rack.mux.encapsulate = encapsulate
    rack.mux.send_raw = send
    yield rack
    rack.mux.close()  # whose thread sends by it
    rack.mux = None
    out.close()


def end_point(rack: Rack, name: str, action: str) -> None:
    """Linux's own end-point at SID on a server that runs nothing of ours; all others know the way."""
    rack[name].namespace.sysctl(ipv6__conf__all__seg6_enabled=1, ipv6__conf__eth0__seg6_enabled=1)
    rack[name].namespace.ip(f"route add {SID}/128 encap seg6local {action} dev eth0")
    for other in (rack.machine, *(server.namespace for server in rack.servers.values() if server.name != name)):
        other.ip(f"route add {SID}/128 via {SERVERS6[name]}")
    rack.mux.addresses["sid"] = SID


END_POINTS = {"IPv4": f"action End.DX4 nh4 {VIP}", "IPv6": "action End.DT6 table 255"}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "key"])
def test_our_mux(srv6_rack: Rack, way: tuple[str, ...], family: str, key: bytes | None) -> None:
    """Sent on to a former owner, to a second bucket's owner, and both; nothing is reset or dropped."""
    rack = srv6_rack
    rack.mux.key = key
    words = ("--tag-key", rack.form.file("key", key.hex() + "\n")) if key else ()
    rack.attach_both(*way, *words)
    client = rack.connect(ipv6=FAMILIES[family])
    assert client.ask() == "a"
    rack.mux.move("b")
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    assert rack["b"].chained() >= 20
    new = rack.connect(ipv6=FAMILIES[family])
    assert new.ask() == "b"
    rack.mux.owner, rack.mux.second = "c", "b"
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    assert (client.ask("x" * 100_000), new.ask("x" * 100_000)) == ("a", "b")
    assert rack["c"].chained() >= 20
    assert rack.counted("deliver_unknown") == 0
    assert [
        n for s in rack.servers.values() for n, count in s.show()["counters"].items() if "drop" in n and count
    ] == []


@pytest.mark.parametrize(("family", "key"), [("IPv4", None), ("IPv6", KEY)], ids=["IPv4", "IPv6 and a key"])
def test_busy_server_passes_connections_on(
    srv6_rack: Rack, way: tuple[str, ...], family: str, key: bytes | None
) -> None:
    """a is asked first and b takes what it refuses, whatever b has to do; later packets find b by its segment."""
    rack = srv6_rack
    rack.mux.key = key
    rack.attach_both(*way, *(("--tag-key", rack.form.file("key", key.hex() + "\n")) if key else ()))
    rack.mux.owner, rack.mux.second = "a", "b"
    older = rack.connect(ipv6=FAMILIES[family])
    tell(rack, "a", "static", 4, 4)
    tell(rack, "b", "static", 9, 4)
    refused = [rack.connect(ipv6=FAMILIES[family]) for _ in range(5)]
    assert [client.ask() for client in refused] == ["b"] * 5
    assert refused[0].ask("x" * 50_000) == "b"
    tell(rack, "a", "always", 4, 4)  # refuses nothing
    taken = rack.connect(ipv6=FAMILIES[family])
    assert (older.ask(), taken.ask(), refused[0].ask()) == ("a", "a", "b")
    counted = {
        name: tuple(load(rack, name)[word] for word in ("offered", "taken", "passed", "unasked")) for name in "ab"
    }
    assert counted == {"a": (6, 1, 5, 0), "b": (0, 0, 0, 5)}
    assert rack["a"].chained() >= 5 * 3  # at least SYN, the handshake's end and a question
    assert rack.counted("deliver_unknown") == 0


def test_foreign_headend(rack: Rack) -> None:
    """A packet has no room for our TLV: it is no list."""
    rack.attach_both()
    rack.machine.run("ip", "sr", "tunsrc", "set", MUX6)
    way = f"encap seg6 mode encap segs {SERVERS6['a']} dev eth0"
    rack.machine.ip(f"route del {VIP}/32", f"route replace {VIP}/32 src {CLIENT} {way}")

    def is_refused() -> bool:
        with contextlib.suppress(TimeoutError):
            rack.connect(1)
        return rack["a"].counter("drop_malformed_length") >= 1

    until("it is refused", is_refused, SECONDS)
    assert rack["a"].counter("deliver_syn") == 0


def check_two(rack: Rack, family: str, connect: Callable[..., Client]) -> None:
    """Connections of the end-point on c: as the present owner, without a list, and as the last of our server a's."""
    rack.mux.owner = "sid"
    client = connect(ipv6=FAMILIES[family])
    assert client.ask() == "c"
    rack.mux.move("a")
    assert {client.ask(str(n)) for n in range(20)} == {"c"}
    assert rack["a"].chained() >= 20
    new = connect(ipv6=FAMILIES[family])
    assert new.ask() == "a"
    rack.mux.move("b")
    rack.mux.former = ["a", "sid"]
    assert {client.ask(str(n)) for n in range(20)} == {"c"}
    assert {new.ask(str(n)) for n in range(20)} == {"a"}
    assert rack["b"].chained() >= 40


@pytest.mark.parametrize("family", FAMILIES)
def test_foreign_end_point(srv6_rack: Rack, way: tuple[str, ...], family: str) -> None:
    rack = srv6_rack
    for name in ("a", "b"):
        rack[name].attach_both(*way, "--servers", SID)
    end_point(rack, "c", END_POINTS[family])
    check_two(rack, family, rack.connect)


def test_foreign_end_point_that_forwards(srv6_rack: Rack, way: tuple[str, ...]) -> None:
    """End.DX6 on b hands the inner packet to c, which has the VIP and nothing of ours."""
    rack = srv6_rack
    rack["a"].attach_both(*way, "--servers", SID)
    end_point(rack, "b", f"action End.DX6 nh6 {SERVERS6['c']}")
    rack.mux.owner = "sid"
    client = rack.connect(ipv6=True)
    assert client.ask() == "c"
    rack.mux.move("a")
    assert {client.ask(str(n)) for n in range(20)} == {"c"}
    assert rack["a"].chained() >= 20
