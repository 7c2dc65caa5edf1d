# SPDX-License-Identifier: Apache-2.0
"""From a connection to its bucket (protocol/README.md, 1)."""

import struct
import zlib
from typing import Any

from .address import packed

MASK = (1 << 64) - 1


def _rotate(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (64 - bits))) & MASK


def _round(v: list[int]) -> None:
    """One SipRound (Aumasson, Bernstein: SipHash, 2012, figure 2.1)."""
    v[0] = (v[0] + v[1]) & MASK
    v[2] = (v[2] + v[3]) & MASK
    v[1] = _rotate(v[1], 13) ^ v[0]
    v[3] = _rotate(v[3], 16) ^ v[2]
    v[0] = _rotate(v[0], 32)
    v[2] = (v[2] + v[1]) & MASK
    v[0] = (v[0] + v[3]) & MASK
    v[1] = _rotate(v[1], 17) ^ v[2]
    v[3] = _rotate(v[3], 21) ^ v[0]
    v[2] = _rotate(v[2], 32)


def siphash(key: bytes, data: bytes) -> int:
    """SipHash-2-4 as a 64-bit number."""
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        _round(v)
        _round(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        _round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def crc_reflected(polynomial: int, data: bytes) -> int:
    """A 32-bit CRC bit by bit: reflected, initial and final inversion."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (polynomial if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def crc32(data: bytes) -> int:
    crc = crc_reflected(0xEDB88320, data)
    assert crc == zlib.crc32(data)
    return crc


def crc32c(data: bytes) -> int:
    return crc_reflected(0x82F63B78, data)


def flow_key(flow: dict[str, Any]) -> bytes:
    key = packed(flow["source"]) + packed(flow["destination"])
    if flow["affinity"] == "client":
        return key
    ports = struct.pack(">HH", flow["sourcePort"], flow["destinationPort"])
    return key + ports + bytes([flow["protocol"]])


def flow_hash64(flow: dict[str, Any]) -> int:
    key = flow_key(flow)
    if flow["hash"] == "crc32":
        crc = crc32(key)
        exchanged = (crc & 0xFFFF) << 16 | crc >> 16
        return exchanged << 32 | crc
    return siphash(bytes.fromhex(flow["hashKey"]), key)


def flow_hash(flow: dict[str, Any]) -> int:
    """The low half, which is on the wire."""
    return flow_hash64(flow) & 0xFFFFFFFF


def bucket(hash32: int, buckets: int) -> int:
    return hash32 % buckets


def outer_source_port(hash32: int) -> int:
    return 0xC000 + hash32 // 2**18
