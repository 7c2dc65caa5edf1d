# SPDX-License-Identifier: Apache-2.0
"""The named cases of the decision on the wire: real sockets on three servers, and packets that sockets never send."""

import collections
import itertools
import json
import struct
from pathlib import Path

import pytest
from forms import SECONDS
from rack import CLIENT, PEERS, SERVERS, SERVERS6, VIP, Rack
from segments import ACK, SYN, TCP, checksum, ipv4, tcp

from lab.deadline import until

VECTORS = Path(__file__).resolve().parents[3] / "protocol" / "vectors"
KEY = bytes(range(16))
UDP, ICMP = 17, 1


@pytest.fixture
def key(rack: Rack) -> str:
    return rack.form.file("key", KEY.hex() + "\n")


@pytest.mark.parametrize("inner_ipv6", [False, True], ids=["inner IPv4", "inner IPv6"])
@pytest.mark.parametrize("former", [SERVERS, SERVERS6], ids=["former IPv4", "former IPv6"])
@pytest.mark.parametrize("outer", [SERVERS, SERVERS6], ids=["outer IPv4", "outer IPv6"])
def test_families(rack: Rack, outer: dict, former: dict, inner_ipv6: bool) -> None:
    """Sent on from each outer family to each, the first packet before the neighbour is resolved; none is lost."""
    rack.mux.addresses |= {"a": former["a"], "b": outer["b"]}
    rack.attach_both()
    client = rack.connect(ipv6=inner_ipv6)
    assert client.ask() == "a"
    rack["b"].namespace.ip("neigh flush all")
    rack.mux.move("b")
    assert client.ask() == "a"
    assert rack["b"].counter("chain_by_kernel") == rack.by_kernel
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    assert client.ask("x" * 100_000) == "a"
    assert rack["b"].counter("chain_by_kernel") == rack.by_kernel
    assert rack["b"].counter("chain") >= 20
    assert rack.connect(ipv6=inner_ipv6).ask() == "b"
    assert rack.counted("deliver_unknown") == 0


def test_moved_twice_over_both_families(rack: Rack, way: tuple[str, ...]) -> None:
    rack.mux.addresses |= {"b": SERVERS6["b"]}
    rack.attach_both(*way)
    client = rack.connect()
    rack.mux.move("b")
    assert client.ask() == "a"
    rack.mux.move("c")
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    assert rack["c"].chained() >= 20
    assert rack["b"].chained() >= 20


def test_right_tag(rack: Rack, key: str) -> None:
    """With tags everywhere: the mux's is right at each of two hops, one of which changes the family."""
    rack.mux.addresses |= {"b": SERVERS6["b"]}
    rack.mux.key = KEY
    for server in rack.servers.values():
        server.attach_both("--tag-key", key)
    client = rack.connect()
    rack.mux.move("b")
    assert client.ask() == "a"
    rack.mux.move("c")
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    assert rack.connect(ipv6=True).ask() == "c"
    assert rack["c"].chained() >= 20
    for name in ("sender", "tag_missing", "tag_wrong"):
        assert rack.counted(f"drop_untrusted_{name}") == 0


@pytest.mark.parametrize(("mux_key", "counter"), [(None, "tag_missing"), (bytes(16), "tag_wrong")])
def test_missing_or_wrong_tag(rack: Rack, key: str, mux_key: bytes | None, counter: str) -> None:
    rack.attach("--tag-key", key)
    rack.mux.key = mux_key
    with pytest.raises(TimeoutError):
        rack.connect(seconds=1)
    until("it is counted", lambda: rack["a"].counter(f"drop_untrusted_{counter}") >= 1, SECONDS)
    rack.mux.key = KEY
    assert rack.connect().ask() == "a"
    rack["a"].attach()  # a server without the key ignores tags
    assert rack.connect().ask() == "a"


def test_moved_three_times(rack: Rack) -> None:
    """To a fourth server: its packets lead back to each owner before."""
    rack.add("d")
    rack.attach()
    clients = {"a": rack.connect()}
    for owner in ("b", "c", "d"):
        rack.mux.move(owner)
        clients[owner] = rack.connect()
    for turn in range(5):
        assert {owner: client.ask(str(turn)) for owner, client in clients.items()} == {one: one for one in clients}
    assert [rack[name].chained() > 0 for name in "dcba"] == [True, True, True, False]
    assert rack.counted("deliver_unknown") == 0


