# SPDX-License-Identifier: Apache-2.0
"""GET /sample as other programs read it: packets and comments with scapy, the whole file with tcpdump (libpcap)."""

import json
import struct
import subprocess
import time
import urllib.error
from collections.abc import Iterable
from pathlib import Path

import pytest
from deadline import until
from oracle.flow import bucket as bucket_of
from oracle.flow import flow_hash
from rack import BACKENDS, CLIENT, INSIDE, VIP, Rack
from scapy.all import ICMP, IP, TCP, UDP, Ether, RawPcapNgReader
from tree import Service, run
from whole_mux import HTTP, WholeMux
from zookeeper_process import ZooKeeperProcess

INBOUND, OUTBOUND = 1, 2
ALLOWED = "a Unix socket, or a token on this host, or any client with --http-samples on"
OTHER = "203.0.113.9"


@pytest.fixture
def mux(service: Service, new_mux, tmp_path: Path) -> WholeMux:
    """A mux that asks for a token, serves the service and knows the neighbours of its backends."""
    tokens = tmp_path / "tokens"
    tokens.write_text("a" * 40 + "\n")
    tokens.chmod(0o600)
    mux = new_mux("--http-tokens", str(tokens), token="a" * 40)
    mux.start()
    mux.settle(service)
    return mux


class Recording:
    """curl on the mux's own host; the recording is running once the file has content."""

    def __init__(self, mux: WholeMux, path: Path, query: str):
        self.path = path
        command = [
            "ip",
            "netns",
            "exec",
            mux.rack.namespace,
            "curl",
            "--silent",
            "--show-error",
            "--fail",
            "--no-buffer",
            "--header",
            f"Authorization: Bearer {mux.token}",
        ]
        self.process = subprocess.Popen([*command, "--output", str(path), f"http://{HTTP}/sample?{query}"])
        until(lambda: path.exists() and path.stat().st_size, 60, "the recording to begin")

    def packets(self, seconds: float = 60) -> list[tuple[Ether, dict[str, str], RawPcapNgReader.PacketMetadata]]:
        """Waits for the end. Returns the frames, their comments as dictionaries, and their metadata."""
        assert self.process.wait(seconds) == 0
        found = []
        for data, meta in RawPcapNgReader(str(self.path)):
            comment = dict(word.split("=") for word in meta.comment.decode().split())
            found.append((Ether(data), comment, meta))
        read = subprocess.run(["tcpdump", "-nr", self.path], capture_output=True, text=True, check=False)
        assert read.returncode == 0 and len(read.stdout.splitlines()) >= len(found), read.stderr
        return found

    def blocks(self) -> list[tuple[int, bytes]]:
        """All blocks with their types. Each has its length twice, and the file ends with a complete block."""
        data, at, blocks = self.path.read_bytes(), 0, []
        while at < len(data):
            kind, length = struct.unpack_from("<II", data, at)
            assert length % 4 == 0 and struct.unpack_from("<I", data, at + length - 4) == (length,)
            blocks.append((kind, data[at + 8 : at + length - 4]))
            at += length
        return blocks

    def statistics(self) -> dict[str, int]:
        """Of the last block."""
        kind, body = self.blocks()[-1]
        assert kind == 5
        names, at, found = {6: "accepted", 7: "dropped", 8: "given"}, 12, {}
        while (option := struct.unpack_from("<HH", body, at)) != (0, 0):
            found[names[option[0]]] = struct.unpack_from("<Q", body, at + 4)[0]
            at += 4 + option[1]
        return found


def bent(rack: Rack, source: str = CLIENT) -> list[Ether]:
    """A packet without a service, one with an expired TTL, and an echo request."""
    ether, ip = Ether(src=rack.mac, dst=rack.mux_mac), IP(src=source, dst=VIP)
    return [
        ether / ip / TCP(sport=7, dport=81),
        ether / IP(src=source, dst=VIP, ttl=0) / TCP(dport=80),
        ether / ip / ICMP(),
    ]


def send(mux: WholeMux, packets: Iterable[Ether]) -> None:
    """Sends packets and waits until they are counted, and therefore sampled."""

    def counted() -> float:
        return mux.arrived() + sum(mux.samples("packets_total", verdict="echo"))

    packets, before = list(packets), counted()
    mux.rack.send(packets)
    until(lambda: counted() >= before + len(packets), 60, f"{len(packets)} packets to be counted")


