# SPDX-License-Identifier: Apache-2.0
"""The tag of a packet (protocol/README.md, 2): GUE base, steer header and inner packet as bytes."""

from .address import sixteen
from .flow import siphash
from .steer import MOVED, MOVED2, SECOND, TAG, chain, mark_late, promote, read, words_before_tag

TCP, UDP = 6, 17


def inner_part(packet: bytes, protocol: int) -> bytes:
    """Source 16 | destination 16 | ports 4 | protocol 1 | 0 3."""
    if protocol == 4:
        header, whole = 4 * (packet[0] & 15), int.from_bytes(packet[2:4])
        mapped = bytes(10) + b"\xff\xff"
        addresses = mapped + packet[12:16] + mapped + packet[16:20]
        transport, is_later = packet[9], int.from_bytes(packet[6:8]) % 8192 != 0
    else:
        header, whole = 40, 40 + int.from_bytes(packet[4:6])
        addresses, transport, is_later = packet[8:40], packet[6], False
    ports = packet[header : min(whole, header + 4)]
    if transport not in (TCP, UDP) or is_later or len(ports) < 4:
        ports = bytes(4)
    return addresses + ports + bytes([transport, 0, 0, 0])


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
