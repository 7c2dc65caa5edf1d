# SPDX-License-Identifier: Apache-2.0
"""
Packets that name a second bucket, with real connections: server a has them, b owns the packets' first bucket.

     mux -> b: no local socket -> the second bucket's owner: a, or c or d and on to a, or b itself
"""

import itertools
import struct
import time

import pytest
from forms import SECONDS
from rack import CLIENT, SERVERS, SERVERS6, VIP, Client, Rack
from steering_mux import BUCKET, Second
from test_cases import ACK, ICMP, KEY, TCP, checksum, ipv4, tcp

from lab.deadline import until

FAMILIES = {"IPv4": SERVERS, "IPv6": SERVERS6}


def now() -> int:
    return int(time.time())


def connect_at_a(rack: Rack, ipv6: bool = False) -> Client:
    """A connection of a, whose packets go to b from now on: a is their second bucket's owner."""
    client = rack.connect(ipv6=ipv6)
    assert client.ask() == "a"
    rack.mux.owner, rack.mux.second = "b", Second("a")
    return client


def passed_on(rack: Rack, name: str) -> int:
    counters = rack[name].show()["counters"]
    return counters["pass_on"] + counters["pass_on_by_kernel"]


def settled(rack: Rack) -> tuple[int, dict[str, dict]]:
    """How many packets the mux has sent, and each server's counters when all of them are delivered."""
    until("all packets are delivered", lambda: rack.delivered() == rack.mux.sent, SECONDS)
    return rack.mux.sent, {name: server.show()["counters"] for name, server in rack.servers.items()}


def check_counted(rack: Rack, name: str, before: dict, counter: str) -> None:
    """The one packet since then has ended in this counter."""
    until(f"{counter} is counted", lambda: rack[name].counter(counter) == before[counter] + 1, SECONDS)
    ends = ("pass_on", "pass_on_by_kernel", "chain", "chain_by_kernel", "drop_stale", "deliver_unknown")
    after = rack[name].show()["counters"]
    assert [end for end in ends if after[end] != before[end]] == [counter] * (counter in ends)


def test_connection_is_found(rack: Rack, way: tuple[str, ...]) -> None:
    """It stays on its server; a new one goes to the first bucket's owner, and no packet is lost."""
    rack.attach(*way)
    client = connect_at_a(rack)
    assert {client.ask(str(n)) for n in range(50)} == {"a"}
    new = rack.connect()
    assert (new.ask(), client.ask()) == ("b", "a")
    assert passed_on(rack, "b") >= 50
    assert rack["b"].counter("deliver_syn") == 1
    assert rack.counted("deliver_unknown") == rack.counted("promoted") == 0
    settled(rack)


def test_without_the_second_bucket_it_breaks(rack: Rack) -> None:
    """The counterpart of the previous test."""
    rack.attach()
    client = connect_at_a(rack)
    rack.mux.second = None
    with pytest.raises(ConnectionResetError):
        client.ask()


@pytest.mark.parametrize("inner", FAMILIES)
@pytest.mark.parametrize("second", FAMILIES)
@pytest.mark.parametrize("outer", FAMILIES)
def test_families(rack: Rack, outer: str, second: str, inner: str) -> None:
    """From each outer family to each; the first packet before the neighbour is resolved, and segments of full size."""
    rack.mux.addresses |= {"a": FAMILIES[second]["a"], "b": FAMILIES[outer]["b"]}
    rack.attach_both()
    client = connect_at_a(rack, ipv6=inner == "IPv6")
    rack["b"].namespace.ip("neigh flush all")
    assert client.ask() == "a"
    by_kernel = rack["b"].counter("pass_on_by_kernel")
    assert bool(by_kernel) == bool(rack.by_kernel)
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    assert client.ask("x" * 100_000) == "a"
    assert rack["b"].counter("pass_on_by_kernel") == by_kernel
    assert rack["b"].counter("pass_on") >= 20
    assert rack.connect(ipv6=inner == "IPv6").ask() == "b"
    assert rack.counted("deliver_unknown") == 0


