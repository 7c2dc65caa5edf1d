# SPDX-License-Identifier: Apache-2.0
"""Notices on the wire: who is told what, and that it comes before the first packet by the new ring."""

import json
import threading
import time
import urllib.error
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from deadline import stays, until
from oracle.address import sixteen
from oracle.flow import siphash
from oracle.notice import NO_BUCKET, PROTOCOL, check_notice, read_notice
from oracle.steer import read
from rack import BACKENDS, BACKENDS6, Rack
from tree import Service, Tree, backend, run
from whole_mux import WholeMux

ETHERNET, IPV4, IPV6, UDP = 14, 20, 40, 8
GUE_PORT = 6080
MASK = (1 << 64) - 1


class Wire:
    """All GUE packets of the mux in the order in which they arrive, as (backend's address, bytes from GUE on)."""

    def __init__(self, rack: Rack):
        self.rack, self.seen = rack, []

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
        length = int.from_bytes(frame[at + 4 : at + 6])
        to = frame[30:34] if is_ipv4 else frame[38:54]
        self.seen.append((to, frame[at + UDP : at + length]))

    def notices(self, since: int = 0) -> list[tuple[str, dict]]:
        names = {packed(address): address for address in [*BACKENDS, *BACKENDS6]}
        return [(names[to], read_notice(data)) for to, data in self.seen[since:] if data[1] == PROTOCOL]

    def first_by(self, generation: int) -> int | None:
        """The index of the first client's packet that carries this generation."""
        for index, (_, data) in enumerate(self.seen):
            if data[1] != PROTOCOL and read(data)["generation"] >= generation:
                return index
        return None


def packed(address: str) -> bytes:
    whole = sixteen(address)
    return whole if ":" in address else whole[12:]


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


def wait_for(wire: Wire, condition, seconds: float = 60) -> None:
    def read_and_ask():
        wire.read()
        return condition()

    until(read_and_ask, seconds, f"notices; last: {wire.notices()[-5:]}")


def generation_of(mux: WholeMux) -> float:
    return mux.metric("generation", service="web")


def change(service: Service, runs: Iterable[dict], *, backends: Iterable[dict] = (), **more: object) -> tuple[int, int]:
    """Commits a change now; returns its second and its generation."""
    now = int(time.time())
    image = service.commit(list(backends), list(runs), committed=now, **more)
    return now, image["generation"]


def told(wire: Wire, since: int = 0) -> list[tuple]:
    return [
        (to, notice["generation"], notice["since"], notice["previous"], tuple(notice["buckets"]))
        for to, notice in wire.notices(since)
    ]


def test_servers_are_told_before_the_first_packet_by_the_new_ring(rack: Rack, mux: WholeMux, service: Service):
    one, two, three = BACKENDS
    wire = Wire(rack)
    with Clients(rack):
        first, generation = change(service, [run(0, 40, 2)])
        wait_for(wire, lambda: wire.first_by(generation) is not None)
        before = wire.seen[: wire.first_by(generation)]
        wire.seen = before  # what is behind it does not count
        assert told(wire) == [(one, generation, None, None, ())]

        wire.seen = []
        _, generation = change(service, [run(0, 30, 3), run(100, 5, 1)])
        wait_for(wire, lambda: wire.first_by(generation) is not None)
        repeated = wire.seen
        wire.seen = repeated[: wire.first_by(generation)]
        # bucket 100 has not moved within the window: its loser learns the generation alone
        mine = [one_told for one_told in told(wire) if one_told[1] == generation]
        # and 1, which lost buckets a moment ago, the generation, too
        assert mine == [
            (two, generation, None, None, ()),
            (one, generation, None, None, ()),
            (two, generation, first, one, tuple(range(30))),
        ]
    assert three not in [to for to, _ in wire.notices()]


