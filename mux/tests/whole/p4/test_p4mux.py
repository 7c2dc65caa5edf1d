# SPDX-License-Identifier: Apache-2.0
"""fairlead-p4mux as it is run: its pipeline follows a real ZooKeeper, and the mux's own code does what it does not do.

fairlead_mux_pipeline_packets_total shows which packets went through the pipeline.
"""

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import until
from oracle.address import packed
from oracle.flow import MASK, crc32, siphash
from oracle.list import read
from rack import BACKENDS, CLIENT, CLIENT6, VIP, VIP6, Rack, is_echo_reply, is_tunnel
from scapy.all import ICMP, IP, TCP, UDP, Ether, IPv6, Raw, fragment
from tree import Service, Tree, backend, run
from whole_mux import WholeMux
from zookeeper_process import ZooKeeperProcess

KEY = bytes(range(16))
ALL = 256  # buckets
PACKETS = 100


def low_half(hash_kind: str, key: bytes) -> int:
    return crc32(key) if hash_kind == "crc32" else siphash(KEY, key) & 0xFFFFFFFF


def bucket_of(service: Service, frame: Ether) -> int:
    """The bucket of a packet to the service, by the protocol's oracle."""
    ip = frame[IP] if IP in frame else frame[IPv6]
    ports = frame[TCP] if TCP in frame else frame[UDP]
    key = packed(ip.src) + packed(ip.dst) + ports.sport.to_bytes(2) + ports.dport.to_bytes(2)
    key += bytes([6 if TCP in frame else 17])
    return low_half(service.config["hash"], key) & MASK & (ALL - 1)


def outer_of(frame: Ether) -> str:
    return frame[IP].dst if frame[Ether].type == 0x800 else frame[IPv6].dst


def header_of(frame: Ether) -> dict:
    return read(bytes(frame[UDP].payload), outer_of(frame))


def inner_of(frame: Ether) -> Ether:
    """The packet inside, as a frame."""
    data = bytes(frame[UDP].payload)
    inner = data[4 + 4 * (data[0] & 31) :]
    return Ether() / (IP(inner) if inner[0] >> 4 == 4 else IPv6(inner))


def steered(mux: WholeMux) -> float:
    return mux.metric("pipeline_packets_total")


@pytest.fixture(params=["crc32", "siphash"])
def web(request: pytest.FixtureRequest, tree: Tree) -> Service:
    """`web`, whose buckets three backends share."""
    service = Service(tree, hash=request.param, vips=[VIP, VIP6], ports=[
        {"protocol": "tcp", "port": 80}, {"protocol": "udp", "port": 80}
    ])  # fmt: skip
    service.create()
    service.commit(
        [backend(n + 1, address) for n, address in enumerate(BACKENDS)],
        [run(0, 85, 1), run(85, 85, 2), run(170, 86, 3)],
    )
    return service


@pytest.fixture
def p4mux(web: Service, new_mux) -> Iterator[WholeMux]:
    mux = new_mux()
    mux.start()
    mux.settle(web)
    return mux


def to_vip(rack: Rack, sport: int, protocol: type = TCP, ipv6: bool = False, size: int = 0) -> Ether:
    ip = IPv6(src=CLIENT6, dst=VIP6) if ipv6 else IP(src=CLIENT, dst=VIP)
    l4 = TCP(sport=sport, dport=80, flags="A") if protocol is TCP else UDP(sport=sport, dport=80)
    return Ether(src=rack.mac, dst=rack.mux_mac) / ip / l4 / Raw(b"x" * size)


def owner(service: Service, bucket: int) -> str:
    """The address of a bucket's backend in the present image."""
    return service.image["backends"][service.image["rows"][bucket][0]][0]


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("protocol", [TCP, UDP])
def test_packets_go_by_the_pipeline(protocol: type, ipv6: bool, web: Service, p4mux: WholeMux, rack: Rack):
    before = steered(p4mux)
    sent = [to_vip(rack, 2000 + n, protocol, ipv6, size=n * 7) for n in range(PACKETS)]
    rack.send(sent)
    out = rack.receive(is_tunnel, PACKETS)
    assert len(out) == PACKETS and steered(p4mux) == before + PACKETS
    layer = IPv6 if ipv6 else IP
    inner = {bytes(inner_of(frame)[layer]) for frame in out}
    assert inner == {bytes(packet[layer]) for packet in sent}
    for frame in out:
        header, to = header_of(frame), owner(web, bucket_of(web, inner_of(frame)))
        assert (header["order"], header["generation"], header["service"]) == ([to], web.image["generation"], 1)