def test_back_and_forth(rack: Rack) -> None:
    """From a to b to c to b: each server's connections find it, and an unknown one is reset after all were asked."""
    rack.machine.ip("route add blackhole 10.3.0.0/16")  # which takes the RST
    rack.attach()
    clients = {"a": rack.connect()}
    for owner in ("b", "c", "b"):
        rack.mux.move(owner)
        clients.setdefault(owner, rack.connect())
    assert rack.mux.former == ["c", "a"]
    for turn in range(5):
        assert {owner: client.ask(str(turn)) for owner, client in clients.items()} == {one: one for one in clients}
    until("all packets are delivered", lambda: rack.delivered() == rack.mux.sent, SECONDS)
    before = [rack[name].chained() for name in "abc"]
    rack.mux.send(tcp("10.3.0.1", 50001, ACK))
    until("it is given up", lambda: rack["a"].counter("deliver_unknown") == 1, SECONDS)
    assert [rack[name].chained() - count for name, count in zip("abc", before, strict=True)] == [0, 1, 1]
    assert rack.counted("deliver_unknown") == 1


def test_server_restarts_in_a_held_chain(rack: Rack) -> None:
    """Servers remember nothing of moves: one that lost everything still sends a's packets on to a."""
    rack.attach()
    client = rack.connect()
    rack.mux.move("b")
    rack.mux.move("c")
    assert client.ask() == "a"
    for name in ("c", "b"):
        rack[name].detach()
        rack[name].attach()
        assert {client.ask(str(n)) for n in range(5)} == {"a"}
    assert rack["b"].show()["services"] == {"1": {"generation": 3}}


def test_quiet_start(rack: Rack) -> None:
    """Attached a moment ago, a server resets nothing: what it and its list do not know waits for another mux."""
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    rack["b"].detach()
    rack["b"].attach("--quiet", "600")
    rack.mux.flows[client.port] = "b"
    client.stream.write(b"quiet\n")
    client.stream.flush()
    until("it is stale", lambda: rack["b"].counter("drop_stale") >= 1, SECONDS)
    rack.mux.flows.clear()
    assert client.stream.readline() == b"a quiet\n"
    assert rack["b"].counter("deliver_unknown") == 0
    assert rack["b"].show()["quietSecondsLeft"] > 0
    for seconds in ("0", "600"):  # attached again it does not know what it was not told, of peers that are new
        rack["b"].attach("--quiet", seconds)
        assert (rack["b"].show()["quietSecondsLeft"] > 0) == (seconds == "600")
    assert rack["b"].show()["services"] == {"1": {"generation": 1}}


def test_late_mux_in_a_chain(rack: Rack) -> None:
    """b has seen a later generation than the packet's mux: a, which has not, does not reset what b sends on."""
    rack.machine.ip("route add blackhole 10.3.0.0/16")
    rack.attach()
    rack.mux.move("b")
    late = rack.mux.generation
    rack.mux.generation += 1
    assert rack.connect().ask() == "b"
    rack.mux.generation = late
    rack.mux.send(tcp("10.3.0.1", 50001, ACK))
    until("it is stale", lambda: rack["a"].counter("drop_stale") == 1, SECONDS)
    assert rack.counted("deliver_unknown") == 0


def test_second_bucket(rack: Rack) -> None:
    """Its owner has the connection; datagrams and later fragments stay with the first one's."""
    for server in rack.servers.values():
        server.serve_datagrams(53)
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.owner, rack.mux.second = "b", "a"
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    assert rack.connect().ask() == "b"
    assert rack["b"].chained() >= 20
    chained = rack["b"].chained()
    assert rack.ask_datagram(53, b"x") == "b 1"
    assert rack.ask_datagram(53, bytes(4000)) == "b 4000"
    assert rack["b"].chained() == chained
    rack.mux.second = None
    with pytest.raises(ConnectionResetError):
        client.ask()