def record(mux: WholeMux, folder: Path, query: str, packets: list[Ether], is_enough) -> list:
    """What recordings of 2 s hold while the packets are sent repeatedly; as many recordings as needed."""
    found = []
    for number in range(20):
        recording = Recording(mux, folder / f"{query}-{number}", f"seconds=2&{query}")
        while recording.process.poll() is None:
            send(mux, packets)
        found += recording.packets()
        if is_enough(found):
            return found
    raise AssertionError(f"20 recordings of {query} did not hold what was sent: {found}")


def inner_of(frame: Ether) -> IP:
    """The inner packet of one on its way to a server."""
    return IP(bytes(frame[UDP].payload)[12:])


def seen(found: list) -> set:
    """The verdicts, and the client ports of steered packets."""
    steered = {inner_of(frame)[TCP].sport for frame, comment, _ in found if comment["verdict"] == "service"}
    return {comment["verdict"] for _, comment, _ in found} | steered


def test_what_became_of_each_packet(mux: WholeMux, service: Service, rack: Rack, tmp_path: Path):
    rows = service.image["rows"]
    sports = range(2000, 2030)
    packets = [*bent(rack), *(rack.to_vip(sport, b"x" * 300) for sport in sports)]
    wanted = {"service", "no_service_port", "ip_ttl", "echo"}
    found = record(
        mux, tmp_path, f"rate=1000&source={CLIENT}", packets, lambda found: seen(found) >= wanted | set(sports)
    )

    assert seen(found) == wanted | set(sports)
    for frame, comment, meta in found:
        assert meta.ifname.decode() == INSIDE and int(meta.tsresol) == 10**9
        if comment["verdict"] != "service":
            assert meta.direction == INBOUND and "bucket" not in comment and frame[IP].dst == VIP
            continue
        inner = inner_of(frame)
        key = {
            "protocol": 6,
            "source": CLIENT,
            "sourcePort": inner[TCP].sport,
            "destination": VIP,
            "destinationPort": 80,
        }
        value = flow_hash(key | {"affinity": "connection", "hash": "siphash", "hashKey": service.config["hashKey"]})
        bucket = bucket_of(value, service.image["buckets"])
        backend = rows[bucket][0]
        words = {"bucket": bucket, "backend": backend, "generation": service.image["generation"], "worker": 0}
        assert comment == {"verdict": "service", "service": "web"} | {k: str(v) for k, v in words.items()}
        assert frame[IP].dst == BACKENDS[backend - 1] and meta.direction == OUTBOUND
        assert (len(frame), meta.wirelen) == (256, 14 + 40 + 40 + 300)


def test_former_owners_are_counted(mux: WholeMux, service: Service, rack: Rack, tmp_path: Path):
    now = int(time.time())
    for owner in (1, 3):
        service.commit([], [run(0, service.image["buckets"], owner)], committed=now)
    until(lambda: mux.metric("generation", service="web") == service.image["generation"], 60, mux.log())
    for _, comment, _ in record(mux, tmp_path, "verdict=service&service=web", [rack.to_vip(1)], bool):
        owner, history = service.image["rows"][int(comment["bucket"])]
        assert (comment["backend"], comment["former"]) == (str(owner), str(len(history))) and owner == 3


def test_the_rate_holds_and_what_is_beyond_is_counted(mux: WholeMux, rack: Rack, tmp_path: Path):
    recording = Recording(mux, tmp_path / "sample", "seconds=4&rate=20&verdict=service")
    while recording.process.poll() is None:
        send(mux, [rack.to_vip(sport) for sport in range(1024, 1524)])
    found = recording.packets()
    assert 1 <= len(found) <= 4 * 20
    taken, limited, full = (mux.samples("samples_total", result=name)[0] for name in ("taken", "limited", "full"))
    assert (taken, full) == (len(found), 0) and limited > 0
    assert recording.statistics() == {"accepted": taken + limited, "dropped": 0, "given": taken}
    send(mux, [rack.to_vip(9)])
    assert mux.samples("samples_total", result="limited")[0] == limited, "no packet is sampled after the end"


