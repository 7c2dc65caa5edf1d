# SPDX-License-Identifier: Apache-2.0
"""GUE base and steer header (protocol/README.md, 2). A header is a dict with the keys that `read` returns."""

from ipaddress import ip_address

from . import RefusedError
from .address import is_ipv4, packed

MOVED, PREVIOUS6, TAG = 1, 2, 4


def _asked(flags: int) -> int:
    """Bytes of steer header that the flags ask for."""
    length = 12
    if flags & MOVED:
        length += 4 + (16 if flags & PREVIOUS6 else 4)
    return length + (8 if flags & TAG else 0)


def write(header: dict, padding_words: int = 0) -> bytes:
    flags = 0
    tail = b""
    if header["since"] is not None:
        flags |= MOVED | (0 if is_ipv4(header["previous"]) else PREVIOUS6)
        tail += header["since"].to_bytes(4) + packed(header["previous"])
    if header["tag"] is not None:
        flags |= TAG
        tail += bytes.fromhex(header["tag"])
    steer = bytes([1 << 4 | header["hops"], flags]) + header["service"].to_bytes(2) + header["bucket"].to_bytes(4)
    steer += header["generation"].to_bytes(4) + tail + bytes(4 * padding_words)
    return bytes([len(steer) // 4, header["innerProtocol"], 0, 0]) + steer


def read(data: bytes, protocols: tuple[int, ...] = (4, 41)) -> dict:
    """The fields of a header, or RefusedError with the first reason in the order of the README."""
    hlen = 4 * (data[0] & 31) if data else 0
    steer = data[4 : 4 + hlen]
    flags = steer[1] if len(steer) > 1 else 0
    checks = [
        ("truncated", lambda: len(data) < 4),
        ("gue_version", lambda: data[0] >> 6 != 0),
        ("gue_control", lambda: data[0] >> 5 & 1),
        ("gue_flags", lambda: data[2:4] != b"\0\0"),
        ("inner_protocol", lambda: data[1] not in protocols),
        ("length", lambda: hlen < 12),
        ("truncated", lambda: len(data) < 4 + hlen),
        ("version_unknown", lambda: steer[0] >> 4 != 1),
        ("flags_unknown", lambda: flags & ~7),
        ("previous6_alone", lambda: flags & PREVIOUS6 and not flags & MOVED),
        ("length", lambda: hlen < _asked(flags)),
        ("generation_zero", lambda: steer[8:12] == bytes(4)),
    ]
    for reason, is_wrong in checks:
        if is_wrong():
            raise RefusedError(reason)
    rest = steer[12:]
    since = previous = tag = None
    if flags & MOVED:
        size = 16 if flags & PREVIOUS6 else 4
        since, previous, rest = int.from_bytes(rest[:4]), str(ip_address(rest[4 : 4 + size])), rest[4 + size :]
    if flags & TAG:
        tag = rest[:8].hex()
    return {
        "innerProtocol": data[1],
        "hops": steer[0] & 15,
        "flags": flags,
        "headerLength": 4 + hlen,
        "service": int.from_bytes(steer[2:4]),
        "bucket": int.from_bytes(steer[4:8]),
        "generation": int.from_bytes(steer[8:12]),
        "since": since,
        "previous": previous,
        "tag": tag,
    }


def chain(data: bytes) -> bytes:
    """What a server without a key sends on: one hop more, neither move nor tag; their words become padding."""
    header = read(data)
    chained = bytearray(data)
    chained[4] += 1
    chained[5] = 0
    for at in range(16, 4 + _asked(header["flags"])):
        chained[at] = 0
    return bytes(chained)