def test_next_hop_that_is_no_server(rack: Rack) -> None:
    """It is not sent to, whatever the list says."""
    rack.attach()
    client = rack.connect()
    rack["b"].attach("--peers", "10.1.0.11", "--servers", SERVERS["c"])
    rack.mux.move("b")
    client.stream.write(b"kept\n")
    client.stream.flush()
    until("it is dropped", lambda: rack["b"].counter("drop_untrusted_next") >= 1, SECONDS)
    assert rack["b"].chained() == 0
    rack["b"].attach()
    assert client.stream.readline() == b"a kept\n"


def test_two_muxes_disagree(rack: Rack) -> None:
    """One mux has applied the move, the other has not: a connection that changes between them survives."""
    rack.attach()
    older = (rack.mux.owner, rack.mux.generation, [])
    rack.mux.move("b")
    newer = (rack.mux.owner, rack.mux.generation, rack.mux.former)
    assert rack.connect().ask() == "b"
    rack.mux.owner, rack.mux.generation, rack.mux.former = older
    client = rack.connect()
    for turn in range(10):
        rack.mux.owner, rack.mux.generation, rack.mux.former = newer if turn % 2 else older
        assert client.ask(str(turn)) == "a"
    assert rack["b"].chained() >= 5


def test_mux_ends_the_window(rack: Rack) -> None:
    """Connections of the new owner survive; one of the former owner, which no packet names any more, is reset."""
    rack.attach()
    old = rack.connect()
    rack.mux.move("b")
    new = rack.connect()
    assert (old.ask(), new.ask()) == ("a", "b")
    rack.mux.former = []
    assert new.ask() == "b"
    with pytest.raises(ConnectionResetError):
        old.ask()


def test_syn_flood(rack: Rack) -> None:
    """b's listener is flooded and answers with cookies; real handshakes complete, a's connection is still chained."""
    for server in rack.servers.values():
        server.namespace.sysctl(ipv4__tcp_syncookies=1, ipv4__tcp_max_syn_backlog=16, core__somaxconn=16)
    rack.machine.ip("route add blackhole 10.3.0.0/16")  # from an address without a host
    rack.attach()
    client = rack.connect()
    rack.mux.move("b")
    sources = ((f"10.3.{number // 250}.{number % 250 + 1}", 1024 + number) for number in range(60000))

    def flooded() -> bool:  # a queue may drop some of them: the flood continues until enough have arrived
        for source, port in itertools.islice(sources, 100):
            rack.mux.send(tcp(source, port, SYN))
        return rack["b"].counter("deliver_syn") >= 1000

    until("a thousand SYNs arrive", flooded, SECONDS)
    assert {rack.connect().ask() for _ in range(20)} == {"b"}
    assert rack["b"].counter("deliver_cookie_ack") >= 20
    assert client.ask() == "a"


def test_syn_sent_again_after_the_move(rack: Rack) -> None:
    """A late duplicate opens a connection at b that a has already answered: the client's next packets are not b's."""
    rack.attach()
    client = rack.connect()
    until("the handshake is complete", lambda: rack.mux.last[client.port][33] == ACK, SECONDS)
    first = int.from_bytes(rack.mux.last[client.port][24:28]) - 1
    rack.mux.move("b")
    rack.mux.send(tcp(CLIENT, client.port, SYN, first))
    until("b has the SYN", lambda: rack["b"].counter("deliver_syn") == 1, SECONDS)
    assert {client.ask(str(n)) for n in range(5)} == {"a"}
    assert rack["b"].chained() >= 5
    assert rack.counted("deliver_unknown") == 0


def test_datagrams(rack: Rack) -> None:
    """While a former owner is named a connected socket gets its own datagrams; others go there."""
    for server in rack.servers.values():
        server.serve_datagrams(53)
    rack["b"].serve_datagrams(53, (CLIENT, 40053))
    rack.attach()
    assert rack.ask_datagram(53, b"x") == "a 1"
    rack.mux.move("b")
    assert rack.ask_datagram(53, b"xy", 40053) == "b 2"
    assert rack.ask_datagram(53, b"xyz", 40054) == "a 3"
    rack.mux.former = []
    assert rack.ask_datagram(53, b"x", 40054) == "b 1"