def test_filters(mux: WholeMux, rack: Rack, tmp_path: Path):
    packets = [*bent(rack, OTHER), *(rack.to_vip(sport) for sport in range(1, 21))]

    def verdicts(found: list) -> set[str]:
        return {comment["verdict"] for _, comment, _ in found}

    for query, wanted in [
        ("verdict=drops", {"no_service_port", "ip_ttl"}),
        ("verdict=ip_ttl,echo", {"ip_ttl", "echo"}),
        ("service=web", {"service"}),
        (f"source={OTHER}", {"no_service_port", "ip_ttl", "echo"}),
    ]:
        found = record(
            mux, tmp_path, f"rate=1000&{query}", packets, lambda found, wanted=wanted: verdicts(found) >= wanted
        )
        assert verdicts(found) == wanted, query


def refused(mux: WholeMux, query: str, inside: bool = True) -> dict:
    """The problem document of a refusal."""
    if inside:
        words = ["--header", f"Authorization: Bearer {mux.token}"] if mux.token else []
        done = mux.inside("curl", "--silent", "--max-time", "20", *words, f"http://{HTTP}/sample?{query}")
        return json.loads(done.stdout)
    with pytest.raises(urllib.error.HTTPError) as error:
        mux.get(f"/sample?{query}")
    return json.loads(error.value.read())


def test_refused(mux: WholeMux, tmp_path: Path):
    for query, status, field, value in [
        ("seconds=0", 400, "seconds", "0"),
        ("seconds=301", 400, "seconds", "301"),
        ("seconds=1e3", 400, "seconds", "1e3"),
        ("rate=1001", 400, "rate", "1001"),
        ("rate=-1", 400, "rate", "-1"),
        ("rate=", 400, "rate", ""),
        ("verdict=dropped", 400, "verdict", "dropped"),
        ("verdict=service,", 400, "verdict", "service,"),
        ("verdict=port_full", 400, "verdict", "port_full"),
        ("service=unknown", 404, "service", "unknown"),
        ("source=10.1", 400, "source", "10.1"),
        ("source=::", 400, "source", "::"),
        ("second=1", 400, "argument", "second"),
        ("rate=1&rate=2", 400, "argument", "rate"),
        ("rate", 400, "argument", "rate"),
    ]:
        problem = refused(mux, query)
        assert (problem["status"], problem["field"], problem["value"]) == (status, field, value), problem
        assert problem["allowed"]
    assert "ip_checksum" in refused(mux, "verdict=x")["allowed"]
    elsewhere = refused(mux, "seconds=1", inside=False)
    assert (elsewhere["status"], elsewhere["field"]) == (403, "client")
    assert elsewhere["allowed"] == ALLOWED

    recording = Recording(mux, tmp_path / "sample", "seconds=300")
    assert refused(mux, "seconds=1")["status"] == 409
    recording.process.kill()  # detected at the next write to it
    recording.process.wait()
    until(lambda: refused(mux, "seconds=0")["status"] == 400, 60, "the recording to end with its client")


def test_a_local_user_without_a_token_sees_no_packets(new_mux):
    mux = new_mux()
    mux.start()
    problem = refused(mux, "seconds=1")
    assert (problem["status"], problem["field"], problem["allowed"]) == (403, "client", ALLOWED)


class BySocket(WholeMux):
    """Asked by a Unix socket."""

    def get(self, path: str) -> str:
        done = self.inside("curl", "--silent", "--unix-socket", self.http.removeprefix("unix:"), f"http://mux{path}")
        return done.stdout.decode("latin-1")


def test_a_unix_socket_shows_packets(rack: Rack, zookeeper: ZooKeeperProcess, tmp_path: Path):
    mux = BySocket(rack, f"10.1.0.1:{zookeeper.port}", tmp_path / "log", http=f"unix:{tmp_path}/http.sock")
    try:
        mux.start()
        assert mux.get("/sample?seconds=1").startswith("\n\r\r\n")  # a section header of pcapng
    finally:
        mux.end()


def test_a_mux_stops_while_it_records(mux: WholeMux, tmp_path: Path):
    recording = Recording(mux, tmp_path / "sample", "seconds=300&verdict=ip_ttl")
    assert mux.stop() == 0
    assert recording.process.wait(60) != 0, "curl did not report that the file is truncated"
