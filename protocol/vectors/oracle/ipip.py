# SPDX-License-Identifier: Apache-2.0
"""IPv4 in IPv4 with the paper's option (protocol/README.md, 2). A header is a dict with the keys of `read`."""

import struct
from ipaddress import IPv4Address

from . import refuse_if

LENGTH = 36


def checksum(header: bytes) -> int:
    """RFC 1071; of a whole header that is right it is 0."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def with_checksum(header: bytes) -> bytes:
    blank = header[:10] + b"\0\0" + header[12:]
    return blank[:10] + checksum(blank).to_bytes(2) + blank[12:]


def write(header: dict) -> bytes:
    """The 36 bytes in front of the inner packet. since stands in little-endian order, all else in network order."""
    outer = struct.pack(">BBHHHBBH", 0x49, header["trafficClass"], LENGTH + header["innerLength"], 0, 0x4000, 64, 4, 0)
    outer += IPv4Address(header["source"]).packed + IPv4Address(header["destination"]).packed
    previous = IPv4Address(header["previous"] or "0.0.0.0").packed
    option = bytes([0x61, 16, 0, 0]) + previous + struct.pack("<I", header["since"])
    return with_checksum(outer + option + header["generation"].to_bytes(4))


def read(data: bytes) -> dict:
    """The fields of a header, or RefusedError with the first reason in the order of the README."""
    checks = [
        ("truncated", lambda: len(data) < LENGTH),
        ("inner_protocol", lambda: data[9] != 4),
        ("length", lambda: data[0] != 0x49),
        ("version_unknown", lambda: data[20] != 0x61),
        ("length", lambda: data[21] != 16),
        ("flags_unknown", lambda: data[22:24] != b"\0\0"),
        ("generation_zero", lambda: data[32:36] == bytes(4)),
    ]
    for reason, is_wrong in checks:
        refuse_if(is_wrong(), reason)
    previous = str(IPv4Address(data[24:28]))
    return {
        "trafficClass": data[1],
        "innerLength": int.from_bytes(data[2:4]) - LENGTH,
        "source": str(IPv4Address(data[12:16])),
        "destination": str(IPv4Address(data[16:20])),
        "since": int.from_bytes(data[28:32], "little"),
        "previous": None if previous == "0.0.0.0" else previous,
        "generation": int.from_bytes(data[32:36]),
    }


def forward(data: bytes, self: str, following: str) -> bytes:
    """What a server sends on: fresh addresses and TTL, and no former owner."""
    outer = data[:4] + b"\0\0\x40\0" + bytes([64, 4, 0, 0]) + IPv4Address(self).packed + IPv4Address(following).packed
    return with_checksum(outer + data[20:24] + bytes(8) + data[32:LENGTH]) + data[LENGTH:]
