# SPDX-License-Identifier: Apache-2.0
"""A notice (protocol/README.md, 2): GUE base, steer header and a list of buckets as bytes, without padding behind."""

from . import RefusedError
from .flow import siphash
from .steer import MOVED, read, write
from .tag import moved_part, place

PROTOCOL, NO_BUCKET, BUCKETS_MAX = 59, 0xFFFFFFFF, 352


def read_notice(data: bytes) -> dict:
    """The fields of a notice, or RefusedError with the first reason in the order of the README."""
    header = read(data, (PROTOCOL,))
    payload = data[header["headerLength"] :]
    faults = [
        header["hops"] != 0,
        header["bucket"] != NO_BUCKET,
        header["second"] is not None,
        header["late"],
        len(payload) % 4 != 0,
        len(payload) > 4 * BUCKETS_MAX,
        bool(header["flags"] & MOVED) != bool(payload),
    ]
    if any(faults):
        raise RefusedError("notice")
    buckets = [int.from_bytes(payload[at : at + 4]) for at in range(0, len(payload), 4)]
    kept = ("service", "generation", "flags", "headerLength", "since", "previous", "tag")
    return {key: header[key] for key in kept} | {"buckets": buckets}


def notice_message(key: bytes, data: bytes) -> bytes:
    header = read(data, (PROTOCOL,))
    digest = siphash(key, data[header["headerLength"] :]).to_bytes(8)
    return data[4:16] + moved_part(header) + digest + bytes(28) + bytes([PROTOCOL, 0, 0, 0])


def notice_tag(key: bytes, data: bytes) -> bytes:
    return siphash(key, notice_message(key, data)).to_bytes(8)


def write_notice(key: bytes, fields: dict, padding_words: int = 0) -> bytes:
    """`tag`: null for none; anything else is replaced by the right tag."""
    tag = None if fields["tag"] is None else bytes(8).hex()
    header = fields | {"innerProtocol": PROTOCOL, "hops": 0, "bucket": NO_BUCKET, "tag": tag}
    data = write(header, padding_words) + b"".join(bucket.to_bytes(4) for bucket in fields["buckets"])
    if tag is None:
        return data
    at = place(read(data, (PROTOCOL,)))
    return data[:at] + notice_tag(key, data) + data[at + 8 :]


def check_notice(key: bytes, data: bytes) -> str:
    found = read_notice(data)["tag"]
    if found is None:
        return "missing"
    return "right" if bytes.fromhex(found) == notice_tag(key, data) else "wrong"