@pytest.mark.parametrize("families", itertools.product(FAMILIES, FAMILIES), ids="-".join)
@pytest.mark.parametrize("is_tagged", [False, True], ids=["without tags", "tagged"])
def test_longest_way(rack: Rack, is_tagged: bool, families: tuple[str, str]) -> None:
    """
    Three hops by the first bucket, which has moved back and forth between b and c; then to d, and by the second
    bucket's three moves to c, b and a. The servers' addresses alternate between the families.
    """
    rack.add("d")
    rack.mux.addresses |= {name: FAMILIES[families[n % 2]][name] for n, name in enumerate("abcd")}
    rack.mux.key = KEY if is_tagged else None
    words = ("--tag-key", rack.form.file("key", KEY.hex() + "\n")) if is_tagged else ()
    rack.attach_both(*words)
    rack.mux.bucket = BUCKET + 1
    client = rack.connect()
    for owner in "bcd":
        rack.mux.move(owner, now())
        assert client.ask(owner) == "a"
    rack.mux.second = Second("d", rack.mux.since, rack.mux.previous)
    rack.mux.bucket, rack.mux.owner = BUCKET, "c"
    for owner, since in (("b", now() - 2), ("c", now() - 1)):
        rack.mux.move(owner, since)
        assert rack.connect().ask() == owner
    sent, before = settled(rack)
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    assert client.ask("x" * 50_000) == "a"
    sent_then, after = settled(rack)
    packets = sent_then - sent
    assert packets >= 20
    grown = {name: {key: after[name][key] - before[name][key] for key in after[name]} for name in "abcd"}
    chained = {name: counts["chain"] + counts["chain_by_kernel"] for name, counts in grown.items()}
    # by the first bucket from c to b, to c, to b; by the second from d to c, to b, to a
    assert chained == {"a": 0, "b": 2 * packets, "c": 3 * packets, "d": packets}
    assert grown["b"]["pass_on"] + grown["b"]["pass_on_by_kernel"] == packets
    assert sum(count for counts in grown.values() for name, count in counts.items() if name.startswith("drop_")) == 0


@pytest.mark.parametrize("own", [SERVERS["b"], SERVERS6["b"]], ids=["own IPv4", "own IPv6"])
def test_promoted_in_place(rack: Rack, own: str, way: tuple[str, ...]) -> None:
    """b owns both buckets: it learns the second one's move, chains by it, and by what it remembers of it."""
    rack.mux.addresses["self"] = own
    rack.attach_both(*way)
    client = connect_at_a(rack)
    rack.mux.generation, rack.mux.second = 2, Second("self", now(), "a")
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    counters = rack["b"].show()["counters"]
    assert counters["promoted"] >= 20
    assert counters["promoted"] == counters["chain"] + counters["chain_by_kernel"]
    assert (counters["learned"], passed_on(rack, "b")) == (1, 0)
    rack.mux.generation, rack.mux.second.since = 1, None  # a mux that has not applied the second bucket's move
    assert client.ask() == "a"
    rack.mux.generation = 2  # one that has, and knows no previous owner any more
    with pytest.raises(ConnectionResetError):
        client.ask()


def test_promoted_in_place_and_nothing_else(rack: Rack) -> None:
    """Without a move of the second bucket: stale from a late mux, or reset."""
    rack.attach()
    rack.mux.owner, rack.mux.second, rack.mux.generation = "b", Second("b"), 5
    kept = rack.connect()  # closed, it might acknowledge a FIN again when b has no socket any more
    assert kept.ask() == "b"
    before = rack["b"].show()["counters"]
    rack.mux.generation = 4
    rack.mux.send(tcp("10.3.0.1", 50000, ACK))
    check_counted(rack, "b", before, "drop_stale")
    assert (before["promoted"], rack["b"].counter("promoted")) == (0, 1)
    rack.mux.owner, rack.mux.second, rack.mux.generation = "a", None, 5
    client = connect_at_a(rack)
    rack.mux.second = Second("b")
    with pytest.raises(ConnectionResetError):
        client.ask()


def test_late_mux_does_not_matter(rack: Rack) -> None:
    """b would drop the packet as stale, but its second bucket says where to look."""
    rack.attach()
    client = connect_at_a(rack)
    rack.mux.generation = 5
    assert rack.connect().ask() == "b"
    rack.mux.generation = 4
    assert {client.ask(str(n)) for n in range(5)} == {"a"}
    assert rack.counted("drop_stale") == 0


