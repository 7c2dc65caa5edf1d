# SPDX-License-Identifier: Apache-2.0
"""From a port to a port: packets name a bucket's former owners, with a tag, until their windows are over."""

import signal
import time
from pathlib import Path

import pytest
from deadline import until
from oracle import list as lists
from oracle.flow import bucket as bucket_of
from oracle.flow import flow_hash
from oracle.notice import PROTOCOL
from rack import CLIENT, VIP, Rack
from scapy.all import IP, TCP, UDP, Ether, Raw
from tree import Service, Tree, run
from whole_mux import WholeMux
from zookeeper_process import ZooKeeperProcess

KEY = bytes(range(16))
PORTS = range(2000, 2200)
CLOSING = 10  # seconds until the windows of some are over


def bucket(service: Service, port: int) -> int:
    flow = {"source": CLIENT, "sourcePort": port, "destination": VIP, "destinationPort": 80, "protocol": 6}
    config = {name: service.config[name] for name in ("hash", "hashKey", "affinity")}
    return bucket_of(flow_hash(flow | config), service.image["buckets"])


def header_of(frame: Ether) -> tuple[int, str, dict] | None:
    """The client's port, the outer destination and the header of a packet to a server; None for anything else."""
    if UDP not in frame or frame[UDP].dport != 6080 or bytes(frame[UDP].payload)[1] == PROTOCOL:
        return None
    data, to = bytes(frame[UDP].payload), frame[IP].dst
    assert lists.check(KEY, data, to) == "right"
    fields = lists.read(data, to)
    return IP(data[fields["headerLength"] :])[TCP].sport, to, fields


def exchange(mux: WholeMux, rack: Rack, flags: str) -> dict[int, tuple[str, dict]]:
    """A segment of each connection through the mux: where it went and its header, by port."""
    rack.drain()
    ether = Ether(src=rack.mac, dst=rack.mux_mac)
    rack.send(ether / IP(src=CLIENT, dst=VIP) / TCP(sport=port, dport=80, flags=flags) / Raw(b"x") for port in PORTS)
    came = [header_of(frame) for frame in rack.receive(lambda frame: header_of(frame) is not None, len(PORTS), 20)]
    assert sorted(port for port, _, _ in came) == list(PORTS), mux.log()
    return {port: (to, fields) for port, to, fields in came}


@pytest.mark.parametrize("ahead", [0, 86400, -86400])
def test_packets_name_former_owners_until_their_windows_are_over(
    service: Service, rack: Rack, new_mux, tmp_path: Path, ahead: int
):
    """By ZooKeeper's time: the mux's own wall clock may be a day off."""
    key = tmp_path / "key"
    key.write_text(KEY.hex() + "\n")
    key.chmod(0o600)
    now = int(time.time())
    closing = now - service.config["windowSeconds"] + CLOSING
    service.commit([], [run(0, 40, 2)], committed=closing)
    service.commit([], [run(20, 20, 3), run(85, 40, 3)], committed=now)
    mux = new_mux("--tag-key", str(key), wall_clock_ahead=ahead)
    mux.start()
    mux.settle(service)

    def wanted(number: int) -> tuple[str, list[str], list[str]]:
        """The owner, all former owners, and those whose windows are not about to end."""
        owner, history = service.image["rows"][bucket(service, number)]
        address = {id_: backend[0] for id_, backend in service.image["backends"].items()}
        left = [address[former] for former, since in history if since != closing]
        return address[owner], [address[former] for former, _ in history], left

    def are_closed() -> bool:
        """Whether none of the former owners whose windows were about to end is named; others always are."""
        named = 0
        for number, (to, fields) in exchange(mux, rack, "A").items():
            owner, former, left = wanted(number)
            assert (to, fields["generation"]) == (owner, service.image["generation"])
            assert fields["flags"] == lists.TAG and fields["left"] == len(fields["candidates"])
            assert fields["candidates"] in (former, left)
            named += fields["candidates"] != left
        return named == 0

    assert not are_closed()
    until(are_closed, 60, "windows to be closed")
    assert time.time() >= closing + service.config["windowSeconds"], "they were closed too early"
    assert {(len(former), len(left)) for _, former, left in map(wanted, PORTS)} == {(0, 0), (1, 0), (1, 1), (2, 1)}
    assert all(fields["candidates"] == [] for _, fields in exchange(mux, rack, "S").values())
    until(lambda: mux.metric("list_cells") == 1, 60, "the lists that no row names to be gone")
    assert mux.metric("lists_refused_total") == 0


def test_a_mux_that_does_not_know_the_time_ends_no_window(
    tree: Tree, service: Service, rack: Rack, zookeeper: ZooKeeperProcess, new_mux, tmp_path: Path
):
    """It is restarted without ZooKeeper, from a state in which the windows were open, after they were over."""
    key, folder = tmp_path / "key", tmp_path / "state"
    key.write_text(KEY.hex() + "\n")
    key.chmod(0o600)
    folder.mkdir(mode=0o700)
    tree.client.create("/fairlead/cluster", b"whole")
    end = int(time.time()) + CLOSING
    service.commit([], [run(0, 40, 2)], committed=end - service.config["windowSeconds"])
    mux = new_mux("--tag-key", str(key), "--state-dir", str(folder))
    mux.start()
    mux.settle(service)
    until(lambda: mux.metric("state_unsaved") == 0, 60, mux.log())
    zookeeper.stop()
    try:
        mux.signal(signal.SIGKILL)
        mux.wait(60)
        until(lambda: time.time() > end, 60, "the windows to be over")
        mux.start()
        mux.settle(service)
        assert mux.metric("restored", service="web") == 1 and mux.metric("window_time_seconds") == 0
        moved = [port for port in PORTS if service.image["rows"][bucket(service, port)][1]]
        came = exchange(mux, rack, "A")
        assert moved and all(len(came[port][1]["candidates"]) == 1 for port in moved)
    finally:
        zookeeper.start()
    until(lambda: mux.metric("window_time_seconds") > end, 60, mux.log())
    until(lambda: not any(fields["candidates"] for _, fields in exchange(mux, rack, "A").values()), 60, "their end")
