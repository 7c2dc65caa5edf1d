# SPDX-License-Identifier: Apache-2.0
"""The rack's mux: puts GUE and a steer header that the test chooses in front of the client's packets."""

import fcntl
import ipaddress
import os
import select
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from lab.namespace import Namespace
from protocol.vectors.oracle import tag
from protocol.vectors.oracle.notice import write_notice

VIP, CLIENT, MUX = "10.99.0.1", "10.2.1.2", "10.1.0.11"
SERVERS = {"a": "10.1.0.21", "b": "10.1.0.22", "c": "10.1.0.23", "d": "10.1.0.24"}
VIP6, CLIENT6, MUX6 = "2001:db8:99::1", "2001:db8:2::2", "2001:db8:1::11"
SERVERS6 = {"a": "2001:db8:1::21", "b": "2001:db8:1::22", "c": "2001:db8:1::23", "d": "2001:db8:1::24"}
GUE_PORT = 6080
BUCKET = 4711
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SO_NO_CHECK = 11
UDP_NO_CHECK6_TX = 101
TCP, TCP_SYN = 6, 0x02
MOVED, PREVIOUS6, TAG, SECOND, SECOND6, MOVED2, PREVIOUS2_6 = (1 << bit for bit in range(7))


@dataclass
class Second:
    """What a header says of a second bucket: its owner, and its last move if it has `since`."""

    owner: str
    since: int | None = None
    previous: str = "a"
    bucket: int = BUCKET + 1


@dataclass
class SteeringMux:
    """Sends every packet of the client to `owner`, with a steer header of these fields."""

    tun: int
    out: socket.socket
    out6: socket.socket
    owner: str = "a"
    addresses: dict[str, str] = field(default_factory=lambda: dict(SERVERS))
    """The address of each server in the ring."""
    key: bytes | None = None
    """The cluster's key, if packets are tagged."""
    generation: int = 1
    since: int | None = None
    previous: str = "a"
    bucket: int = BUCKET
    second: Second | None = None
    flows: dict[int, str] = field(default_factory=dict)
    """Owners of single connections, by the client's port, that differ from `owner`."""
    after_syn: Callable[[], None] | None = None
    """Called once, after the next SYN, which is still steered as before."""
    sent: int = 0
    last: dict[int, bytes] = field(default_factory=dict)
    """The last packet of each client port."""
    stop: int = field(default_factory=lambda: os.eventfd(0))
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def close(self) -> None:
        os.eventfd_write(self.stop, 1)
        self.thread.join()
        for descriptor in (self.stop, self.tun):
            os.close(descriptor)
        self.out.close()
        self.out6.close()

    def move(self, owner: str, since: int | None) -> None:
        """The bucket moves to `owner`, in a new generation; without `since` the header does not have it."""
        self.previous, self.since, self.generation = self.owner, since, self.generation + 1
        self.owner = owner

    def header(self, inner_protocol: int = 4) -> bytes:
        flags, rest = 0, b""
        words = [] if self.second is None else [(SECOND, SECOND6, self.second.bucket, self.second.owner)]
        if self.second is not None and self.second.since is not None:
            words.append((MOVED2, PREVIOUS2_6, self.second.since, self.second.previous))
        if self.since is not None:
            words.append((MOVED, PREVIOUS6, self.since, self.previous))
        for flag, flag6, number, server in words:
            address = ipaddress.ip_address(self.addresses[server])
            flags |= flag | (flag6 if address.version == 6 else 0)
            rest += struct.pack("!I", number) + address.packed
        if self.key is not None:
            flags |= TAG
            rest += bytes(8)
        steer = struct.pack("!BBHII", 0x10, flags, 1, self.bucket, self.generation) + rest
        return struct.pack("!BBH", len(steer) // 4, inner_protocol, 0) + steer

    def encapsulate(self, packet: bytes) -> bytes:
        datagram = self.header(4 if packet[0] >> 4 == 4 else 41) + packet
        return datagram if self.key is None else tag.put(self.key, datagram)

    def send(self, packet: bytes) -> None:
        """Encapsulates an IP packet and sends it to the bucket's owner."""
        self.send_raw(self.encapsulate(packet), self.owner)
        self.sent += 1

    def send_raw(self, datagram: bytes, owner: str) -> None:
        address = self.addresses[owner]
        (self.out6 if ":" in address else self.out).sendto(datagram, (address, GUE_PORT))

    def notice(self, buckets: list[int]) -> bytes:
        """Tells of the generation; with buckets, that they moved as this mux's last move did."""
        fields = {"service": 1, "generation": self.generation, "since": None, "previous": None, "buckets": buckets}
        if buckets:
            fields |= {"since": self.since, "previous": self.addresses[self.previous]}
        return write_notice(self.key or bytes(16), fields | {"tag": None if self.key is None else ""})

    def notify(self, server: str, buckets: list[int] | None = None) -> None:
        self.send_raw(self.notice(buckets or []), server)

    def _run(self) -> None:
        while self.stop not in select.select([self.tun, self.stop], [], [])[0]:
            packet = os.read(self.tun, 65536)
            if packet[0] >> 4 == 4:
                self._steer(packet, packet[9], packet[20:])
            elif packet[24:40] == ipaddress.IPv6Address(VIP6).packed:
                self._steer(packet, packet[6], packet[40:])

    def _steer(self, packet: bytes, protocol: int, transport: bytes) -> None:
        """A packet of the client: an IP header without options or extensions, and TCP, UDP or part of that."""
        port = int.from_bytes(transport[:2], "big")
        self.last[port] = packet
        owner = self.flows.get(port, self.owner)
        datagram = self.encapsulate(packet)
        if self.after_syn and protocol == TCP and transport[13] == TCP_SYN:
            self.after_syn()
            self.after_syn = None
        self.send_raw(datagram, owner)
        self.sent += 1


def open_mux(machine: Namespace) -> SteeringMux:
    """In the namespace of the client; packets of its sockets to the VIPs go to the mux."""
    with machine.inside():
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        out.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
        out.bind((MUX, 0))
        out6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        out6.setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_TX, 1)
        out6.bind((MUX6, 0))
    machine.ip(
        *("link set tun0 mtu 1500 up", f"route add {VIP}/32 dev tun0 src {CLIENT}"),
        f"route add {VIP6}/128 dev tun0 src {CLIENT6}",
    )
    return SteeringMux(tun, out, out6)