def test_datagrams_by_a_late_mux(rack: Rack) -> None:
    """What no RST would answer is served, in several fragments, too; a TCP segment of no connection here is stale."""
    rack["a"].serve_datagrams(53)
    rack.attach()
    client = rack.connect()
    rack.mux.generation = 5
    assert client.ask() == "a"
    rack.mux.generation = 4
    assert rack.ask_datagram(53, b"x") == "a 1"
    assert rack.ask_datagram(53, bytes(4000)) == "a 4000"
    assert rack["a"].counter("deliver_no_reset") == 4
    assert rack["a"].counter("drop_stale") == 0
    rack.mux.send(tcp("10.3.0.1", 50001, ACK))
    until("it is stale", lambda: rack["a"].counter("drop_stale") == 1, SECONDS)


def test_fragments(rack: Rack) -> None:
    """Both fragments of a large datagram take the same path and are reassembled at its end."""
    for server in rack.servers.values():
        server.serve_datagrams(53)
    rack.attach()
    assert rack.ask_datagram(53, bytes(4000)) == "a 4000"
    before = rack["b"].chained()
    rack.mux.move("b")
    assert rack.ask_datagram(53, bytes(4000)) == "a 4000"
    assert rack["b"].chained() == before + 3


@pytest.mark.parametrize("quoted", [8, 20])
def test_icmp_error_follows_its_connection(rack: Rack, quoted: int) -> None:
    """A router's "fragmentation needed" about a's packets is sent to b, and reaches a, which sends smaller packets."""
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.move("b")
    assert client.ask() == "a"
    chained = rack["b"].chained()
    route = ("ip", "route", "get", CLIENT, "from", VIP)

    def shrunk() -> bool:
        """Sends the error, again if the client's last packet was not the last that a received, and queries a."""
        acknowledged = rack.mux.last[client.port][28:32]
        segment = struct.pack("!HH", 80, client.port) + acknowledged + bytes(12)
        about = ipv4(VIP, CLIENT, TCP, segment[:quoted])
        message = struct.pack("!BBHHH", 3, 4, 0, 0, 1400) + about[:2] + (1500).to_bytes(2) + about[4:]
        rack.mux.send(ipv4("10.2.0.1", VIP, ICMP, message[:2] + checksum(message) + message[4:]))
        return "mtu 1400" in rack["a"].namespace.run(*route)

    until("a has a smaller path MTU", shrunk, SECONDS)
    assert rack["b"].chained() > chained
    assert "mtu" not in rack["b"].namespace.run(*route)
    assert client.ask("x" * 50_000) == "a"


def test_every_malformed_header(rack: Rack) -> None:
    """Each is dropped under its own reason, and the server continues."""
    rows = json.loads((VECTORS / "list.json").read_text())["malformed"]
    rows = [row for row in rows if row["bytes"][2:4] != "3b"]  # notices, which are read as such
    rack.attach_both()
    for row in rows:
        rack.mux.addresses["a"] = (SERVERS6 if ":" in row["receiver"] else SERVERS)["a"]
        rack.mux.send_raw(bytes.fromhex(row["bytes"]), "a")
    expected = collections.Counter(f"drop_malformed_{row['error']}" for row in rows)
    malformed = "drop_malformed_"

    def found() -> dict:
        counters = rack["a"].show()["counters"]
        return {name: count for name, count in counters.items() if name.startswith(malformed) and count}

    until("all are dropped", lambda: sum(found().values()) >= len(rows), SECONDS)
    assert found() == dict(expected)
    rack.mux.addresses["a"] = SERVERS["a"]
    assert rack.connect().ask() == "a"


def test_sender_that_is_no_peer_teaches_nothing(rack: Rack) -> None:
    rack.attach()
    client = rack.connect()
    rack["b"].attach("--peers", SERVERS["a"])
    rack.mux.move("b")
    client.stream.write(b"refused\n")
    client.stream.flush()
    until("it is refused", lambda: rack["b"].counter("drop_untrusted_sender") >= 1, SECONDS)
    assert rack["b"].show()["services"] == {}
    rack["b"].attach("--peers", PEERS)
    assert client.stream.readline() == b"a refused\n"
