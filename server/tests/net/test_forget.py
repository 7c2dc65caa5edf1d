# SPDX-License-Identifier: Apache-2.0
"""Generations that are too high, and how a server forgets one."""

import time

import pytest
from forms import SECONDS
from rack import Rack

from lab.deadline import until

KEY = bytes(range(16))
HIGHEST = 2**32 - 1
JUMP_MAX = 1 << 20


def now() -> int:
    return int(time.time())


def tell(rack: Rack, service: int, generation: int, key: bytes | None = None) -> None:
    """Tells b, and waits until it has acknowledged."""
    count = rack["b"].counter("notice") + 1
    rack.mux.notify("b", service, generation, key)
    until("b has read it", lambda: rack["b"].counter("notice") == count, SECONDS)


def generations(rack: Rack) -> dict[str, int]:
    return {service: state["generation"] for service, state in rack["b"].show()["services"].items()}


def test_jump_without_a_tag(rack: Rack) -> None:
    """Far above what was seen and above the clock, a generation is not learned; a restored service's is."""
    rack["b"].attach()
    tell(rack, 1, 5)
    tell(rack, 1, HIGHEST)
    tell(rack, 1, now() + JUMP_MAX + SECONDS)
    assert generations(rack) == {"1": 5}
    assert rack["b"].counter("generation_jump") == 2
    restored = now()
    tell(rack, 1, restored)
    tell(rack, 1, restored + JUMP_MAX)
    assert generations(rack) == {"1": restored + JUMP_MAX}
    tell(rack, 2, HIGHEST)  # the first that is seen of a service is no jump
    assert generations(rack) == {"1": restored + JUMP_MAX, "2": HIGHEST}
    assert rack["b"].counter("generation_jump") == 2


def test_refused_jump_makes_nothing_stale(rack: Rack) -> None:
    """A packet of an unknown connection is answered as before."""
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    tell(rack, 1, 1)
    tell(rack, 1, HIGHEST)
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
    tell(rack, 1, HIGHEST)
    tell(rack, 2, 7)
    assert generations(rack) == {"1": HIGHEST, "2": 7}
    rack["b"].forget(1)
    assert generations(rack) == {"2": 7}
    tell(rack, 1, HIGHEST)
    rack.mux.generation, rack.mux.flows[client.port] = 2, "b"
    client.stream.write(b"lost\n")
    client.stream.flush()
    until("it is stale", lambda: rack["b"].counter("drop_stale") >= 1, SECONDS)
    said = rack["b"].forget(1)
    assert ": forgot service 1: generation 4294967295; the next packet or notice teaches it again" in said
    with pytest.raises(ConnectionResetError):
        client.stream.readline()  # b answers for it again
    assert generations(rack) == {"1": 2, "2": 7}


def test_refusals(rack: Rack) -> None:
    server, where = rack["b"], rack.form.where
    server.attach()
    for words, code, sentence in (
        (("--service", "3"), 1, "nothing is known of service 3"),
        ((), 2, "--service: '' is not allowed; allowed: a service's id from 1 to 65535"),
        (("--service", "0"), 2, "--service: '0' is not allowed"),
        (("--service", "65536"), 2, "--service: '65536' is not allowed"),
        (("--service", "web"), 2, "--service: 'web' is not allowed"),
        (("--service", "1", "--quiet", "9"), 2, "forget:"),
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
