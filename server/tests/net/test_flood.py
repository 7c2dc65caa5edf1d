# SPDX-License-Identifier: Apache-2.0
"""A flood of ACKs of connections that no server has, at full lists: who gets them, and what becomes of others."""

from forms import SECONDS
from rack import Rack
from segments import ACK, tcp

from lab.deadline import until

BURST = 2000
NO_EXITS = ("pass_not_ours", "generation_jump", "skipped")


def visits(rack: Rack) -> int:
    """Packets of the mux and of servers that came to a server."""
    counters = [server.show()["counters"] for server in rack.servers.values()]
    return sum(count for one in counters for name, count in one.items() if name not in NO_EXITS)


def second(rack: Rack) -> int:
    """Packets of the flood that came to f, the newest former owner, which knows none of them."""
    counters = rack["f"].show()["counters"]
    return counters["drop_flood"] + counters["chain"] + counters["chain_by_kernel"]


def flood(rack: Rack, count: int) -> None:
    """Sends so many, and waits until f has them."""
    before = second(rack)
    for number in range(count):
        rack.mux.send(tcp(f"10.3.{number // 250}.{number % 250 + 1}", 50000, ACK))
    until("they have come", lambda: second(rack) - before == count, SECONDS)


def test_unknown_acks_at_full_lists(rack: Rack) -> None:
    """Each visits two servers of seven. The two newest owners' connections lose nothing."""
    rack.machine.ip("route add blackhole 10.3.0.0/16")  # which takes the RSTs
    for name in "defg":
        rack.add(name)
    rack.attach()
    clients = {"a": rack.connect()}
    for owner in "bcdefg":
        rack.mux.move(owner)
        clients[owner] = rack.connect()
    assert len(rack.mux.former) == 6
    assert {owner: client.ask() for owner, client in clients.items()} == {one: one for one in clients}
    came = visits(rack)
    flood(rack, BURST)  # which is below the rate
    until("they have been to all", lambda: rack["a"].counter("deliver_unknown") == BURST, SECONDS)
    assert visits(rack) - came == 7 * BURST

    rack.attach("--flood-rate", "1")
    came, dropped = visits(rack), rack["f"].counter("drop_flood")
    flood(rack, BURST)  # of which one goes on in each second, at each processor
    dropped = rack["f"].counter("drop_flood") - dropped
    assert BURST * 0.95 < dropped < BURST
    assert 2 * BURST <= visits(rack) - came <= 2 * dropped + 7 * (BURST - dropped)

    dropped = rack["f"].counter("drop_flood")
    for turn in range(10):
        flood(rack, BURST // 10)
        assert [clients[owner].ask(str(turn)) for owner in "gf"] == ["g", "f"]
    assert rack["f"].counter("drop_flood") - dropped <= BURST
    assert rack["g"].counter("drop_flood") == 0
    assert [clients[owner].ask("later") for owner in "abcde"] == list("abcde")


def test_datagrams_are_no_flood(rack: Rack) -> None:
    """Those of a service whose buckets have moved twice all go to the oldest owner, however many there are."""
    for server in rack.servers.values():
        server.serve_datagrams(53)
    rack.attach("--flood-rate", "1")
    rack.mux.move("b")
    rack.mux.move("c")
    assert {rack.ask_datagram(53, b"x") for _ in range(50)} == {"a 1"}
    assert rack["b"].chained() >= 50
    assert rack.counted("drop_flood") == 0
