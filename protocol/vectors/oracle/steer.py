# SPDX-License-Identifier: Apache-2.0
"""GUE base and steer header (protocol/README.md, 2). A header is a dict with the keys that `read` returns."""

from ipaddress import ip_address

from . import RefusedError
from .address import is_ipv4, packed

MOVED, PREVIOUS6, TAG, SECOND, SECOND6, MOVED2, PREVIOUS2_6, LATE = (1 << bit for bit in range(8))
# What may stand behind the generation, in this order: the flag, and the flag that its address is IPv6.
PAIRS = ((SECOND, SECOND6), (MOVED2, PREVIOUS2_6), (MOVED, PREVIOUS6))


def words_before_tag(flags: int) -> int:
    """Bytes between the generation and the tag."""
    return sum((20 if flags & six else 8) for flag, six in PAIRS if flags & flag)


def _asked(flags: int) -> int:
    """Bytes of steer header that the flags ask for."""
    return 12 + words_before_tag(flags) + (8 if flags & TAG else 0)


def _pair(number: int | None, address: str | None, flag: int, six: int) -> tuple[int, bytes]:
    """A number and an address, and their flags; nothing without a number."""
    if number is None:
        return 0, b""
    return flag | (0 if is_ipv4(address) else six), number.to_bytes(4) + packed(address)


def write(header: dict, padding_words: int = 0) -> bytes:
    """A header without the key `second` has none; one without `late` is not."""
    second = header.get("second") or {"bucket": None, "owner": None, "since": None, "previous": None}
    pairs = [(second["bucket"], second["owner"]), (second["since"], second["previous"])]
    pairs.append((header["since"], header["previous"]))
    flags, tail = LATE if header.get("late") else 0, b""
    for (number, address), (flag, six) in zip(pairs, PAIRS, strict=True):
        more, part = _pair(number, address, flag, six)
        flags, tail = flags | more, tail + part
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
        ("previous6_alone", lambda: flags & PREVIOUS6 and not flags & MOVED),
        ("second6_alone", lambda: flags & SECOND6 and not flags & SECOND),
        ("moved2_alone", lambda: flags & MOVED2 and not flags & SECOND),
        ("previous2_6_alone", lambda: flags & PREVIOUS2_6 and not flags & MOVED2),
        ("length", lambda: hlen < _asked(flags)),
        ("generation_zero", lambda: steer[8:12] == bytes(4)),
    ]
    for reason, is_wrong in checks:
        if is_wrong():
            raise RefusedError(reason)
    rest = steer[12:]
    tag = None
    pairs: list = []
    for flag, six in PAIRS:
        size = 16 if flags & six else 4
        if flags & flag:
            pairs.append((int.from_bytes(rest[:4]), str(ip_address(rest[4 : 4 + size]))))
            rest = rest[4 + size :]
        else:
            pairs.append((None, None))
    (bucket2, owner2), (since2, previous2), (since, previous) = pairs
    second = {"bucket": bucket2, "owner": owner2, "since": since2, "previous": previous2}
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
        "second": second if flags & SECOND else None,
        "late": bool(flags & LATE),
    }


def chain(data: bytes) -> bytes:
    """What a server without a key sends on: one hop more, neither move nor tag; their words become padding."""
    flags = read(data)["flags"]
    kept = flags & (SECOND | SECOND6 | MOVED2 | PREVIOUS2_6 | LATE)
    chained = bytearray(data)
    chained[4] += 1
    chained[5] = kept
    for at in range(16 + words_before_tag(kept), 4 + _asked(flags)):
        chained[at] = 0
    return bytes(chained)


def promote(data: bytes) -> bytes:
    """What a server without a key passes on: written anew by the second bucket, and filled up with padding."""
    header = read(data)
    second, length = header["second"], 4 + _asked(header["flags"])
    alone = header | {"bucket": second["bucket"], "hops": 0, "since": None, "tag": None, "second": None}
    # The move is copied: the text of an address does not tell whether IPv4 was in the form of IPv6.
    before = 16 + words_before_tag(header["flags"] & (SECOND | SECOND6))
    moved = data[before : 16 + words_before_tag(header["flags"] & ~MOVED)]
    promoted = bytearray(write(alone))
    promoted[0] = data[0]
    promoted[5] = (MOVED if moved else 0) | (PREVIOUS6 if len(moved) == 20 else 0) | (header["flags"] & LATE)
    return (bytes(promoted) + moved).ljust(length, b"\0") + data[length:]


def mark_late(data: bytes) -> bytes:
    """What was chained or promoted, by a server that has seen a higher generation."""
    return data[:5] + bytes([data[5] | LATE]) + data[6:]
