# SPDX-License-Identifier: Apache-2.0
"""Notices on the wire: which generation servers are told, before the first packet by it, and what they acknowledge."""

import json
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from deadline import until
from oracle.address import sixteen
from oracle.notice import PROTOCOL, answer, check, read
from rack import BACKENDS, BACKENDS6, Rack
from tree import Service, backend, run
from whole_mux import WholeMux

ETHERNET, IPV4, IPV6, UDP = 14, 20, 40, 8
GUE_PORT = 6080
GENERATION = 8  # where it is in a packet, from the GUE base on
KEY = bytes(range(0x20, 0x30))


def packed(address: str) -> bytes:
    whole = sixteen(address)
    return whole if ":" in address else whole[12:]


class Servers:
    """All servers of the rack: what they receive, in its order, as (address, bytes from GUE on), and which answer."""

    def __init__(self, rack: Rack, key: bytes | None = None):
        self.rack, self.key = rack, key
        self.seen: list[tuple[str, bytes]] = []
        self.answer: set[str] = set()
        self.names = {packed(address): address for address in [*BACKENDS, *BACKENDS6]}

    def read(self) -> None:
        """What has arrived by now; under constant traffic, what arrives in a fifth of a second."""
        self.rack.socket.settimeout(0.02)
        end = time.monotonic() + 0.2
        try:
            while time.monotonic() < end:
                self._add(self.rack.socket.recv(65535))
        except TimeoutError:
            return

    def _add(self, frame: bytes) -> None:
        is_ipv4 = frame[12:14] == b"\x08\x00"
        if frame[6:12].hex(":") != self.rack.mux_mac or not (is_ipv4 or frame[12:14] == b"\x86\xdd"):
            return
        protocol, at = (frame[23], ETHERNET + IPV4) if is_ipv4 else (frame[20], ETHERNET + IPV6)
        if protocol != 17 or int.from_bytes(frame[at + 2 : at + 4]) != GUE_PORT:
            return
        data = frame[at + UDP : at + int.from_bytes(frame[at + 4 : at + 6])]
        server = self.names[frame[30:34] if is_ipv4 else frame[38:54]]
        self.seen.append((server, data))
        if data[1] != PROTOCOL:
            return
        assert check(self.key or bytes(16), data, server) == ("right" if self.key else "missing")
        if server in self.answer:
            said = answer(self.key or bytes(16), data, server, read(data)["generation"])
            self.rack.socket.send(returned(frame, said))

    def told(self) -> list[tuple[str, int]]:
        return [(server, read(data)["generation"]) for server, data in self.seen if data[1] == PROTOCOL]

    def first_by(self, generation: int) -> int | None:
        """The index of the first client's packet that carries this generation."""
        for index, (_, data) in enumerate(self.seen):
            if data[1] != PROTOCOL and int.from_bytes(data[GENERATION : GENERATION + 4]) >= generation:
                return index
        return None

    def until(self, condition, why: str) -> None:
        def read_and_ask() -> bool:
            self.read()
            return condition()

        until(read_and_ask, 60, why)


def returned(frame: bytes, data: bytes) -> bytes:
    """As servers do it: addresses, ports and MACs exchanged, no UDP checksum."""
    at, length = (ETHERNET + 12, 4) if frame[12:14] == b"\x08\x00" else (ETHERNET + 8, 16)
    udp = ETHERNET + (IPV4 if length == 4 else IPV6)
    ip = frame[ETHERNET:at] + frame[at + length : at + 2 * length] + frame[at : at + length]
    ports = frame[udp + 2 : udp + 4] + frame[udp : udp + 2] + frame[udp + 4 : udp + 6] + bytes(2)
    assert len(frame) >= udp + UDP + len(data) and int.from_bytes(frame[udp + 2 : udp + 4]) == GUE_PORT
    return frame[6:12] + frame[:6] + frame[12:14] + ip + ports + data


class Clients:
    """SYNs of many clients all the time, so that the first one by a new ring comes right after it."""

    def __init__(self, rack: Rack):
        self.frames = [bytes(rack.to_vip(sport)) for sport in range(2000, 2200)]
        self.rack, self.is_over = rack, threading.Event()
        self.thread = threading.Thread(target=self._send)

    def _send(self) -> None:
        while not self.is_over.is_set():
            for frame in self.frames:
                self.rack.socket.send(frame)
                time.sleep(0.0005)

    def __enter__(self) -> "Clients":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.thread.join()


