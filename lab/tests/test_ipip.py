# SPDX-License-Identifier: Apache-2.0
"""The paper's encapsulation from end to end: real muxes, and the kernel module in virtual machines.

Packets that the muxes write and that a server forwards are captured on the rack's wire and must equal, byte for byte,
those of the oracle of the shared vectors.
"""

import socket
from collections.abc import Iterator

import pytest

from lab import Lab, topology
from lab.deadline import until
from lab.health import expect_probed
from lab.lab import SERVICE
from lab.variant import Variant
from lab.vm.kernel import kernels
from protocol.vectors.oracle import ipip

WINDOW = 600  # longer than any test
LONG = 40
ETH_P_ALL, ETHERNET = 3, 14
CAPTURED = 20  # packets of each kind


@pytest.fixture(scope="module")
def ipip_lab(built: None) -> Iterator[Lab]:
    """Two machines, and the lab's service created again with encap ipip, which has no room for tags."""
    with Lab(servers=0, window=WINDOW, vm_servers=2, vm_kernel=kernels()[0], variant=Variant(tagged=False)) as lab:
        lab.api("DELETE", f"/v1/services/{SERVICE}")
        spec = {"name": SERVICE, "vips": [topology.VIP], "ports": [{"protocol": "tcp", "port": topology.VIP_PORT}]}
        lab.api("POST", "/v1/services", spec | {"encap": "ipip", "windowSeconds": WINDOW})
        service = str(lab.service()["id"])
        for server in lab.servers.values():
            server.run(*server.attachment(), "--ipip-service", service)
        servers = sorted(lab.servers.items())
        lab.change(*[{"op": "add", "id": n, "address": s.address, "weight": 100} for n, s in servers])
        lab.wait_applied()
        lab.wait_announced()
        yield lab


class Wire:
    """Captures packets of protocol 4 at a server's port of the rack: (header of 36 bytes, inner packet) each."""

    def __init__(self, lab: Lab, server: str) -> None:
        with lab.router.namespace.inside():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._socket.bind((server, ETH_P_ALL))
        self._socket.settimeout(30)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def next(self) -> tuple[bytes, bytes]:
        while True:
            frame = self._socket.recv(65536)
            packet = frame[ETHERNET:]
            if frame[12:ETHERNET] == b"\x08\x00" and packet[9] == socket.IPPROTO_IPIP:
                packet = packet[: int.from_bytes(packet[2:4])]
                return packet[: ipip.LENGTH], packet[ipip.LENGTH :]


def test_probes_reach_each_server(ipip_lab: Lab) -> None:
    expect_probed(ipip_lab)


def test_connections_live_on_by_ipip(ipip_lab: Lab) -> None:
    """One of two servers is drained: the other sends packets on in the format in which they arrive."""
    lab = ipip_lab
    drained, owner = lab.servers[1], lab.servers[2]
    muxes = {mux.address for mux in lab.running_muxes()}
    with lab.traffic(long=LONG, interval=0.5, short_rate=5) as traffic:
        traffic.wait_open()
        assert all(traffic.held_by(server.name) for server in (drained, owner))
        lab.drain(1)
        generation = lab.service()["generation"]
        until("packets are chained", owner.chained, 30)
        told: dict[bytes, bytes] = {}  # packets that a mux sent to the owner, by their inner packets
        chained = 0
        with Wire(lab, owner.name) as wire:
            while len(told) < CAPTURED or chained < CAPTURED:
                header, inner = wire.next()
                fields = ipip.read(header)
                assert ipip.checksum(header) == 0
                assert fields["generation"] == generation
                if fields["source"] in muxes:
                    # the bridge sends others' packets here, too, until it knows where their receivers are
                    if fields["destination"] != owner.address:
                        continue
                    assert header == ipip.write(fields)
                    assert fields["innerLength"] == len(inner)
                    told[inner] = header
                elif inner in told:  # otherwise it passed before the capture
                    assert (fields["source"], fields["destination"]) == (owner.address, drained.address)
                    assert header + inner == ipip.forward(told[inner] + inner, owner.address, drained.address)
                    assert ipip.read(told[inner])["previous"] == drained.address
                    chained += 1
        traffic.wait_quiet()
        total = traffic.stop()
    assert total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))
    assert total["connections"] >= LONG
    for server in (drained, owner):
        counters = server.show()["counters"]
        assert counters["deliver_local_socket"] > 0
        assert {name: n for name, n in counters.items() if name.startswith("drop_") and n} == {}
    assert drained.chained() == 0 < owner.chained()
    assert [server.machine.complaints() for server in lab.servers.values()] == [[], []]