def servers(row: tuple) -> list[int]:
    """A row's owner and its former ones, newest first."""
    return [row[0], *(former[0] for former in row[1])]


class Traffic:
    """Packets of many connections all the time, and what the mux makes of them."""

    def __init__(self, rack: Rack):
        self.frames = [bytes(to_vip(rack, sport)) for sport in range(2000, 2200)]
        self.rack, self.is_over, self.seen = rack, threading.Event(), []
        self.threads = [threading.Thread(target=self._send), threading.Thread(target=self._receive)]

    def _send(self) -> None:
        while not self.is_over.is_set():
            for frame in self.frames:
                self.rack.socket.send(frame)
                time.sleep(0.0005)

    def _receive(self) -> None:
        """Until nothing has arrived for a second after the last packet was sent."""
        mac = bytes.fromhex(self.rack.mux_mac.replace(":", ""))
        self.rack.socket.settimeout(1)
        while True:
            try:
                data = self.rack.socket.recv(65535)
            except TimeoutError:
                if self.is_over.is_set():
                    return
                continue
            if data[6:12] == mac and data[12:14] == b"\x08\x00" and data[23] == 17 and data[36:38] == b"\x17\xc0":
                self.seen.append(data)

    def __enter__(self) -> "Traffic":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def test_deltas_under_traffic(web: Service, p4mux: WholeMux, rack: Rack):
    """Each packet is of a state that was: its generation's, or by the row of a later one (mux/ring/ring.h)."""
    images, before = {web.image["generation"]: web.image}, steered(p4mux)
    with Traffic(rack) as traffic:
        for turn in range(60):
            former = web.image["rows"][turn * 4][0]
            one = run(turn * 4, 1, former % 3 + 1)
            if turn % 3 == 2:
                one = run(0, 5, former % 3 + 1) | {"owner": former}
            web.commit([], [one], committed=int(time.time()))
            images[web.image["generation"]] = web.image
            serves = lambda: p4mux.metric("generation", service="web") == web.image["generation"]  # noqa: E731
            until(serves, 60, f"generation {web.image['generation']}")
    assert not p4mux.logged(event="refused"), p4mux.log()
    newest = web.image["generation"]
    assert sum(p4mux.samples("drops_total")) == 0 and steered(p4mux) > before + len(traffic.seen) / 2
    generations, lengths = set(), set()
    for data in traffic.seen:
        if data[43] == 59:  # a notice
            continue
        frame = Ether(data)
        header = header_of(frame)
        bucket, generation = bucket_of(web, inner_of(frame)), header["generation"]
        generations.add(generation)
        may_be = [images[g]["rows"][bucket] for g in range(generation, min(generation + 3, newest) + 1)]
        assert header["order"] in [[BACKENDS[id_ - 1] for id_ in servers(row)] for row in may_be], (generation, bucket)
        lengths.add(len(header["order"]))
    assert len(generations) > 20 and lengths == {1, 2, 3}


def test_a_damaged_delta_changes_nothing(web: Service, p4mux: WholeMux, rack: Rack, tree: Tree):
    before = web.image
    data = web.change([], [run(0, 256, 2)])[1]
    web.commit([], [run(0, 256, 2)], damage=lambda good: good[:-1] + bytes([good[-1] ^ 1]))
    until(lambda: p4mux.metric("refused_total", service="web", reason="checksum"), 60, p4mux.log())
    rack.drain()
    rack.send([to_vip(rack, 3000 + n) for n in range(PACKETS)])
    out = rack.receive(is_tunnel, PACKETS)
    assert len(out) == PACKETS
    assert {header_of(frame)["generation"] for frame in out} == {before["generation"]}
    assert {outer_of(frame) for frame in out} == set(BACKENDS)
    until(lambda: "refused" in tree.mux()["services"]["web"], 60, "the node to say so")
    assert tree.mux()["services"]["web"]["refused"] == "checksum"
    tree.client.set(f"{web.gen(web.image['generation'])}/delta/0000", data)
    p4mux.settle(web)
    rack.send([to_vip(rack, 3000 + n) for n in range(PACKETS)])
    out = rack.receive(is_tunnel, PACKETS)
    assert {outer_of(frame) for frame in out} == {BACKENDS[1]}


