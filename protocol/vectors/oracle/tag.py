# SPDX-License-Identifier: Apache-2.0
"""The tag of a packet (protocol/README.md, 2): GUE base, steer header and inner packet as bytes."""

from .address import sixteen
from .flow import siphash
from .inner import inner_part
from .steer import MOVED, MOVED2, SECOND, TAG, chain, mark_late, promote, read, words_before_tag


def moved_part(header: dict) -> bytes:
    """Bytes 12 to 31 of the message."""
    if header["flags"] & MOVED:
        return header["since"].to_bytes(4) + sixteen(header["previous"])
    return bytes(20)


def second_part(header: dict) -> bytes:
    """What follows byte 71 of the message."""
    flags, second = header["flags"], header["second"]
    if not flags & SECOND:
        return b""
    part = second["bucket"].to_bytes(4) + sixteen(second["owner"])
    return part + (second["since"].to_bytes(4) + sixteen(second["previous"]) if flags & MOVED2 else bytes(20))


def message(data: bytes) -> bytes:
    header = read(data)
    inner = inner_part(data[header["headerLength"] :], header["innerProtocol"])
    return data[4:16] + moved_part(header) + inner + second_part(header)


def tag(key: bytes, data: bytes) -> bytes:
    """What must stand in a packet that has the flag TAG; what stands there is not looked at."""
    return siphash(key, message(data)).to_bytes(8)


def place(header: dict) -> int:
    """Where the tag stands in a packet with this header."""
    return 16 + words_before_tag(header["flags"])


def put(key: bytes, data: bytes) -> bytes:
    at = place(read(data))
    return data[:at] + tag(key, data) + data[at + 8 :]


def check(key: bytes, data: bytes) -> str:
    found = read(data)["tag"]
    if found is None:
        return "missing"
    return "right" if bytes.fromhex(found) == tag(key, data) else "wrong"


def chain_tagged(key: bytes, data: bytes) -> bytes:
    """What a server with the key sends on: as without, and a tag anew where the flags place it."""
    return _tagged(key, chain(data))


def late_tagged(key: bytes, data: bytes) -> bytes:
    """What a server with the key sends on that has seen a higher generation than the packet's."""
    return _tagged(key, mark_late(chain(data)))


def promote_tagged(key: bytes, data: bytes) -> bytes:
    """What a server with the key passes on."""
    return _tagged(key, promote(data))


def _tagged(key: bytes, data: bytes) -> bytes:
    renewed = bytearray(data)
    renewed[5] |= TAG
    return put(key, bytes(renewed))
