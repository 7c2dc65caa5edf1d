# SPDX-License-Identifier: Apache-2.0
"""Notices and their acknowledgements (protocol/include/fairlead/notice.h)."""

from . import keys, refuse_if
from .address import sixteen
from .flow import siphash
from .list import IPV6, KEY, TAG
from .list import read as read_list

ACK = 4
PROTOCOL = 59  # of the GUE base: no next header


def write(fields: dict) -> bytes:
    flags = 0 if fields["tag"] is None else TAG | (KEY if fields["key"] else 0)
    flags |= ACK if fields["ack"] else 0
    body = bytes([0x20, flags]) + fields["service"].to_bytes(2) + fields["generation"].to_bytes(4)
    body += bytes.fromhex(fields["tag"] or "")
    return bytes([len(body) // 4, PROTOCOL, 0, 0]) + body


def read(data: bytes) -> dict:
    """What a reader finds in the whole UDP payload, or RefusedError with the first reason."""
    header = read_list(data, "0.0.0.0", protocols=(PROTOCOL,))
    refuse_if(header["candidates"] or header["flags"] & IPV6 or len(data) != header["headerLength"], "notice")
    return {
        "ack": bool(header["flags"] & ACK),
        "key": bool(header["flags"] & KEY),
        "service": header["service"],
        "generation": header["generation"],
        "tag": header["tag"],
    }


def tag(cluster: bytes, data: bytes, server: str) -> bytes:
    """What must stand in one with TAG; what stands there is not looked at."""
    return siphash(keys.of_server(cluster, server), data[4:12] + sixteen(server)).to_bytes(8)


def put(cluster: bytes, data: bytes, server: str) -> bytes:
    """The same with the right tag, if it has one."""
    return data if read(data)["tag"] is None else data[:12] + tag(cluster, data, server)


def answer(cluster: bytes, data: bytes, server: str, known: int) -> bytes:
    """The acknowledgement of a notice by a server that knows this generation then."""
    return put(cluster, write(read(data) | {"ack": True, "generation": known}), server)


def check(cluster: bytes, data: bytes, server: str) -> str:
    found = read(data)["tag"]
    if found is None:
        return "missing"
    return "right" if bytes.fromhex(found) == tag(cluster, data, server) else "wrong"