def test_it_serves_on_without_zookeeper_and_catches_up(
    web: Service, p4mux: WholeMux, rack: Rack, tree: Tree, zookeeper: ZooKeeperProcess
):
    zookeeper.stop()
    try:
        until(lambda: p4mux.metric("zookeeper_connected") == 0, 60, p4mux.log())
        before = steered(p4mux)
        rack.send([to_vip(rack, 4000 + n) for n in range(PACKETS)])
        assert len(rack.receive(is_tunnel, PACKETS)) == PACKETS and steered(p4mux) == before + PACKETS
    finally:
        zookeeper.start()
    until(tree.answers, 60, "the test's session")
    for turn in range(5):
        web.commit([backend(4 + turn, BACKENDS[0])], [run(0, 20 * turn + 1, 4 + turn)])
    web.commit([], [run(0, 128, 3)], with_snapshot=True)
    p4mux.settle(web)
    before = steered(p4mux)
    rack.send([to_vip(rack, 4000 + n) for n in range(PACKETS)])
    out = rack.receive(is_tunnel, PACKETS)
    assert len(out) == PACKETS and steered(p4mux) == before + PACKETS
    for frame in out:
        assert outer_of(frame) == owner(web, bucket_of(web, inner_of(frame)))


def test_fragments_go_where_their_datagram_goes(web: Service, new_mux, rack: Rack):
    """By XDP: DPDK's packet socket puts fragments together before the mux sees them."""
    mux = new_mux(port="af_xdp")
    mux.start()
    mux.settle(web)
    before, ether = steered(mux), Ether(src=rack.mac, dst=rack.mux_mac)
    whole = IP(src=CLIENT, dst=VIP, id=99) / UDP(sport=5000, dport=80) / Raw(b"y" * 1400)
    rack.send([ether / part for part in fragment(whole, 600)])
    parts = rack.receive(is_tunnel, 3)
    assert len(parts) == 3 and steered(mux) == before
    assert {outer_of(part) for part in parts} == {owner(web, bucket_of(web, ether / whole))}


def test_what_the_pipeline_does_not_do(web: Service, p4mux: WholeMux, rack: Rack):
    """Echo requests, IP options, packets that are too big: the mux's own code answers, steers, counts."""
    before = steered(p4mux)
    ether = Ether(src=rack.mac, dst=rack.mux_mac)
    rack.send([ether / IP(src=CLIENT, dst=VIP) / ICMP(type=8, id=7) / Raw(b"ping")])
    assert len(rack.receive(is_echo_reply, 1)) == 1
    with_options = ether / IP(src=CLIENT, dst=VIP, options=b"\x01\x01\x01\x01") / TCP(sport=5001, dport=80, flags="A")
    rack.send([with_options])
    assert len(rack.receive(is_tunnel, 1)) == 1
    rack.send([to_vip(rack, 5002, size=1620), ether / IP(src=CLIENT, dst=VIP) / TCP(sport=1, dport=81)])
    until(lambda: p4mux.metric("drops_total", reason="no_service_port") == 1, 60, p4mux.get("/metrics"))
    assert p4mux.metric("drops_total", reason="too_big") == 1
    assert p4mux.metric("packets_total", verdict="echo") == 1
    assert steered(p4mux) == before


