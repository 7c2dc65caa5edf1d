# SPDX-License-Identifier: Apache-2.0
"""The list header in an SRH (protocol/include/fairlead/list_srv6.h). A header is a dict as in list.py."""

from functools import partial
from ipaddress import ip_address

from . import list, refuse_if
from .address import sixteen
from .list import IPV6, KEY, LATE, MAX, TAG

TLV, VERSION = 252, 2


def flags_of(header: dict) -> int:
    tag = 0 if header["tag"] is None else TAG | (KEY if header["key"] else 0)
    return tag | (LATE if header["late"] else 0)


def write(header: dict) -> bytes:
    order, at = header["order"], header["at"]
    value = bytes([VERSION << 4, flags_of(header)]) + header["generation"].to_bytes(4)
    value += bytes.fromhex(header["tag"] or "")
    body = b"".join(sixteen(address) for address in reversed(order)) + bytes([TLV, len(value)]) + value
    head = bytes([header["innerProtocol"], len(body) // 8, 4, len(order) - 1 - at, len(order) - 1, 0])
    return head + header["service"].to_bytes(2) + body


def read(data: bytes, destination: str) -> dict:
    """What a server at the outer destination finds, or RefusedError with the first reason."""
    count = data[4] if len(data) > 4 else 0
    left = data[3] if len(data) > 3 else 0
    whole = 8 * (1 + data[1]) if len(data) > 1 else 0
    at = 8 + 16 * (count + 1)
    tlv = data[at:whole]
    flags = tlv[3] if len(tlv) > 3 else 0
    least = at + 8
    length = least + (8 if flags & TAG else 0)
    segment = data[8 + 16 * left : 24 + 16 * left]
    checks = [
        ("truncated", lambda: len(data) < 24),
        ("inner_protocol", lambda: data[0] not in (4, 41)),
        ("count", lambda: count > MAX),
        ("length", lambda: not least <= whole <= 8 + 16 * (MAX + 1) + 16),
        ("truncated", lambda: len(data) < whole),
        ("version_unknown", lambda: tlv[0] != TLV or tlv[2] >> 4 != VERSION),
        ("left", lambda: left > count),
        ("flags_unknown", lambda: tlv[2] & 15 or flags & ~(TAG | LATE | KEY)),
        ("key_alone", lambda: flags & KEY and not flags & TAG),
        ("length", lambda: whole != length or at + 2 + tlv[1] != length),
        ("generation_zero", lambda: tlv[4:8] == bytes(4)),
        ("segments", lambda: segment != sixteen(destination)),
    ]
    for reason, is_wrong in checks:
        refuse_if(is_wrong(), reason)
    order = [str(ip_address(data[8 + 16 * n : 24 + 16 * n])) for n in range(count, -1, -1)]
    own = count - left
    return {
        "innerProtocol": data[0],
        "flags": flags | IPV6,
        "headerLength": whole,
        "service": int.from_bytes(data[6:8]),
        "generation": int.from_bytes(tlv[4:8]),
        "candidates": order[:own] + order[own + 1 :],
        "left": left,
        "order": order,
        "tag": tlv[8:16].hex() if flags & TAG else None,
    }


def forward(data: bytes, destination: str, steps: int, late: bool) -> tuple[bytes, str]:
    """What is sent on to the candidate so many places behind, and that candidate."""
    header = read(data, destination)
    sent = bytearray(data)
    sent[3] -= steps
    sent[8 + 16 * len(header["order"]) + 3] |= LATE if late else 0
    return bytes(sent), header["order"][len(header["order"]) - 1 - sent[3]]


def is_as_written(data: bytes) -> bool:
    """Routing type and flags are not looked at."""
    return data[2] == 4 and data[5] == 0


message, tag, put, check = (partial(one, reader=read) for one in (list.message, list.tag, list.put, list.check))
