# SPDX-License-Identifier: Apache-2.0
"""A mux that reaches its servers through a VLAN: it uses the kernel's interfaces, and follows their changes.

The mux runs in a virtual machine, as not every host's kernel has VLANs. Its eth0 is a TAP interface here; this test is
both router and servers: clients' packets arrive untagged or in a VLAN, the servers are in another one.

    here: TAP  ── clients' packets ─────────────▶  eth0    10.1.0.11          :the machine, still_mux
               ── tag 9: clients' packets ──────▶  eth0.9                       (NICs drop unknown VLANs)
               ◀─ tag 5: 10.1.5.21, ::22 ────────  eth0.5  10.1.5.11, 2001:db8:5::11
"""

import contextlib
import itertools
import json
import os
import socket
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scapy.all import (
    ARP,
    ICMP,
    IP,
    TCP,
    UDP,
    Dot1Q,
    Ether,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    IPv6,
    Packet,
    Raw,
)

from lab import build
from lab.deadline import until
from lab.namespace import Namespace
from lab.vm import kernel as vm
from lab.vm.image import initramfs
from lab.vm.machine import Machine, Plug

MTU = 1676
MAC, OURS = "52:54:00:00:05:11", "02:00:00:00:05:21"
VIP, CLIENT = "10.99.0.1", "203.0.113.7"
BACKENDS = {"10.1.5.21": "10.1.5.11", "2001:db8:5::22": "2001:db8:5::11"}  # and the source of packets for them
OVERHEAD = 40 + 8 + 4 + 8 + 6 * 16  # the longest header
PLUGINS = ("bus_pci", "bus_vdev", "mempool_ring", "net_af_packet")
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
DRIVERS = LIBRARIES / "dpdk" / "pmds-23.0"
ADDRESSES = "ip addr add 10.1.5.11/24 dev eth0.5; ip addr add 2001:db8:5::11/64 dev eth0.5 nodad"
# DPDK loads drivers only from folders that no other user can write to, and by names without a version.
SETUP = f"""\
chmod 755 /
mkdir -p {DRIVERS} /var/run
cp /share/librte_* {LIBRARIES}
for driver in {" ".join(PLUGINS)}; do ln -s {LIBRARIES}/librte_$driver.so.23 {DRIVERS}/librte_$driver.so; done
ip link set eth0 mtu {MTU} up
ip addr add 10.1.0.11/24 dev eth0
ip link add link eth0 name eth0.9 type vlan id 9
ip link set eth0.9 up
ip link add link eth0 name eth0.5 type vlan id 5
ip link set eth0.5 up
{ADDRESSES}
mkfifo /run/ask
sleep 100000 >/run/ask &
still_mux --port af_packet:eth0 {VIP} 80 1024 {" ".join(BACKENDS)} </run/ask >/run/mux.log 2>&1 &
"""
ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA = 3, 263, 8
TP_STATUS_VLAN_VALID = 1 << 4
AUXILIARY = struct.Struct("IIIHHHH")  # tpacket_auxdata
SECONDS = 60.0  # for what takes a tenth of a second without emulation


class Rack:
    """The other end of the machine's eth0: answers requests for a backend's MAC address in the VLAN, keeps the rest."""

    def __init__(self, namespace: Namespace, interface: str) -> None:
        with namespace.inside():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            self._socket.bind((interface, ETH_P_ALL))
        self._socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.vlan = 5
        self._ports = itertools.count(10_000)

    def close(self) -> None:
        self._socket.close()

    def send(self, packet: Packet) -> None:
        self._socket.send(bytes(packet))

    def to_vip(self, payload: bytes = b"") -> Packet:
        """From another port each time, so that every backend gets one after a while."""
        ip = IP(src=CLIENT, dst=VIP, flags="DF")
        return Ether(src=OURS, dst=MAC) / ip / TCP(sport=next(self._ports), dport=80) / Raw(payload)

    def receive(self, seconds: float) -> Packet | None:
        """The machine's next frame that is no neighbour request, with the tag that the kernel has removed."""
        self._socket.settimeout(seconds)
        with contextlib.suppress(TimeoutError):
            while True:
                data, notes, _, address = self._socket.recvmsg(65535, socket.CMSG_SPACE(AUXILIARY.size))
                if address[2] == socket.PACKET_OUTGOING:
                    continue
                for _, kind, note in notes:
                    status, *_, tci, tpid = AUXILIARY.unpack(note[: AUXILIARY.size])
                    if kind == PACKET_AUXDATA and status & TP_STATUS_VLAN_VALID:
                        data = data[:12] + struct.pack("!HH", tpid or 0x8100, tci) + data[12:]
                frame = Ether(data)
                if not self._answer(frame):
                    return frame
        return None

    def _answer(self, frame: Packet) -> bool:
        """Whether it is a neighbour request; those for the backends are answered only in the VLAN."""
        tag = frame[Dot1Q].vlan if Dot1Q in frame else 0
        head = Ether(src=OURS, dst=frame.src) / Dot1Q(vlan=tag)
        if ARP in frame and tag == self.vlan and frame[ARP].pdst in BACKENDS:
            ask = frame[ARP]
            self.send(head / ARP(op=2, psrc=ask.pdst, hwsrc=OURS, pdst=ask.psrc, hwdst=ask.hwsrc))
        if ICMPv6ND_NS in frame and tag == self.vlan and frame[ICMPv6ND_NS].tgt in BACKENDS:
            target = frame[ICMPv6ND_NS].tgt
            told = ICMPv6ND_NA(tgt=target, R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=OURS)
            self.send(head / IPv6(src=target, dst=frame[IPv6].src, hlim=255) / told)
        return ARP in frame or ICMPv6ND_NS in frame

    def until(self, what: str, send: Callable[[], Packet], wanted: Callable[[Packet], bool]) -> Packet:
        """Sends until a matching frame arrives."""

        def came() -> Packet | None:
            self.send(send())
            while frame := self.receive(0.3):
                if wanted(frame):
                    return frame
            return None

        return until(what, came, SECONDS, pause=0)


