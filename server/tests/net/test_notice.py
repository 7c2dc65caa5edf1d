# SPDX-License-Identifier: Apache-2.0
"""Notices on the wire, from a socket of the mux and back to it."""

import contextlib
import socket

import pytest
from forms import SECONDS
from rack import GUE_PORT, SERVERS, SERVERS6, Rack
from steering_mux import MUX, MUX6

from lab.deadline import until
from protocol.vectors.oracle.notice import answer, put, write

KEY = bytes(range(16))
UDP_NO_CHECK6_RX = 102
FIELDS = {"ack": False, "key": False, "service": 1, "generation": 12, "tag": ""}


def mux_socket(rack: Rack, is_ipv6: bool) -> socket.socket:
    """As the mux's: a server's answer has no UDP checksum."""
    with rack.machine.inside():
        one = socket.socket(socket.AF_INET6 if is_ipv6 else socket.AF_INET, socket.SOCK_DGRAM)
        if is_ipv6:
            one.setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_RX, 1)
        one.bind((MUX6 if is_ipv6 else MUX, 0))
    one.settimeout(SECONDS)
    return one


@pytest.mark.parametrize("is_ipv6", [False, True], ids=["ipv4", "ipv6"])
def test_acknowledged(rack: Rack, way: tuple[str, ...], is_ipv6: bool) -> None:
    """The answer comes back to the socket, with the generation that the server knows then; also to a repetition."""
    rack["a"].attach_both(*way, "--tag-key", rack.form.file("key", KEY.hex() + "\n"))
    server = (SERVERS6 if is_ipv6 else SERVERS)["a"]
    notice = put(KEY, write(FIELDS | {"tag": bytes(8).hex()}), server)
    with contextlib.closing(mux_socket(rack, is_ipv6)) as mux:
        for _ in range(2):
            mux.sendto(notice, (server, GUE_PORT))
            said, sender = mux.recvfrom(2048)
            assert said == answer(KEY, notice, server, 12)
            assert sender[:2] == (server, GUE_PORT)
    shown = rack["a"].show()
    assert shown["counters"]["notice"] == 2
    assert shown["services"]["1"]["generation"] == 12


def test_late_mux_meets_a_silent_server(rack: Rack) -> None:
    """A drained server that only a notice told the generation drops a late mux's packet as stale."""
    rack.attach()
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.generation = 5
    rack.mux.notify("b")
    until("b has read it", lambda: rack["b"].counter("notice") == 1, SECONDS)
    assert rack["b"].show()["services"] == {"1": {"generation": 5}}
    rack.drop_late(client)


@pytest.mark.parametrize(("key", "counter"), [(None, "tag_missing"), (bytes(16), "tag_wrong")], ids=["none", "wrong"])
def test_tags(rack: Rack, key: bytes | None, counter: str) -> None:
    rack["b"].attach("--tag-key", rack.form.file("key", KEY.hex() + "\n"))
    rack.mux.key = key
    rack.mux.notify("b")
    until("it is dropped", lambda: rack["b"].counter(f"drop_untrusted_{counter}") == 1, SECONDS)
    shown = rack["b"].show()
    assert (shown["services"], shown["counters"]["notice"]) == ({}, 0)


def test_of_a_server(rack: Rack) -> None:
    """Servers tell no generations."""
    rack["b"].attach("--peers", SERVERS["a"], "--servers", MUX)
    rack.mux.notify("b")
    until("it is dropped", lambda: rack["b"].counter("drop_untrusted_sender") == 1, SECONDS)
    assert rack["b"].show()["services"] == {}