def test_counts_are_those_of_the_mux(web: Service, p4mux: WholeMux, rack: Rack):
    """Packets shorter than Ethernet's minimum count by their IP length, frames by what came."""
    names = {"service_packets_total": {"service": "web"}, "service_bytes_total": {"service": "web"}, "bytes_total": {}}
    sent = [to_vip(rack, 6000 + n, size=n) for n in range(PACKETS)]
    sent = [bytes(packet).ljust(60, b"\0") for packet in sent]
    before = {name: p4mux.metric(name, **labels) for name, labels in names.items()}
    rack.send(sent)
    out = rack.receive(is_tunnel, PACKETS)
    assert len(out) == PACKETS
    lengths = [int.from_bytes(packet[16:18]) for packet in sent]
    assert sorted(len(inner_of(frame)[IP]) for frame in out) == sorted(lengths)
    grown = {name: p4mux.metric(name, **labels) - before[name] for name, labels in names.items()}
    assert grown == {
        "service_packets_total": PACKETS,
        "service_bytes_total": sum(lengths),
        "bytes_total": sum(len(packet) for packet in sent),
    }


def test_it_tells_its_kind_and_what_it_cannot_serve(web: Service, p4mux: WholeMux, tree: Tree, rack: Rack):
    Service(tree, id_=2, name="wide", vips=["10.99.0.2"], encap="srv6").create()
    maat = {
        "load": "packets",
        "deltaThousandths": 10,
        "halfLifeMillis": 1000,
        "filterBytes": 2097152,
        "filterHashes": 3,
    }
    Service(tree, id_=3, name="two", vips=["10.99.0.3"], steering="maat", maat=maat).create()
    until(lambda: tree.mux()["services"].get("two", {}).get("refused"), 60, p4mux.log())
    until(lambda: tree.mux()["services"].get("wide", {}).get("refused"), 60, p4mux.log())
    node = tree.mux()
    assert node["kind"] == "p4" and node["services"]["web"]["state"] == "serving"
    for name, why in {"wide": "encap is 'srv6'", "two": "maat.filterBytes is 2097152"}.items():
        told = node["services"][name]
        assert (told["state"], told["refused"]) == ("loading", "unsupported") and why in told["why"]
        assert p4mux.logged(event="refused", service=name, reason="unsupported") == 1
    assert set(p4mux.routes().values()) == {"fl1"}
    web.commit([], [run(0, 10, 2)])
    p4mux.settle(web)


def test_a_service_goes_and_comes_back(web: Service, p4mux: WholeMux, rack: Rack):
    web.configure(ports=[{"protocol": "tcp", "port": 80}, {"protocol": "tcp", "port": 8080}])
    until(lambda: p4mux.logged(event="changed", service="web") == 1, 60, p4mux.log())
    before = steered(p4mux)
    frames = [to_vip(rack, 7000 + n) for n in range(PACKETS)]
    for frame in frames:
        frame[TCP].dport = 8080
    rack.send(frames)
    assert len(rack.receive(is_tunnel, PACKETS)) == PACKETS and steered(p4mux) == before + PACKETS
    web.delete()
    until(lambda: p4mux.metric("generation", service="web") is None, 60, p4mux.log())
    web.create()
    p4mux.settle(web)
    before = steered(p4mux)
    rack.send(frames)
    assert len(rack.receive(is_tunnel, PACKETS)) == PACKETS and steered(p4mux) == before + PACKETS


def test_explain_says_what_the_pipeline_does(web: Service, p4mux: WholeMux, rack: Rack):
    flow = f"protocol=tcp&source={CLIENT}&sourcePort=8000&destination={VIP}&destinationPort=80"
    explained = json.loads(p4mux.get(f"/explain?service=web&{flow}"))
    before = steered(p4mux)
    rack.send([to_vip(rack, 8000)])
    out = rack.receive(is_tunnel, 1)
    assert steered(p4mux) == before + 1
    assert outer_of(out[0]) == explained["current"]["address"]


def test_options_that_it_does_not_have(tmp_path: Path):
    key = tmp_path / "key"
    key.write_text("00" * 15 + "01\n")
    key.chmod(0o600)
    command = [os.environ["FAIRLEAD_MUX"], "--id", "a", "--zookeeper", "127.0.0.1:1", "--port", "af_packet:lo"]
    done = subprocess.run([*command, "--tag-key", str(key)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and "--tag-key is not allowed" in done.stderr
    many = [word for n in range(4) for word in ("--port", f"af_packet:x{n}")]
    done = subprocess.run([*command, *many], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and "5 are given" in done.stderr
    few = ["--memory", "345", "--workers", "2", "--check"]
    done = subprocess.run([*command, *few], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and "at least 346, of which a pipeline takes 133" in done.stderr
