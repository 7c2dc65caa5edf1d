# SPDX-License-Identifier: Apache-2.0
"""Notices of version 2 on the wire, which the rack's servers acknowledge, or not."""

from pathlib import Path

import pytest
from deadline import until
from oracle.generation_notice import answer, check, read
from rack import BACKENDS, BACKENDS6, Rack
from test_notices import ETHERNET, GUE_PORT, IPV4, IPV6, PROTOCOL, UDP, Clients, Wire, change, packed
from tree import Service, backend, run
from whole_mux import WholeMux

KEY = bytes(range(0x20, 0x30))


class Servers(Wire):
    """All servers of the rack: what they are told, and by whom it is acknowledged."""

    def __init__(self, rack: Rack):
        super().__init__(rack)
        self.answer: set[str] = set()
        self.names = {packed(address): address for address in [*BACKENDS, *BACKENDS6]}

    def _add(self, frame: bytes) -> None:
        before = len(self.seen)
        super()._add(frame)
        if len(self.seen) == before:
            return
        to, data = self.seen[-1]
        if data[1] != PROTOCOL or data[4] >> 4 != 2:
            return
        server = self.names[to]
        assert check(KEY, data, server) == "right"
        if server in self.answer:
            self.rack.socket.send(returned(frame, answer(KEY, data, server, read(data)["generation"])))

    def told(self) -> list[tuple[str, int]]:
        return [
            (self.names[to], read(data)["generation"])
            for to, data in self.seen
            if data[1] == PROTOCOL and data[4] >> 4 == 2
        ]


def returned(frame: bytes, data: bytes) -> bytes:
    """As servers do it: addresses, ports and MACs exchanged, no UDP checksum."""
    at, length = (ETHERNET + 12, 4) if frame[12:14] == b"\x08\x00" else (ETHERNET + 8, 16)
    udp = ETHERNET + (IPV4 if length == 4 else IPV6)
    ip = frame[ETHERNET:at] + frame[at + length : at + 2 * length] + frame[at : at + length]
    ports = frame[udp + 2 : udp + 4] + frame[udp : udp + 2] + frame[udp + 4 : udp + 6] + bytes(2)
    assert len(frame) >= udp + UDP + len(data) and int.from_bytes(frame[udp + 2 : udp + 4]) == GUE_PORT
    return frame[6:12] + frame[:6] + frame[12:14] + ip + ports + data


@pytest.fixture
def told_mux(service: Service, new_mux, tmp_path: Path) -> WholeMux:
    key = tmp_path / "key"
    key.write_text(KEY.hex() + "\n")
    key.chmod(0o600)
    service.commit([backend(4, BACKENDS6[0])], [run(0, 10, 4)])
    return new_mux("--header", "2", "--tag-key", str(key))


def test_servers_that_acknowledge(rack: Rack, told_mux: WholeMux, service: Service):
    """All of them are told, before the first packet by the new ring, and it is known that they know."""
    everyone = {*BACKENDS, BACKENDS6[0]}
    servers = Servers(rack)
    servers.answer = everyone
    told_mux.start()
    told_mux.settle(service)

    def first_by(generation: int) -> int | None:
        for index, (_, data) in enumerate(servers.seen):
            at = 8 if data[4] >> 4 == 2 else 12
            if data[1] != PROTOCOL and int.from_bytes(data[at : at + 4]) >= generation:
                return index
        return None

    def acknowledged() -> bool:
        servers.read()
        return told_mux.metric("silent_servers") == 0

    until(acknowledged, 60, told_mux.log())
    with Clients(rack):
        _, generation = change(service, [run(0, 40, 2)])

        def is_applied() -> bool:
            servers.read()
            return first_by(generation) is not None

        until(is_applied, 60, told_mux.log())
    servers.seen = servers.seen[: first_by(generation)]
    assert {server for server, number in servers.told() if number == generation} == everyone
    until(acknowledged, 60, told_mux.log())
    assert told_mux.metric("generation_notice_answers_total", result="acknowledged") >= 2 * len(everyone)
    for result in ("malformed", "tag", "unasked"):
        assert told_mux.metric("generation_notice_answers_total", result=result) == 0


def test_servers_that_do_not(rack: Rack, told_mux: WholeMux, service: Service):
    """The mux applies generations without them, and does not wait for a silent server again until it answers."""
    servers = Servers(rack)
    told_mux.start()
    told_mux.settle(service)
    assert told_mux.metric("generations_told_total", result="too_late") == 1
    assert told_mux.metric("silent_servers") == 4
    _, generation = change(service, [run(0, 4, 2)])
    until(lambda: told_mux.metric("generation", service="web") == generation, 60, told_mux.log())
    assert told_mux.metric("generations_told_total", result="too_late") == 1
    servers.answer = set(BACKENDS)

    def one_is_left() -> bool:
        servers.read()
        return told_mux.metric("silent_servers") == 1

    until(one_is_left, 60, told_mux.log())
    assert told_mux.metric("generation_notices_total", result="repeated") > 0
