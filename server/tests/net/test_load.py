# SPDX-License-Identifier: Apache-2.0
"""
Service hunting with real connections: server a is asked first and is busy, b is the second bucket's owner.

     mux -> a: a SYN, busy -> b: the last of the list, b takes it
"""

import time

import exposition
from forms import SECONDS
from rack import Rack
from test_show import DOCUMENTED, expected

from lab.deadline import until

SERVICE = "1"
CLOCK_MONOTONIC_COARSE = 6


def ticks_ns() -> int:
    return time.clock_gettime_ns(CLOCK_MONOTONIC_COARSE)


def hunt(rack: Rack, *way: str) -> None:
    rack.attach(*way)
    rack.mux.owner, rack.mux.second = "a", "b"


def tell(rack: Rack, name: str, policy: str, busy: int, threshold: int, seconds: int = 600) -> None:
    server = rack[name]
    words = (rack.form.name, "eth0", SERVICE, policy, str(busy), str(threshold), str(seconds))
    done = rack.form.invoke("ip", "netns", "exec", server.namespace.name, "tell", *words)
    assert (done.returncode, done.stderr) == (0, ""), done


def load(rack: Rack, name: str) -> dict:
    return rack[name].show()["services"][SERVICE]["load"]


def test_busy_server_passes_connections_on(rack: Rack, way: tuple[str, ...]) -> None:
    """New ones only. Older connections of a's go on there, and those that b took go on by their second bucket."""
    hunt(rack, *way)
    older = rack.connect()
    tell(rack, "a", "static", 4, 4)
    taken_by_b = [rack.connect() for _ in range(5)]
    assert [client.ask() for client in taken_by_b] == ["b"] * 5
    tell(rack, "a", "static", 3, 4)
    new = rack.connect()
    assert (older.ask(), new.ask()) == ("a", "a")
    assert [client.ask() for client in taken_by_b] == ["b"] * 5
    shown = load(rack, "a")
    assert (shown["offered"], shown["taken"], shown["passed"], shown["unasked"]) == (6, 1, 5, 0)
    assert rack.counted("deliver_unknown") == 0


def test_what_was_taken_counts(rack: Rack) -> None:
    """a takes two, and b, which is busy, must take the third: it is the last that is asked."""
    hunt(rack)
    tell(rack, "a", "static", 2, 4)
    tell(rack, "b", "static", 9, 4)
    clients = [rack.connect() for _ in range(3)]
    assert [client.ask() for client in clients] == ["a", "a", "b"]
    assert load(rack, "b")["unasked"] == 1


def test_one_server_has_both_buckets(rack: Rack) -> None:
    hunt(rack)
    rack.mux.second = "a"
    tell(rack, "a", "static", 4, 4)
    assert rack.connect().ask() == "a"
    shown = load(rack, "a")
    assert (shown["passed"], shown["unasked"]) == (0, 1)


def test_setting_expires(rack: Rack) -> None:
    """If the agent stops, the server takes everything."""
    hunt(rack)
    first = rack.connect()
    tell(rack, "a", "static", 4, 4, seconds=1)
    until("the setting has ended", lambda: load(rack, "a")["expired"], SECONDS)
    ended = time.monotonic_ns()
    until("the clock of ticks, which the forms read, has passed it too", lambda: ticks_ns() >= ended, SECONDS)
    assert (first.ask(), rack.connect().ask()) == ("a", "a")
    assert load(rack, "a")["offered"] == 0


def test_load_survives_a_reattachment(rack: Rack) -> None:
    hunt(rack)
    tell(rack, "a", "dynamic", 4, 4)
    assert rack.connect().ask() == "b"
    rack["a"].attach("--quiet", "100")
    assert rack.connect().ask() == "b"
    shown = load(rack, "a")
    assert (shown["policy"], shown["threshold"], shown["busy"], shown["passed"]) == ("dynamic", 4, 4, 2)


def test_formats_agree(rack: Rack) -> None:
    """The document's figures are those of the other formats, and documented."""
    hunt(rack)
    tell(rack, "a", "static", 4, 4)
    assert rack.connect().ask() == "b"
    server = rack["a"]

    def samples() -> dict:
        """Packets may arrive between the two documents: neighbour requests."""
        before = server.show()
        return expected(before) if exposition.read(server.show_as("prometheus")) == expected(before) else {}

    found = until("both formats of one state", samples, SECONDS)
    names = {name for name, _ in found if name.startswith("fairlead_server_load_")}
    assert len(names) == 8
    documented = DOCUMENTED.read_text()
    assert [name for name in names if f"\n| `{name}{{service" not in documented] == []
    line = "load: static, threshold 4, busy 4, offered 1, taken 0, passed 1, unasked 0"
    assert line in server.show_as("table")
