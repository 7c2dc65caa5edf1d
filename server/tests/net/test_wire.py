# SPDX-License-Identifier: Apache-2.0
"""Servers on the wire: real TCP connections while their bucket moves, natively and in generic XDP."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from forms import SECONDS
from rack import MUX, SERVERS, Rack

from lab.deadline import until


def check_nothing_lost(rack: Rack) -> None:
    """Each packet that the mux sent was delivered once, however often it was chained on its way."""
    until("all packets are delivered", lambda: rack.delivered() == rack.mux.sent, SECONDS)


def test_connection_is_served(rack: Rack, way: tuple[str, ...]) -> None:
    rack.attach(*way)
    client = rack.connect()
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    counters = rack["a"].show()["counters"]
    assert counters["deliver_syn"] == 1
    assert counters["deliver_local_socket"] >= 20
    assert counters["deliver_unknown"] == 0
    check_nothing_lost(rack)


def test_moved_connection_is_chained(rack: Rack, way: tuple[str, ...]) -> None:
    """It stays on its server, while a new one goes to the bucket's new owner."""
    rack.attach(*way)
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.move("b")
    assert {client.ask(str(n)) for n in range(100)} == {"a"}
    assert rack.connect().ask() == "b"
    counters = rack["b"].show()["counters"]
    assert rack["b"].chained() >= 100
    assert counters["deliver_syn"] == 1
    assert rack["b"].show()["services"] == {"1": {"generation": 2}}
    check_nothing_lost(rack)


def test_without_chaining_it_breaks(rack: Rack) -> None:
    """The counterpart of the previous test: without chaining, the same move resets the connection."""
    rack.attach("--no-chaining")
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.move("b")
    with pytest.raises(ConnectionResetError):
        client.ask()
    assert rack["b"].chained() == 0
    assert rack["b"].counter("deliver_unknown") >= 1


def test_first_chained_packet_is_not_lost(rack: Rack) -> None:
    """The former owner's MAC is not resolved yet: the kernel resolves it, and queues the packet meanwhile."""
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    rack["b"].namespace.ip("neigh flush all")
    rack.mux.move("b")
    assert client.ask() == "a"
    assert rack["b"].counter("chain_by_kernel") == rack.by_kernel
    assert {client.ask(str(n)) for n in range(20)} == {"a"}
    assert rack["b"].counter("chain_by_kernel") == rack.by_kernel
    assert rack["b"].counter("chain") >= 20
    check_nothing_lost(rack)


def test_moved_twice_is_chained_twice(rack: Rack) -> None:
    rack.attach()
    first = rack.connect()
    rack.mux.move("b")
    second = rack.connect()
    assert (first.ask(), second.ask()) == ("a", "b")
    rack.mux.move("c")
    assert (first.ask(), second.ask(), rack.connect().ask()) == ("a", "b", "c")
    assert rack["c"].chained() >= 2
    check_nothing_lost(rack)


def test_large_segments_are_chained(rack: Rack) -> None:
    """Full frames in both directions, with inner packets of the client's MTU."""
    rack.attach()
    client = rack.connect()
    client.ask()
    rack.mux.move("b")
    assert client.ask("x" * 300_000) == "a"
    assert rack["b"].chained() > 200


def test_replacing_the_program_loses_nothing(rack: Rack) -> None:
    """Eight re-attachments under traffic: no packet lost, what was learned kept, the new configuration in effect."""
    rack.attach()
    client = rack.connect()
    rack.mux.move("b")
    assert client.ask() == "a"
    before, chained = rack["b"].show(), rack["b"].chained()
    for seconds in range(1000, 1008):
        rack["b"].attach("--quiet", str(seconds))
        assert client.ask() == "a"
    after = rack["b"].show()
    assert after["services"] == before["services"]
    assert rack["b"].chained() > chained > 0
    assert after["config"]["quietSeconds"] == 1007
    check_nothing_lost(rack)


def test_replacing_under_load_loses_nothing(rack: Rack) -> None:
    """The same, with packets sent all the time."""
    rack.attach()
    client = rack.connect()
    rack.mux.move("b")
    asked = attachments = 0
    while attachments < 5 or asked < 100:
        with ThreadPoolExecutor(1) as aside:
            attached = aside.submit(rack["b"].attach, "--quiet", str(1000 + attachments))
            while not attached.done():
                assert client.ask(str(asked)) == "a"
                asked += 1
            attached.result()
        attachments += 1
    check_nothing_lost(rack)


def test_stale_packet_is_dropped_not_reset(rack: Rack) -> None:
    """A mux that lags behind: the client retransmits, and the connection continues once the mux has caught up."""
    rack.attach()
    client = rack.connect()
    rack.mux.generation = 5
    assert client.ask() == "a"
    rack.mux.flows[40001] = "b"
    assert rack.connect(port=40001).ask() == "b"  # b learns of generation 5
    rack.drop_late(client)


def test_unknown_everywhere_is_reset(rack: Rack) -> None:
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.move("b")
    rack.mux.former = []
    with pytest.raises(ConnectionResetError):
        client.ask()
    assert rack["b"].counter("deliver_unknown") >= 1


def test_syn_cookie_survives_a_move(rack: Rack) -> None:
    """The SYN went to a, which answered with a cookie and kept no state; the ACK goes to b, and back to a."""
    rack["a"].namespace.sysctl(ipv4__tcp_syncookies=2)
    rack["b"].namespace.sysctl(ipv4__tcp_syncookies=0)  # one kernel, one secret: it would accept a's cookies
    rack.attach()
    rack.mux.after_syn = lambda: rack.mux.move("b")
    client = rack.connect()
    assert rack.mux.owner == "b"
    sockets = ("ss", "-Htn", "state", "established", "sport", "=", ":80")
    until("a has a socket", lambda: rack["a"].namespace.run(*sockets), SECONDS)  # data before it counts as a cookie
    assert client.ask() == "a"
    assert rack["a"].counter("deliver_cookie_ack") == 1
    assert rack["b"].chained() >= 1


def test_stranger_is_refused(rack: Rack) -> None:
    for server in rack.servers.values():
        server.attach("--peers", "10.1.0.20/30,10.1.0.99")
    with pytest.raises(TimeoutError):
        rack.connect(seconds=1)
    until("it is counted", lambda: rack["a"].counter("drop_untrusted_sender") >= 1, SECONDS)
    rack["a"].attach("--peers", MUX)
    assert rack.connect().ask() == "a"


def test_missing_vip_is_named(rack: Rack) -> None:
    rack.attach()
    rack["a"].namespace.ip("addr del 10.99.0.1/32 dev lo")
    with pytest.raises(TimeoutError):
        rack.connect(seconds=1)
    until("it is counted", lambda: rack["a"].counter("drop_vip_not_local") >= 1, SECONDS)


def test_other_traffic_is_left_alone(rack: Rack) -> None:
    """TCP to the server's own address passes through the attached interface."""
    rack.attach()
    rack["a"].serve(SERVERS["a"], port=8080)
    with rack.machine.connect(SERVERS["a"], 8080, SECONDS) as connection:
        connection.sendall(b"hello\n")
        assert connection.recv(8, socket.MSG_WAITALL) == b"a hello\n"
    if rack.form.name == "bpf":  # the module receives only its own packets
        assert rack["a"].counter("pass_not_ours") >= 3