def counted(machine: Machine) -> dict[str, int]:
    """The mux's counts since the last call."""
    before = len(machine.check("cat", "/run/mux.log"))
    machine.check("sh", "-c", "echo >/run/ask")

    def said() -> str:
        new = machine.check("cat", "/run/mux.log")[before:]
        return new if new.endswith("}\n") else ""

    return json.loads(until("the mux's counters", said, SECONDS))


def is_for(frame: Packet, backend: str) -> bool:
    ip = IPv6 if ":" in backend else IP
    return UDP in frame and frame[UDP].dport == 6080 and ip in frame and frame[ip].dst == backend


@pytest.fixture(scope="module")
def rack(built: None) -> Iterator[tuple[Rack, Machine]]:
    kernel = vm.choose(None)
    drivers = [LIBRARIES / "librte_pci.so.23", *(DRIVERS / f"librte_{name}.so.23" for name in PLUGINS)]
    image = initramfs(kernel, build.AGENT, [build.STILL_MUX, build.MUX], files=drivers, modules=["8021q"])
    namespace = Namespace(f"fl-vlan-{os.getpid()}")
    namespace.create()
    try:
        with tempfile.TemporaryDirectory(prefix="fl-vlan-") as directory:
            plug = Plug(namespace.name, "machine", MAC, MTU)
            with Machine(Path(directory), kernel, image, plug, SETUP, memory=768) as machine:
                machine.wait()
                here = Rack(namespace, "machine")
                with contextlib.closing(here):
                    yield here, machine
    finally:
        namespace.delete()


def test_packets_leave_in_the_vlan_of_their_route(rack: tuple[Rack, Machine]) -> None:
    here, machine = rack
    for backend, source in BACKENDS.items():
        frame = here.until(f"a packet for {backend}", here.to_vip, lambda frame: is_for(frame, backend))  # noqa: B023
        assert (frame.src, frame.dst, frame[Dot1Q].vlan) == (MAC, OURS, 5), machine.check("cat", "/run/mux.log")
        assert (frame[IPv6] if ":" in backend else frame[IP]).src == source
        assert bytes(frame[UDP].payload)[1] == 4

    # in a VLAN of the routers'; the mux's own answers return there
    def tagged(payload: bytes = b"") -> Packet:
        packet = here.to_vip(payload)
        return Ether(src=OURS, dst=MAC) / Dot1Q(vlan=9) / packet[IP]

    frame = here.until("a packet from VLAN 9", tagged, lambda frame: UDP in frame and frame[UDP].dport == 6080)
    assert frame[Dot1Q].vlan == 5

    # the VLAN's own MTU, smaller than the port's, is the limit
    machine.check("ip", "link", "set", "eth0.5", "mtu", "1400")
    frame = here.until("word of what fits", lambda: tagged(b"x" * 1400), lambda frame: ICMP in frame)
    assert frame[Dot1Q].vlan == 9
    assert frame[ICMP].nexthopmtu == 1400 - OVERHEAD


def test_the_mux_finds_its_addresses_in_the_vlan(rack: tuple[Rack, Machine]) -> None:
    """By the room that the check leaves for the outer header: only eth0.5 has IPv6."""
    _, machine = rack
    done = machine.run(
        ["fairlead-mux", "--check", "--id", "m", "--zookeeper", "127.0.0.1:1", "--port", "af_packet:eth0"]
    )
    assert b"156 more with the header" in done.stdout, done.stdout + done.stderr


def test_another_vlan_is_followed(rack: tuple[Rack, Machine]) -> None:
    here, machine = rack
    here.vlan = 6
    script = f"ip link del eth0.5; ip link add link eth0 name eth0.5 type vlan id 6; ip link set eth0.5 up; {ADDRESSES}"
    machine.check("sh", "-ec", script)
    for backend in BACKENDS:
        frame = here.until(
            f"a packet for {backend} in VLAN 6",
            here.to_vip,
            lambda frame: is_for(frame, backend) and frame[Dot1Q].vlan == 6,  # noqa: B023
        )
        assert frame.dst == OURS


def test_a_service_tag_is_no_way(rack: tuple[Rack, Machine]) -> None:
    """Type 802.1ad: frames with an 802.1Q tag would reach no host, or the wrong one. IPv6 keeps its route."""
    here, machine = rack
    ipv4, ipv6 = BACKENDS
    script = f"""
        ip link del eth0.5
        ip link add link eth0 name eth0.7 type vlan proto 802.1ad id 7
        ip link set eth0.7 up
        ip addr add {BACKENDS[ipv4]}/24 dev eth0.7
        ip neigh replace {ipv4} lladdr {OURS} dev eth0.7 nud permanent
        ip link add link eth0 name eth0.5 type vlan id 5
        ip link set eth0.5 up
        ip addr add {BACKENDS[ipv6]}/64 dev eth0.5 nodad
    """
    here.vlan = 5
    machine.check("sh", "-ec", script)

    def by_the_last(frame: Packet) -> bool:
        return is_for(frame, ipv6) and frame[Dot1Q].vlan == 5

    here.until("a packet by the way made last", here.to_vip, by_the_last)  # the kernel reports its changes in order
    counted(machine)

    def refused() -> bool:
        here.send(here.to_vip())
        while frame := here.receive(0.3):
            assert not is_for(frame, ipv4)
        return counted(machine)["no_neighbour"] > 0

    until("a packet to the backend by the 802.1ad interface counted as no_neighbour", refused, SECONDS)