def test_they_are_told_again(rack: Rack, mux: WholeMux, service: Service):
    """The 10 s that lie between two refreshes began when the mux loaded the ring, so one may come at any time."""
    one, two, _ = BACKENDS
    wire = Wire(rack)
    first, _ = change(service, [run(0, 4, 2)])
    wait_for(wire, lambda: len(wire.notices()) >= 2 and mux.metric("notices_total", result="repeated") == 1)
    wire.seen = []
    started = time.monotonic()
    _, generation = change(service, [run(0, 4, 3)])
    expected = Counter(
        {
            (two, generation, None, None, ()): 2,
            (one, generation, None, None, ()): 2,
            (two, generation, first, one, (0, 1, 2, 3)): 2,  # the last ones, and never refreshed
        }
    )
    wait_for(wire, lambda: expected <= Counter(told(wire)))
    assert time.monotonic() - started >= 1
    assert all(notice == (*notice[:2], None, None, ()) for notice in Counter(told(wire)) - expected)

    wire.seen = []
    wait_for(wire, lambda: {to for to, _ in wire.notices()} == {one, two})  # every 10 s
    assert all(notice == (notice[0], generation, None, None, ()) for notice in told(wire))
    assert mux.metric("notices_total", result="sent") == 4
    assert mux.metric("notices_total", result="repeated") == 4
    assert mux.metric("notices_total", result="refreshed") >= 2
    assert mux.metric("notices_total", result="limited") == 0
    assert mux.metric("notice_moves_total") == 8
    assert sum(mux.samples("notice_errors_total")) == 0
    assert mux.metric("notices_waiting") == 0

    answer = json.loads(mux.get("/notices?service=web"))
    assert answer["generation"] == generation and answer["waiting"] == 0
    assert [(o["id"], o["address"], o["toldByThisMux"]) for o in answer["owners"]] == [(1, one, True), (2, two, True)]


def test_a_snapshot_is_compared_with_the_ring(rack: Rack, mux: WholeMux, service: Service):
    one, two, _ = BACKENDS
    wire = Wire(rack)
    first, generation = change(service, [run(0, 4, 2)])
    until(lambda: generation_of(mux) == generation, 60, mux.log())
    wire.read()
    wire.seen = []
    with Clients(rack):
        _, generation = change(service, [run(0, 2, 3)], with_delta=False, with_snapshot=True)
        wait_for(wire, lambda: wire.first_by(generation) is not None)
    wire.seen = wire.seen[: wire.first_by(generation)]
    mine = [one_told for one_told in told(wire) if one_told[1] == generation]
    assert mine == [
        (two, generation, None, None, ()),
        (one, generation, None, None, ()),
        (two, generation, first, one, (0, 1)),
    ]


