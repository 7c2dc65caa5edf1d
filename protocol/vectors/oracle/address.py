# SPDX-License-Identifier: Apache-2.0
"""Addresses as text and as the 16 bytes of tables, where IPv4 stands as ::ffff:a.b.c.d and none is all zero."""

from ipaddress import IPv4Address, ip_address


def packed(text: str) -> bytes:
    """4 or 16 bytes, as in a packet."""
    return ip_address(text).packed


def sixteen(text: str | None) -> bytes:
    if text is None:
        return bytes(16)
    raw = packed(text)
    return raw if len(raw) == 16 else bytes(10) + b"\xff\xff" + raw


def is_ipv4(text: str) -> bool:
    return isinstance(ip_address(text), IPv4Address)
