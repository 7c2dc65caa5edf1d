# SPDX-License-Identifier: Apache-2.0
"""
GUE base and list header (protocol/include/fairlead/list.h). A header is a dict: `order` are all candidates as the mux
wrote them, the first destination before the others, and `at` is the place in it of the one that has the packet.
"""

import re
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

from . import keys, refuse_if
from .address import is_ipv4, sixteen
from .flow import siphash
from .inner import inner_part

TAG, IPV6, LATE, KEY = 1, 2, 4, 8
# How many candidates there may be: the one number that is not said once more here.
_HEADER = Path(__file__).parents[2] / "include/fairlead/list.h"
MAX = int(re.search(r"FL_LIST_MAX = (\d+)", _HEADER.read_text())[1])


def _address(text: str, flags: int) -> bytes:
    return sixteen(text) if flags & IPV6 else sixteen(text)[12:]


def flags_of(header: dict) -> int:
    """Those that follow from what the header has."""
    six = IPV6 if any(not is_ipv4(address) for address in header["order"]) else 0
    tag = 0 if header["tag"] is None else TAG | (KEY if header["key"] else 0)
    return six | tag | (LATE if header["late"] else 0)


def write(header: dict) -> bytes:
    flags, at, order = flags_of(header), header["at"], header["order"]
    others = order[:at] + order[at + 1 :]
    body = bytes([2 << 4 | (len(others) - at), len(others) << 4 | flags]) + header["service"].to_bytes(2)
    body += header["generation"].to_bytes(4) + b"".join(_address(address, flags) for address in others)
    body += bytes.fromhex(header["tag"] or "")
    return bytes([len(body) // 4, header["innerProtocol"], 0, 0]) + body


def read(data: bytes, receiver: str, protocols: tuple[int, ...] = (4, 41)) -> dict:
    """What a server at the outer destination `receiver` finds, or RefusedError with the first reason."""
    hlen = 4 * (data[0] & 31) if data else 0
    body = data[4 : 4 + hlen]
    left, count, flags = (body[0] & 15, body[1] >> 4, body[1] & 15) if len(body) > 1 else (0, 0, 0)
    width = 16 if flags & IPV6 else 4
    checks = [
        ("truncated", lambda: len(data) < 4),
        ("gue_version", lambda: data[0] >> 6 != 0),
        ("gue_control", lambda: data[0] >> 5 & 1),
        ("gue_flags", lambda: data[2:4] != b"\0\0"),
        ("inner_protocol", lambda: data[1] not in protocols),
        ("length", lambda: hlen < 8),
        ("truncated", lambda: len(data) < 4 + hlen),
        ("version_unknown", lambda: body[0] >> 4 != 2),
        ("count", lambda: count > MAX),
        ("left", lambda: left > count),
        ("key_alone", lambda: flags & KEY and not flags & TAG),
        ("length", lambda: hlen != 8 + count * width + (8 if flags & TAG else 0)),
        ("generation_zero", lambda: body[4:8] == bytes(4)),
        ("family", lambda: not flags & IPV6 and not is_ipv4(receiver)),
    ]
    for reason, is_wrong in checks:
        refuse_if(is_wrong(), reason)
    others = [str(ip_address(body[8 + n * width : 8 + (n + 1) * width])) for n in range(count)]
    at = count - left
    return {
        "innerProtocol": data[1],
        "flags": flags,
        "headerLength": 4 + hlen,
        "service": int.from_bytes(body[2:4]),
        "generation": int.from_bytes(body[4:8]),
        "candidates": others,
        "left": left,
        "order": [*others[:at], receiver, *others[at:]],
        "tag": body[-8:].hex() if flags & TAG else None,
    }


def forward(data: bytes, receiver: str, steps: int, late: bool) -> tuple[bytes, str]:
    """What is sent on to the candidate so many places behind the receiver's, and that candidate."""
    header = read(data, receiver)
    at = len(header["candidates"]) - header["left"] + steps
    order = [_address(address, header["flags"]) for address in header["order"]]
    sent = bytearray(data[:12] + b"".join(order[:at] + order[at + 1 :]))
    sent[4] -= steps
    sent[5] |= LATE if late else 0
    return bytes(sent) + data[len(sent) :], header["order"][at]


def is_as_written(data: bytes) -> bool:
    """Whether a writer writes what was read: nothing here is ignored."""
    return True


def message(data: bytes, receiver: str, reader: Callable = read) -> bytes:
    """What a tag covers, in each format by its own reader."""
    header = reader(data, receiver)
    flags, inner = header["flags"], inner_part(data[header["headerLength"] :], header["innerProtocol"])
    addresses = inner[:32] if header["innerProtocol"] == 41 else inner[12:16] + inner[28:32]
    text = bytes([0x20, len(header["candidates"]) << 4 | flags & ~LATE]) + header["service"].to_bytes(2)
    text += header["generation"].to_bytes(4) + addresses + inner[32:37] + bytes([header["innerProtocol"], 0, 0])
    text += b"".join(_address(address, flags) for address in header["order"])
    return text + bytes(-len(text) % 8)


def tag(cluster: bytes, data: bytes, receiver: str, reader: Callable = read) -> bytes:
    """What must stand in a packet with TAG; what stands there is not looked at."""
    key = keys.of_service(cluster, reader(data, receiver)["service"])
    return siphash(key, message(data, receiver, reader)).to_bytes(8)


def put(cluster: bytes, data: bytes, receiver: str, reader: Callable = read) -> bytes:
    end = reader(data, receiver)["headerLength"]
    return data[: end - 8] + tag(cluster, data, receiver, reader) + data[end:]


def check(cluster: bytes, data: bytes, receiver: str, reader: Callable = read) -> str:
    found = reader(data, receiver)["tag"]
    if found is None:
        return "missing"
    return "right" if bytes.fromhex(found) == tag(cluster, data, receiver, reader) else "wrong"