def test_all_others_are_told_of_a_dead_server(rack: Rack, mux: WholeMux, service: Service):
    """Also 2, which loses no bucket; again after 10 s those that have lost one, by then at a later generation."""
    one, two, three = BACKENDS
    wire = Wire(rack)
    buckets = service.image["buckets"]
    of_three = run(buckets // 3 * 2, buckets - buckets // 3 * 2, 1)
    now, generation = change(service, [of_three], backends=[backend(3, removed=True) | {"dead": True, "weight": 0}])
    removal = (generation, now, three, (NO_BUCKET,))
    wait_for(wire, lambda: len(wire.notices()) >= 4)  # at once, and a second later; nothing to the dead one
    assert sorted(told(wire)[:4], key=str) == sorted([(one, *removal), (two, *removal)] * 2, key=str)
    _, later = change(service, [run(0, 1, 2)])
    wait_for(wire, lambda: (one, later, None, None, ()) in told(wire))
    wire.seen = []
    wait_for(wire, lambda: (one, *removal) in told(wire))
    assert {to for to, *rest in told(wire) if rest == list(removal)} == {one}
    assert mux.metric("notice_moves_total") == 0


def test_a_mux_that_starts_tells_the_generation(rack: Rack, service: Service, new_mux):
    """It has no ring before, but the windows of its first one are open."""
    wire = Wire(rack)
    _, generation = change(service, [run(0, 4, 2)])
    mux = new_mux()
    mux.start()
    wait_for(wire, lambda: wire.notices())
    assert told(wire) == [(BACKENDS[0], generation, None, None, ())]


def test_ipv6_and_tags(rack: Rack, service: Service, new_mux, tmp_path: Path):
    key = tmp_path / "key"
    key.write_text("202122232425262728292a2b2c2d2e2f\n")
    key.chmod(0o600)
    service.commit([backend(4, BACKENDS6[0])], [run(0, 10, 4)])
    mux = new_mux("--tag-key", str(key))
    mux.start()
    mux.settle(service)
    wire = Wire(rack)
    first, _ = change(service, [run(10, 4, 4)])
    _, generation = change(service, [run(10, 4, 1)])
    six = BACKENDS6[0]
    expected = [(six, generation, None, None, ()), (six, generation, first, BACKENDS[0], (10, 11, 12, 13))]
    wait_for(wire, lambda: [one for one in told(wire) if one[0] == six][:2] == expected)
    notices = [data for _, data in wire.seen if data[1] == PROTOCOL]
    assert {check_notice(bytes(range(0x20, 0x30)), data) for data in notices} == {"right"}


def mix(x: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ x >> 33) * factor & MASK
    return x ^ x >> 33


def test_of_several_muxes_two_tell_a_server(rack: Rack, mux: WholeMux, service: Service, tree: Tree):
    others = [f"10.1.0.{12 + n}" for n in range(5)]
    for address in others:
        node = {"format": 1, "id": address, "version": "0.1.0", "address": address, "ports": ["eth0"], "services": {}}
        tree.join(address, node)
    seed = bytes(16)

    def weight(mux_address: str, server: str) -> int:
        return mix(siphash(seed, sixteen(server)) ^ siphash(seed, sixteen(mux_address)))

    servers = [f"10.1.0.{number}" for number in range(100, 140)]
    number_of = {address: 100 + n for n, address in enumerate(servers)}
    service.commit([backend(n, a) for a, n in number_of.items()], [run(n, 1, 100 + n) for n in range(len(servers))])
    change(service, [run(n, 1, 1) for n in range(len(servers))])
    mine = {s for s in servers if sorted([*others, "10.1.0.11"], key=lambda m: -weight(m, s)).index("10.1.0.11") < 2}
    assert 5 < len(mine) < 25

    def told_here() -> set[str]:
        owners = json.loads(mux.get("/notices?service=web"))["owners"]
        return {o["address"] for o in owners if o["toldByThisMux"]}

    until(lambda: told_here() == mine, 60, f"{mine}\n{mux.log()}")


def test_off(rack: Rack, service: Service, new_mux):
    mux = new_mux("--notices", "off")
    mux.start()
    mux.settle(service)
    wire = Wire(rack)
    change(service, [run(0, 4, 2)])
    with Clients(rack):
        _, generation = change(service, [run(0, 4, 3)])
        wait_for(wire, lambda: wire.first_by(generation) is not None)

    def is_quiet() -> bool:
        wire.read()
        return not wire.notices()

    stays(is_quiet, 1.5, "silence, also at the time of the repetition,")
    assert mux.metric("notices_waiting") is None
    with pytest.raises(urllib.error.HTTPError, match="404"):
        mux.get("/notices?service=web")


def test_what_cannot_be_sent_is_counted_by_reason(rack: Rack, mux: WholeMux, service: Service):
    rack.inside("ip", "route", "add", "unreachable", f"{BACKENDS[0]}/32")
    change(service, [run(0, 4, 2)])
    until(lambda: mux.metric("notice_errors_total", reason="no_route") >= 2, 60, mux.log())
    assert mux.metric("notices_total", result="sent") == 0
