# SPDX-License-Identifier: Apache-2.0
"""The rack's mux: puts GUE and a list of servers that the test chooses in front of the client's packets."""

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
from protocol.vectors.oracle import list as list_header
from protocol.vectors.oracle import notice as notices

VIP, CLIENT, MUX = "10.99.0.1", "10.2.1.2", "10.1.0.11"
SERVERS = {"a": "10.1.0.21", "b": "10.1.0.22", "c": "10.1.0.23", "d": "10.1.0.24"}
SERVERS |= {"e": "10.1.0.25", "f": "10.1.0.26", "g": "10.1.0.27"}
VIP6, CLIENT6, MUX6 = "2001:db8:99::1", "2001:db8:2::2", "2001:db8:1::11"
SERVERS6 = {"a": "2001:db8:1::21", "b": "2001:db8:1::22", "c": "2001:db8:1::23", "d": "2001:db8:1::24"}
SERVERS6 |= {"e": "2001:db8:1::25", "f": "2001:db8:1::26", "g": "2001:db8:1::27"}
GUE_PORT = 6080
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SO_NO_CHECK = 11
UDP_NO_CHECK6_TX = 101
TCP, UDP, TCP_SYN, TCP_ACK = 6, 17, 0x02, 0x10


@dataclass
class SteeringMux:
    """Sends every packet of the client to `owner`, and names the other servers that may know its connection."""

    tun: int
    out: socket.socket
    out6: socket.socket
    owner: str = "a"
    addresses: dict[str, str] = field(default_factory=lambda: dict(SERVERS))
    """The address of each server in the ring."""
    key: bytes | None = None
    """The cluster's key, if packets are tagged."""
    generation: int = 1
    second: str | None = None
    """The owner of the second bucket, if the service's steering names one."""
    former: list[str] = field(default_factory=list)
    """Former owners, newest first."""
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

    def move(self, owner: str) -> None:
        """The bucket moves to `owner`, in a new generation."""
        self.former = [self.owner, *(one for one in self.former if one not in (owner, self.owner))]
        self.owner, self.generation = owner, self.generation + 1

    def order(self, packet: bytes, owner: str) -> list[str]:
        """The servers in the order in which they are tried: a SYN names present owners, a datagram its own bucket's."""
        is_ipv4 = packet[0] >> 4 == 4
        protocol, transport = (packet[9], packet[20:]) if is_ipv4 else (packet[6], packet[40:])
        is_syn = protocol == TCP and len(transport) > 13 and transport[13] & (TCP_SYN | TCP_ACK) == TCP_SYN
        names = [] if protocol == UDP or self.second is None else [self.second]
        names += [] if is_syn else self.former
        return [owner, *dict.fromkeys(name for name in names if name != owner)]

    def fields(self, packet: bytes, owner: str) -> dict:
        return {
            "innerProtocol": 4 if packet[0] >> 4 == 4 else 41,
            "order": [self.addresses[name] for name in self.order(packet, owner)],
            "at": 0,
            "late": False,
            "service": 1,
            "generation": self.generation,
            "key": False,
            "tag": None if self.key is None else bytes(8).hex(),
        }

    def encapsulate(self, packet: bytes, owner: str) -> bytes:
        datagram = list_header.write(self.fields(packet, owner)) + packet
        return datagram if self.key is None else list_header.put(self.key, datagram, self.addresses[owner])

    def send(self, packet: bytes) -> None:
        """Encapsulates an IP packet and sends it to the bucket's owner."""
        self.send_raw(self.encapsulate(packet, self.owner), self.owner)
        self.sent += 1

    def send_raw(self, datagram: bytes, owner: str) -> None:
        address = self.addresses[owner]
        (self.out6 if ":" in address else self.out).sendto(datagram, (address, GUE_PORT))

    def notify(self, server: str, service: int = 1, generation: int | None = None, key: bytes | None = None) -> None:
        """Tells a server a generation, this mux's unless one is given."""
        fields = {"service": service, "generation": generation or self.generation, "ack": False, "key": False}
        key = key or self.key
        notice = notices.write(fields | {"tag": None if key is None else bytes(8).hex()})
        notice = notice if key is None else notices.put(key, notice, self.addresses[server])
        self.send_raw(notice, server)

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
        datagram = self.encapsulate(packet, owner)
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
        "link set tun0 mtu 1500 up",
        f"route add {VIP}/32 dev tun0 src {CLIENT}",
        f"route add {VIP6}/128 dev tun0 src {CLIENT6}",
    )
    return SteeringMux(tun, out, out6)
