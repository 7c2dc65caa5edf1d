# SPDX-License-Identifier: Apache-2.0
"""Notices on the wire: what a server knows of moves and generations without a packet of a client."""

import time

import pytest
from forms import SECONDS
from rack import Rack
from steering_mux import BUCKET

from lab.deadline import until
from protocol.vectors.oracle.notice import NO_BUCKET

KEY = bytes(range(16))


def now() -> int:
    return int(time.time())


def taken(rack: Rack, server: str, count: int) -> None:
    until(f"{server} has taken the notices", lambda: rack[server].counter("notice") == count, SECONDS)


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_second_move_of_an_idle_connection(rack: Rack, told: bool) -> None:
    """From a to b to c, and b saw no packet of the bucket: without a notice the connection is reset."""
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.move("b", now())
    if told:
        rack.mux.notify("b", [BUCKET])
        taken(rack, "b", 1)
        assert rack["b"].show()["memory"]["entries"] == 1
    rack.mux.move("c", now())
    if told:
        assert {client.ask(str(n)) for n in range(20)} == {"a"}
        assert rack["b"].chained() >= 20
        assert rack.counted("deliver_unknown") == 0
        return
    with pytest.raises(ConnectionResetError):
        client.ask()


def test_removed_server(rack: Rack) -> None:
    """From a to b to c, and a notice says that a was removed: b resets what it would have chained to a."""
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.move("b", now())
    rack.mux.notify("b", [BUCKET])
    rack.mux.generation += 1
    rack.mux.notify("b", [NO_BUCKET])
    rack.mux.notify("b", [NO_BUCKET])
    taken(rack, "b", 3)
    assert rack["b"].counter("learned") == 2
    assert rack["b"].show()["memory"]["entries"] == 1
    before = rack["b"].chained()  # the client's acknowledgement may have come after the first move
    rack.mux.move("c", now())
    with pytest.raises(ConnectionResetError):
        client.ask()
    assert rack["b"].chained() == before


def test_late_mux_meets_a_silent_server(rack: Rack) -> None:
    """A drained server that only a notice told the generation drops a late mux's packet as stale."""
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.generation = 5
    rack.mux.notify("b")
    taken(rack, "b", 1)
    assert rack["b"].show()["services"] == {"1": {"generation": 5}}
    assert rack["b"].show()["memory"]["entries"] == 0
    rack.drop_late(client)


def test_many_buckets(rack: Rack, way: tuple[str, ...]) -> None:
    """Two full notices, whose lists overlap: each bucket is learned once, and the connection's is among them."""
    rack.attach_both(*way)
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.generation = 5
    rack.mux.move("b", now())
    first, second = range(BUCKET - 351, BUCKET + 1), range(BUCKET, BUCKET + 288)
    rack.mux.notify("b", [*first])
    rack.mux.notify("b", [*second])
    taken(rack, "b", 2)
    learned = len({*first, *second})
    assert rack["b"].counter("learned") == learned
    assert rack["b"].show()["memory"]["open"] == learned
    rack.mux.since, rack.mux.generation = None, rack.mux.generation - 1  # no packet tells of the move, or ends it
    assert {client.ask(str(n)) for n in range(20)} == {"a"}


@pytest.mark.parametrize(
    ("mux_key", "counter"),
    [(None, "tag_missing"), (bytes(16), "tag_wrong"), (KEY, None)],
    ids=["none", "wrong", "right"],
)
def test_tags(rack: Rack, mux_key: bytes | None, counter: str | None) -> None:
    key = rack.form.file("key", KEY.hex() + "\n")
    rack.attach("--tag-key", key)
    rack.mux.key = mux_key
    rack.mux.move("b", now())
    rack.mux.notify("b", [BUCKET, 7])
    if counter is None:
        taken(rack, "b", 1)
        assert rack["b"].show()["memory"]["entries"] == 2
        return
    until("it is dropped", lambda: rack["b"].counter(f"drop_untrusted_{counter}") == 1, SECONDS)
    shown = rack["b"].show()
    assert (shown["memory"]["entries"], shown["services"], shown["counters"]["notice"]) == (0, {}, 0)


def test_malformed(rack: Rack) -> None:
    rack.attach()
    rack.mux.move("b", now())
    whole = rack.mux.notice([BUCKET])
    without_moved = bytearray(whole)
    without_moved[5] = 0
    hop = bytearray(whole)
    hop[4] |= 1
    for datagram in (whole[:-1], whole[:-4], whole + b"\0", bytes(without_moved), bytes(hop)):
        rack.mux.send_raw(datagram, "b")
    until("all are dropped", lambda: rack["b"].counter("drop_malformed_notice") == 5, SECONDS)
    shown = rack["b"].show()
    assert (shown["memory"]["entries"], shown["services"], shown["counters"]["notice"]) == (0, {}, 0)
