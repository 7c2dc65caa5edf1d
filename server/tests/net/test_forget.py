# SPDX-License-Identifier: Apache-2.0
"""Generations that are too high, how a server forgets one, and moves from the future."""

import time

import pytest
from forms import SECONDS
from rack import Rack
from steering_mux import BUCKET

from lab.deadline import until
from protocol.vectors.oracle.notice import write_notice

KEY = bytes(range(16))
HIGHEST = 2**32 - 1
JUMP_MAX = 1 << 20


def now() -> int:
    return int(time.time())


def notice(service: int, generation: int, since: int | None = None) -> bytes:
    """Tagged, and of a move of one bucket if there is a time."""
    moved = {"since": since, "previous": None if since is None else "10.1.0.21"}
    buckets = [] if since is None else [BUCKET]
    return write_notice(KEY, {"service": service, "generation": generation, "tag": "", "buckets": buckets} | moved)


def send(rack: Rack, datagram: bytes) -> None:
    """To b, and waits until it has been read."""
    count = rack["b"].counter("notice") + 1
    rack.mux.send_raw(datagram, "b")
    until("b has read it", lambda: rack["b"].counter("notice") == count, SECONDS)


def generations(rack: Rack) -> dict[str, int]:
    return {service: state["generation"] for service, state in rack["b"].show()["services"].items()}


def test_jump_without_a_tag(rack: Rack) -> None:
    """Far above what was seen and above the clock, a generation is not learned; a restored service's is."""
    rack["b"].attach()
    send(rack, notice(1, 5))
    send(rack, notice(1, HIGHEST))
    send(rack, notice(1, now() + JUMP_MAX + SECONDS))
    assert generations(rack) == {"1": 5}
    assert rack["b"].counter("generation_jump") == 2
    restored = now()
    send(rack, notice(1, restored))
    send(rack, notice(1, restored + JUMP_MAX))
    assert generations(rack) == {"1": restored + JUMP_MAX}
    send(rack, notice(2, HIGHEST))  # the first that is seen of a service is no jump
    assert generations(rack) == {"1": restored + JUMP_MAX, "2": HIGHEST}
    assert rack["b"].counter("generation_jump") == 2


def test_refused_jump_makes_nothing_stale(rack: Rack) -> None:
    """A packet of an unknown connection is answered as before."""
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    send(rack, notice(1, 1))
    send(rack, notice(1, HIGHEST))
    rack.mux.flows[client.port] = "b"
    with pytest.raises(ConnectionResetError):
        client.ask()
    assert rack["b"].counter("drop_stale") == 0


def test_forget_after_poison(rack: Rack) -> None:
    """A tag vouches for any generation: with one that is too high, unknown packets are stale until it is forgotten."""
    rack.attach("--tag-key", rack.form.file("key", KEY.hex() + "\n"))
    rack.mux.key = KEY
    client = rack.connect()
    assert client.ask() == "a"
    send(rack, notice(1, HIGHEST, now()))
    send(rack, notice(2, 7, now()))
    assert generations(rack) == {"1": HIGHEST, "2": 7}
    rack["b"].forget(1)
    assert generations(rack) == {"2": 7}
    assert rack["b"].show()["memory"]["entries"] == 1
    send(rack, notice(1, HIGHEST))
    rack.mux.generation, rack.mux.flows[client.port] = 2, "b"
    client.stream.write(b"lost\n")
    client.stream.flush()
    until("it is stale", lambda: rack["b"].counter("drop_stale") >= 1, SECONDS)
    said = rack["b"].forget(1)
    assert ": forgot service 1: generation 4294967295, and the moves of 0 buckets; packets and notices" in said
    with pytest.raises(ConnectionResetError):
        client.stream.readline()  # b answers for it again
    assert generations(rack) == {"1": 2, "2": 7}
    rack["b"].forget(2)
    assert rack["b"].show()["memory"]["entries"] == 0


def test_refusals(rack: Rack) -> None:
    server, where = rack["b"], rack.form.where
    server.attach()
    for words, code, sentence in (
        (("--service", "3"), 1, "nothing is known of service 3"),
        ((), 2, "--service: '' is not allowed; allowed: a service's id from 1 to 65535"),
        (("--service", "0"), 2, "--service: '0' is not allowed"),
        (("--service", "65536"), 2, "--service: '65536' is not allowed"),
        (("--service", "web"), 2, "--service: 'web' is not allowed"),
        (("--service", "1", "--window", "9"), 2, "forget:"),
    ):
        done = server.invoke("forget", *where, *words)
        assert (done.returncode, done.stdout) == (code, ""), done
        assert sentence in done.stderr
    done = server.invoke("show", *where, "--service", "1")
    assert done.returncode == 2
    server.detach()
    done = server.invoke("forget", *where, "--service", "1")
    assert done.returncode == 1
    assert "attached" in done.stderr


def test_moves_from_the_future(rack: Rack) -> None:
    """A controller's clock that is ahead of the server's is counted beyond 5 s, and its largest difference shown."""
    rack["b"].attach()
    send(rack, notice(1, 5, now() - 100))
    assert rack["b"].show()["moveAheadSecondsMax"] == 0
    send(rack, notice(1, 5, now() + 3))
    assert rack["b"].show()["moveAheadSecondsMax"] <= 4
    assert rack["b"].counter("move_ahead") == 0
    since = now() + 1000
    send(rack, notice(1, 5, since))
    send(rack, notice(1, 5, since - 500))
    assert rack["b"].counter("move_ahead") == 2
    assert 1000 - SECONDS <= rack["b"].show()["moveAheadSecondsMax"] <= 1001
