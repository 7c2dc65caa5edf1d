# SPDX-License-Identifier: Apache-2.0
"""Fragments that a mux hands to another (protocol/include/fairlead/fragment.h)."""

from . import keys, refuse_if
from .address import sixteen
from .flow import siphash

TAG, KEY = 1, 8
INNER = 48


def head(fields: dict) -> bytes:
    """What is in front of the inner packet."""
    if fields["tag"] is None:
        return bytes([0, fields["innerProtocol"], 0, 0])
    flags = TAG | (KEY if fields["key"] else 0)
    return bytes([3, fields["innerProtocol"], 0, 0, 0xF0, flags, 0, 0]) + bytes.fromhex(fields["tag"])


def read(data: bytes) -> dict:
    """The fields, or RefusedError."""
    has_tag = data[:1] == b"\x03"
    length = 16 if has_tag else 4
    refuse_if(
        len(data) < length or data[0] not in (0, 3) or data[1] not in (4, 41) or data[2:4] != b"\0\0", "malformed"
    )
    refuse_if(has_tag and (data[4] != 0xF0 or data[5] not in (TAG, TAG | KEY) or data[6:8] != b"\0\0"), "malformed")
    return {
        "innerProtocol": data[1],
        "headerLength": length,
        "key": has_tag and bool(data[5] & KEY),
        "tag": data[8:16].hex() if has_tag else None,
    }


def tag(cluster: bytes, data: bytes, sender: str, receiver: str) -> bytes:
    """What must stand in one with a tag; what stands there is not looked at."""
    inner = data[16 : 16 + INNER]
    message = data[4:8] + bytes(4) + sixteen(sender) + sixteen(receiver) + inner + bytes(INNER - len(inner))
    return siphash(keys.of_muxes(cluster), message).to_bytes(8)


def put(cluster: bytes, data: bytes, sender: str, receiver: str) -> bytes:
    return data[:8] + tag(cluster, data, sender, receiver) + data[16:]
