# SPDX-License-Identifier: Apache-2.0
"""Segment routing from end to end: real muxes, servers of both forms, and changes under traffic.

Packets that the muxes write and that a server forwards are captured on the rack's wire: scapy reads their headers, and
what servers make of them must equal, byte for byte, the oracle of the shared vectors.
"""

import socket
from collections.abc import Iterator

import pytest
from scapy.all import Ether, IPv6

from lab import Lab
from lab.cluster_key import KEY as KEY_TEXT
from lab.deadline import until
from lab.health import expect_probed
from lab.variant import Variant
from lab.vm.kernel import kernels
from protocol.vectors.oracle import list_srv6

KEY = bytes.fromhex(KEY_TEXT)
WINDOW = 600  # longer than any test
LONG = 60
INTERVAL = 0.5  # a machine's processor is emulated
SHORT_RATE = 5
ETH_P_ALL, ETHERNET, IPV6 = 3, 14, 40
CAPTURED = 20  # packets of each kind
MACHINE = 3


@pytest.fixture(scope="module")
def srv6_lab(built: None) -> Iterator[Lab]:
    """Two XDP programs and a module, with the cluster's key."""
    with Lab(
        servers=2, window=WINDOW, vm_servers=1, vm_kernel=kernels()[0], variant=Variant(encap="srv6", quiet=0)
    ) as lab:
        yield lab


class Wire:
    """Captures packets with a routing header at a server's port of the rack."""

    def __init__(self, lab: Lab, server: str) -> None:
        with lab.router.namespace.inside():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._socket.bind((server, ETH_P_ALL))
        self._socket.settimeout(30)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def next(self) -> bytes:
        """From the outer IPv6 header on."""
        while True:
            frame = self._socket.recv(65536)
            packet = frame[ETHERNET:]
            if frame[12:ETHERNET] == b"\x86\xdd" and packet[6] == socket.IPPROTO_ROUTING:
                return packet[: IPV6 + int.from_bytes(packet[4:6])]


def check_capture(lab: Lab, owner: str, drained: str) -> None:
    """What a mux sends to the owner, and what the owner makes of it: one segment left, and none."""
    muxes = {mux.address6 for mux in lab.running_muxes()}
    told: dict[bytes, bytes] = {}
    chained = 0
    with Wire(lab, next(s.name for s in lab.servers.values() if s.address6 == owner)) as wire:
        while len(told) < CAPTURED or chained < CAPTURED:
            packet = wire.next()
            outer = Ether(b"\0" * 12 + b"\x86\xdd" + packet)[IPv6]
            fields = list_srv6.read(packet[IPV6:], outer.dst)
            inner = packet[IPV6 + fields["headerLength"] :]
            if outer.src in muxes:
                # the bridge sends others' packets here, too, until it knows where their receivers are
                if outer.dst != owner or fields["candidates"] != [drained]:
                    continue
                assert list_srv6.check(KEY, packet[IPV6:], owner) == "right"
                told[inner] = packet
            elif outer.src == owner and inner in told:  # otherwise it passed before the capture
                before = told[inner]
                assert packet[:4] == before[:4]  # class and flow label
                assert (packet[IPV6:], outer.dst) == list_srv6.forward(before[IPV6:], owner, 1, False)
                chained += 1


def test_probes_reach_each_server(srv6_lab: Lab) -> None:
    expect_probed(srv6_lab)


def test_connections_live_on_by_segment_routing(srv6_lab: Lab) -> None:
    """A server is drained, one is added, a mux dies: nothing breaks."""
    lab = srv6_lab
    with lab.traffic(long=LONG, interval=INTERVAL, short_rate=SHORT_RATE) as traffic:
        traffic.wait_open()
        assert all(traffic.held_by(server.name) for server in lab.servers.values())
        lab.drain(1)
        check_capture(lab, lab.servers[2].address6, lab.servers[1].address6)
        until("the machine chains", lab.servers[MACHINE].chained, 60)
        lab.kill_mux(1)
        lab.wait_announced()
        added, _ = lab.add_server()
        until("the new server chains", added.chained, 60)
        lab.start_mux(1)
        lab.wait_announced()
        traffic.wait_quiet()
        total = traffic.stop()
    assert total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))
    assert total["connections"] >= LONG
    for server in lab.servers.values():
        counters = server.show()["counters"]
        drops = {name: n for name, n in counters.items() if name.startswith("drop_") and n}
        assert set(drops) <= {"drop_stale"}, (server.name, drops)
    assert lab.servers[MACHINE].machine.complaints() == []