def change(service: Service, runs: Iterable[dict], *, backends: Iterable[dict] = (), **more: object) -> tuple[int, int]:
    """Commits a change now; returns its second and its generation."""
    now = int(time.time())
    image = service.commit(list(backends), list(runs), committed=now, **more)
    return now, image["generation"]


@pytest.fixture
def mux(service: Service, new_mux) -> WholeMux:
    """It is not started yet."""
    return new_mux()


def test_servers_that_acknowledge(rack: Rack, service: Service, new_mux, tmp_path: Path):
    """All of them are told, before the first packet by the new ring, and it is known that they know."""
    everyone = {*BACKENDS, BACKENDS6[0]}
    key = tmp_path / "key"
    key.write_text(KEY.hex() + "\n")
    key.chmod(0o600)
    service.commit([backend(4, BACKENDS6[0])], [run(0, 10, 4)])
    mux = new_mux("--tag-key", str(key))
    servers = Servers(rack, KEY)
    servers.answer = everyone
    mux.start()
    mux.settle(service)
    servers.until(lambda: mux.metric("silent_servers") == 0, mux.log())
    with Clients(rack):
        _, generation = change(service, [run(0, 40, 2)])
        servers.until(lambda: servers.first_by(generation) is not None, mux.log())
    servers.seen = servers.seen[: servers.first_by(generation)]
    assert {server for server, number in servers.told() if number == generation} == everyone
    servers.until(lambda: mux.metric("silent_servers") == 0, mux.log())
    assert mux.metric("notice_answers_total", result="acknowledged") >= 2 * len(everyone)
    for result in ("malformed", "tag", "unasked"):
        assert mux.metric("notice_answers_total", result=result) == 0
    listed = json.loads(mux.get("/notices?service=web"))
    assert listed["generation"] == generation
    assert {each["address"] for each in listed["servers"]} == everyone
    assert all(each["acknowledged"] == generation and not each["silent"] for each in listed["servers"])


def test_servers_that_do_not(rack: Rack, mux: WholeMux, service: Service):
    """The mux applies generations without them, and does not wait for a silent server again until it answers."""
    servers = Servers(rack)
    mux.start()
    mux.settle(service)
    assert mux.metric("generations_told_total", result="too_late") == 1
    assert mux.metric("silent_servers") == 3
    _, generation = change(service, [run(0, 4, 2)])
    until(lambda: mux.metric("generation", service="web") == generation, 60, mux.log())
    assert mux.metric("generations_told_total", result="too_late") == 1
    servers.answer = set(BACKENDS[:2])
    servers.until(lambda: mux.metric("silent_servers") == 1, mux.log())
    assert mux.metric("notices_total", result="repeated") > 0
    listed = json.loads(mux.get("/notices?service=web"))["servers"]
    assert [each["address"] for each in listed if each["silent"]] == [BACKENDS[2]]


def test_a_dead_server_is_told_nothing(rack: Rack, mux: WholeMux, service: Service):
    """Nor is it waited for. The others are told the generation that removes it."""
    one, two, three = BACKENDS
    servers = Servers(rack)
    servers.answer = {one, two}
    mux.start()
    mux.settle(service)
    servers.until(lambda: mux.metric("silent_servers") == 1, mux.log())
    buckets = service.image["buckets"]
    of_three = run(buckets // 3 * 2, buckets - buckets // 3 * 2, 1)
    _, generation = change(service, [of_three], backends=[backend(3, removed=True) | {"dead": True, "weight": 0}])
    servers.until(lambda: mux.metric("silent_servers") == 0, mux.log())
    servers.until(lambda: (one, generation) in servers.told() and (two, generation) in servers.told(), "the others")
    assert (three, generation) not in servers.told()
    servers.seen = []
    _, generation = change(service, [run(0, 1, 2)])
    servers.until(lambda: {one, two} <= {to for to, of in servers.told() if of == generation}, "them")
    assert three not in {to for to, _ in servers.told()}


def test_what_cannot_be_sent_is_counted(rack: Rack, mux: WholeMux, service: Service):
    rack.inside("ip", "route", "add", "unreachable", f"{BACKENDS[0]}/32")
    mux.start()
    until(lambda: (mux.metric("notices_total", result="failed") or 0) >= 2, 60, mux.log())
    until(lambda: mux.metric("generation", service="web"), 60, mux.log())
    listed = json.loads(mux.get("/notices?service=web"))["servers"]
    assert [(each["address"], each.get("error")) for each in listed if "error" in each] == [
        (BACKENDS[0], "No route to host")
    ]
