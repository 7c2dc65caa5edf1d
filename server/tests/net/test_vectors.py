# SPDX-License-Identifier: Apache-2.0
"""
The packets of steer.json and tag.json on the wire: what the mux sends is a row's bytes, and the server's counters or
the packet that it sends on must be the row's. (verdict.json has test_table.py, what is malformed test_cases.py.)

Packets are chained to 10.1.0.24, which no host has: they leave through the switch, where they are captured.
"""

import collections
import contextlib
import json
import socket
import time
from collections.abc import Iterator

import pytest
from forms import SECONDS, Form
from rack import GUE_PORT, SERVERS, Rack
from test_cases import ACK, SYN, VECTORS, tcp, tcp6

from lab.deadline import until
from protocol.vectors.oracle import steer

STEER = json.loads((VECTORS / "steer.json").read_text())
TAG = json.loads((VECTORS / "tag.json").read_text())
NEXT = SERVERS["d"]
COUNTERS = {
    "right": ("deliver_", "chain", "pass_on", "drop_chain_family", "drop_stale"),
    "missing": "drop_untrusted_tag_missing",
    "wrong": "drop_untrusted_tag_wrong",
}


class Subject:
    """Server b, set up with or without the cluster's key, and the wire behind it."""

    def __init__(self, rack: Rack) -> None:
        self.rack, self.server, self.has_key = rack, rack["b"], None
        self.key = rack.form.file("vectors.key", TAG["key"] + "\n")
        self.server.namespace.ip(f"neigh replace {NEXT} lladdr 02:00:00:00:00:24 nud permanent dev eth0")
        with rack.switch.inside():
            self.tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.tap.bind((rack.form.outlet(rack.port("b")), 0))
        self.tap.settimeout(SECONDS)

    def attach(self, has_key: bool) -> None:
        """Attaches again if anything changes: the memory is then empty."""
        if has_key is self.has_key:
            return
        if self.has_key is not None:
            self.server.detach()
        self.server.attach(*(("--tag-key", self.key) if has_key else ()))
        self.has_key = has_key

    def send(self, datagram: bytes) -> None:
        self.rack.mux.send_raw(datagram, "b")

    def counters(self) -> collections.Counter:
        return collections.Counter(self.server.show()["counters"])

    def bumped(self, datagram: bytes) -> str:
        """The one counter that the datagram increments, except those of what it teaches."""
        before = self.counters()
        self.send(datagram)

        def grown() -> collections.Counter:
            taught = collections.Counter(learned=1, generation_jump=1, move_ahead=1, promoted=1, skipped=1)
            return self.counters() - before - taught - collections.Counter(pass_not_ours=1000)

        found = until("the packet is counted", grown, SECONDS)
        assert found.total() == 1, found
        return next(iter(found))

    def teach(self, fields: dict) -> None:
        """Teaches with a SYN that the bucket of this steer header has just moved from NEXT."""
        told = fields | {"since": int(time.time()), "previous": NEXT, "tag": None, "innerProtocol": 4, "hops": 0}
        told["generation"] = min(fields["generation"] + 1, 0xFFFFFFFF)  # the row's mux has not applied it, and is late
        packet = steer.write(told) + tcp("10.3.0.9", 1024, SYN)
        self.attach_plainly(packet)

    def attach_plainly(self, packet: bytes) -> None:
        """A packet without a tag reaches a server without the key; its memory is kept when the key is set again."""
        if self.has_key:
            self.server.attach()
        assert self.bumped(packet) == "deliver_syn"
        if self.has_key:
            self.server.attach("--tag-key", self.key)

    def chained(self, datagram: bytes) -> bytes:
        """The packet chained to NEXT, from the GUE header on."""
        self.tap.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while self.tap.recv(65536):
                pass
        self.tap.settimeout(SECONDS)
        self.send(datagram)
        while True:
            frame = self.tap.recv(65536)
            outer = frame[14:]
            if frame[12:14] != b"\x08\x00" or outer[9] != socket.IPPROTO_UDP:
                continue
            if outer[16:20] == socket.inet_aton(NEXT) and int.from_bytes(outer[22:24]) == GUE_PORT:
                return outer[28 : int.from_bytes(outer[2:4])]


@pytest.fixture(scope="module")
def subject(form: Form) -> Iterator[Subject]:
    rack = Rack(form)
    try:
        rack.create()
        rack.machine.ip("route add blackhole 10.3.0.0/16", "route add blackhole 2001:db8:3::/48")
        subject = Subject(rack)
        yield subject
        subject.tap.close()
    finally:
        rack.delete()
    form.check()


def rows(key: str, file: dict) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in file[key]])


def inner(protocol: int, flags: int) -> bytes:
    """A SYN, or an ACK of an unknown connection."""
    port = 1024 if flags == SYN else 2048
    return tcp("10.3.0.1", port, flags) if protocol == 4 else tcp6("2001:db8:3::1", port, flags)


@rows("valid", STEER)
def test_valid_header(subject: Subject, row: dict) -> None:
    """It is accepted with any contents: a SYN in it opens a connection, and its generation is remembered."""
    subject.attach(has_key=False)
    fields = row["fields"]
    assert subject.bumped(bytes.fromhex(row["bytes"]) + inner(fields["innerProtocol"], SYN)) == "deliver_syn"
    assert subject.server.show()["services"][str(fields["service"])]["generation"] >= fields["generation"]


@rows("chained", STEER)
def test_chained_header(subject: Subject, row: dict) -> None:
    subject.attach(has_key=False)
    before, after = bytes.fromhex(row["before"]), bytes.fromhex(row["after"])
    fields = steer.read(before)
    subject.teach(fields)
    packet = before[fields["headerLength"] :] or inner(fields["innerProtocol"], ACK)
    sent_on = subject.chained(before[: fields["headerLength"]] + packet)
    assert sent_on == steer.mark_late(after[: fields["headerLength"]]) + packet


@rows("rows", TAG)
def test_tag(subject: Subject, row: dict) -> None:
    subject.attach(has_key=True)
    assert subject.bumped(bytes.fromhex(row["bytes"])).startswith(COUNTERS[row["result"]])


@rows("late", TAG)
def test_chained_tag(subject: Subject, row: dict) -> None:
    subject.attach(has_key=True)
    before = bytes.fromhex(row["before"])
    subject.teach(steer.read(before))
    assert subject.chained(before) == bytes.fromhex(row["after"])
