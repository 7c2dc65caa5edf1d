# SPDX-License-Identifier: Apache-2.0
"""Packets that sockets never send."""

import ipaddress
import struct

from steering_mux import VIP

TCP = 6
SYN, ACK = 0x02, 0x10


def checksum(data: bytes) -> bytes:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return (total ^ 0xFFFF).to_bytes(2)


def ipv4(source: str, destination: str, protocol: int, payload: bytes) -> bytes:
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 7, 0x4000, 64, protocol, 0)
    head += ipaddress.IPv4Address(source).packed + ipaddress.IPv4Address(destination).packed
    return head[:10] + checksum(head) + head[12:] + payload


def tcp(
    source: str, port: int, flags: int, sequence: int = 1000, acknowledgement: int = 1000, data: bytes = b""
) -> bytes:
    """A segment to the VIP without options."""
    acknowledgement = acknowledgement % 2**32 if flags & ACK else 0
    segment = struct.pack("!HHIIBBHHH", port, 80, sequence, acknowledgement, 0x50, flags, 0xFFFF, 0, 0) + data
    pseudo = ipaddress.IPv4Address(source).packed + ipaddress.IPv4Address(VIP).packed
    pseudo += struct.pack("!HH", TCP, len(segment))
    return ipv4(source, VIP, TCP, segment[:16] + checksum(pseudo + segment) + segment[18:])
