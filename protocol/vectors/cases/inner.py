# SPDX-License-Identifier: Apache-2.0
"""Inner packets of each kind that tags tell apart."""

from oracle.address import packed
from oracle.ipip import with_checksum

TCP_ACK = bytes.fromhex("0a2f0050000003e90000000050100000ffff0000")
UDP = bytes.fromhex("14e900350008" + "0000")


def ipv4(protocol: int, payload: bytes, fragment: int = 0, options: bytes = b"", short: int = 0) -> bytes:
    length = 20 + len(options) + len(payload) - short
    head = bytes([0x45 + len(options) // 4, 0]) + length.to_bytes(2) + b"\x12\x34" + fragment.to_bytes(2)
    head += bytes([64, protocol, 0, 0]) + packed("10.2.1.3") + packed("10.99.0.1") + options
    return with_checksum(head) + payload


def ipv6(protocol: int, payload: bytes) -> bytes:
    head = b"\x60\0\0\0" + len(payload).to_bytes(2) + bytes([protocol, 64])
    return head + packed("2001:db8:2::3") + packed("2001:db8:99::1") + payload


def inner_packets() -> list[tuple[str, int, bytes]]:
    quoted4 = bytes.fromhex("0304000000000578") + ipv4(6, TCP_ACK)[:28]
    quoted6 = bytes.fromhex("0200000000000578") + ipv6(6, TCP_ACK)[:48]
    return [
        ("TCP in IPv4", 4, ipv4(6, TCP_ACK)),
        ("UDP in IPv4", 4, ipv4(17, UDP)),
        ("IPv4 with options", 4, ipv4(6, TCP_ACK, options=bytes([1] * 8))),
        ("an ICMP error, tagged by what it is", 4, ipv4(1, quoted4)),
        ("a first fragment has its ports", 4, ipv4(17, UDP + bytes(16), fragment=0x2000)),
        ("a later fragment has none", 4, ipv4(17, UDP + bytes(16), fragment=0x0003)),
        ("a protocol without ports", 4, ipv4(132, TCP_ACK)),
        ("IPv4 that ends within its ports", 4, ipv4(17, UDP[:3])),
        ("IPv4 that ends within its ports, with padding behind", 4, ipv4(17, UDP, short=5)),
        ("TCP in IPv6", 41, ipv6(6, TCP_ACK)),
        ("UDP in IPv6", 41, ipv6(17, UDP)),
        ("an ICMPv6 error", 41, ipv6(58, quoted6)),
        ("IPv6 with a fragment header has no ports", 41, ipv6(44, bytes.fromhex("1100000100000001") + UDP)),
        ("IPv6 that ends within its ports", 41, ipv6(17, UDP[:2])),
    ]