def test_syn_cookie_of_the_first_owner(rack: Rack) -> None:
    """A handshake ends where it began, whatever its packets say of a second bucket."""
    rack["b"].namespace.sysctl(ipv4__tcp_syncookies=2)
    rack.attach()
    rack.mux.owner, rack.mux.second = "b", Second("a")
    client = rack.connect()
    sockets = ("ss", "-Htn", "state", "established", "sport", "=", ":80")
    until("b has a socket", lambda: rack["b"].namespace.run(*sockets), SECONDS)  # data before it counts as a cookie
    assert client.ask() == "b"
    assert rack["b"].counter("deliver_cookie_ack") == 1
    assert passed_on(rack, "b") == 0


def test_datagrams_and_later_fragments_stay(rack: Rack) -> None:
    """No RST would answer them: the first bucket's owner has them."""
    for server in rack.servers.values():
        server.serve_datagrams(53)
    rack.attach()
    rack.mux.owner, rack.mux.second = "b", Second("a")
    assert rack.ask_datagram(53, b"x") == "b 1"
    assert rack.ask_datagram(53, bytes(4000)) == "b 4000"
    assert rack["b"].counter("deliver_no_reset") == 4
    assert passed_on(rack, "b") == 0


def test_icmp_error_is_passed_on(rack: Rack) -> None:
    """A router's "fragmentation needed" about a's packets goes by the connection that it quotes."""
    rack.attach()
    client = connect_at_a(rack)
    assert client.ask() == "a"
    before = passed_on(rack, "b")
    route = ("ip", "route", "get", CLIENT, "from", VIP)

    def shrunk() -> bool:
        """Sends the error about what the client's last packet acknowledges, and asks a."""
        segment = struct.pack("!HH", 80, client.port) + rack.mux.last[client.port][28:32]
        about = ipv4(VIP, CLIENT, TCP, segment)
        message = struct.pack("!BBHHH", 3, 4, 0, 0, 1400) + about[:2] + (1500).to_bytes(2) + about[4:]
        rack.mux.send(ipv4("10.2.0.1", VIP, ICMP, message[:2] + checksum(message) + message[4:]))
        return "mtu 1400" in rack["a"].namespace.run(*route)

    until("a has a smaller path MTU", shrunk, SECONDS)
    assert passed_on(rack, "b") > before
    assert "mtu" not in rack["b"].namespace.run(*route)
    assert client.ask("x" * 50_000) == "a"


@pytest.mark.parametrize("none", ["0.0.0.0", "::"])
def test_unspecified_owner(rack: Rack, none: str) -> None:
    rack.mux.addresses["none"] = none
    rack.attach_both()
    client = connect_at_a(rack)
    rack.mux.second = Second("none")
    with pytest.raises(ConnectionResetError):
        client.ask()
    assert (passed_on(rack, "b"), rack["b"].counter("promoted")) == (0, 0)


def test_what_cannot_be_passed_on(rack: Rack) -> None:
    """Each has the counter of what cannot be chained."""
    rack.machine.ip("route add blackhole 10.3.0.0/16")
    rack.mux.addresses |= {"far": "10.8.0.1", "none": "10.7.0.1", "a6": SERVERS6["a"]}
    rack["b"].namespace.ip(f"route add 10.8.0.0/16 via {SERVERS['a']} mtu lock 600", "route add blackhole 10.7.0.0/16")
    rack.attach()
    rack.mux.owner = "b"
    # inner headers 40, outer IPv4 20, UDP 8, GUE 4, steer header 12 and 8 for the second bucket
    rows = [
        ("far", 600 - 92 + 2, "drop_chain_too_big"),
        ("none", 0, "drop_chain_unroutable"),
        ("a6", 0, "drop_chain_family"),
    ]
    for second, length, counter in rows:
        rack.mux.second = Second(second)
        before = rack["b"].show()["counters"]
        rack.mux.send(tcp("10.3.0.1", 50000, ACK, data=bytes(length)))
        check_counted(rack, "b", before, counter)
    rack["b"].namespace.ip(f"neigh replace {SERVERS['a']} lladdr 02:00:00:00:00:21 nud permanent dev eth0")
    rack.mux.second = Second("far")
    before = rack["b"].show()["counters"]
    rack.mux.send(tcp("10.3.0.1", 50000, ACK, data=bytes(600 - 92)))
    check_counted(rack, "b", before, "pass_on")
