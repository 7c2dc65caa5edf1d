# SPDX-License-Identifier: Apache-2.0
"""The steer header as a TLV of an SRH (protocol/README.md, 2). A header is a dict with the keys that `read` returns."""

from ipaddress import ip_address

from . import RefusedError
from .address import packed
from .flow import siphash
from .inner import inner_part
from .steer import LATE, MOVED, MOVED2, SECOND, TAG
from .tag import moved_part, second_part

KNOWN = MOVED | TAG | SECOND | MOVED2 | LATE
TLV = 252


def _asked(flags: int) -> int:
    """Bytes of SRH that the flags ask for, without padding."""
    return 40 + sum(size for flag, size in ((MOVED2, 20), (MOVED, 20), (TAG, 8)) if flags & flag)


def _move(since: int | None, previous: str | None) -> bytes:
    return b"" if since is None else since.to_bytes(4) + packed(previous)


def write(header: dict, destination: str, padding: int = 0) -> bytes:
    """padding: units of 8 bytes besides what makes the length a multiple of 8."""
    second = header["second"] or {"bucket": 0, "owner": destination, "since": None, "previous": None}
    flags = SECOND if header["second"] else 0
    flags |= MOVED2 if second["since"] is not None else 0
    flags |= MOVED if header["since"] is not None else 0
    flags |= TAG if header["tag"] is not None else 0
    flags |= LATE if header.get("late") else 0
    value = bytes([1 << 4 | header["hops"], flags]) + header["generation"].to_bytes(4) + header["bucket"].to_bytes(4)
    value += second["bucket"].to_bytes(4) + _move(second["since"], second["previous"])
    value += _move(header["since"], header["previous"]) + bytes.fromhex(header["tag"] or "")
    value += bytes(-(26 + len(value)) % 8 + 8 * padding)
    whole = (26 + len(value)) // 8 - 1
    head = bytes([header["innerProtocol"], whole, 4, 1 if header["second"] else 0, 0, 0])
    return head + header["service"].to_bytes(2) + packed(second["owner"]) + bytes([TLV, len(value)]) + value


def has_tlv(data: bytes) -> bool:
    return data[1] > 2 and data[4] == 0 and data[24] == TLV


def read(data: bytes) -> dict:
    """The fields of a header, or RefusedError with the first reason in the order of the README."""
    whole = 8 * (data[1] + 1) if len(data) > 1 else 0
    checks = [
        ("truncated", lambda: len(data) < 24),
        ("inner_protocol", lambda: data[0] not in (4, 41)),
        ("length", lambda: data[1] > 30 or data[1] < 2 * (data[4] + 1)),
        ("truncated", lambda: len(data) < whole),
        ("segments", lambda: data[3] > 1),
    ]
    _refuse(checks)
    return _read_tlv(data, whole) if has_tlv(data) else _read_foreign(data, whole)


def _refuse(checks: list) -> None:
    for reason, is_wrong in checks:
        if is_wrong():
            raise RefusedError(reason)


def _read_foreign(data: bytes, whole: int) -> dict:
    none = 0xFFFFFFFF
    second = {"bucket": none, "owner": str(ip_address(data[8:24])), "since": None, "previous": None}
    return {
        "innerProtocol": data[0],
        "hops": 0,
        "flags": SECOND if data[3] else 0,
        "headerLength": whole,
        "service": 0,
        "bucket": none,
        "generation": 0,
        "since": None,
        "previous": None,
        "tag": None,
        "late": False,
        "second": second if data[3] else None,
    }


def _read_tlv(data: bytes, whole: int) -> dict:
    flags = data[27] if whole > 27 else 0
    checks = [
        ("length", lambda: whole < 40 or 26 + data[25] != whole),
        ("version_unknown", lambda: data[26] >> 4 != 1),
        ("flags_unknown", lambda: flags & ~KNOWN),
        ("moved2_alone", lambda: flags & MOVED2 and not flags & SECOND),
        ("length", lambda: whole < _asked(flags)),
        ("segments", lambda: bool(flags & SECOND) != (data[3] == 1)),
        ("generation_zero", lambda: data[28:32] == bytes(4)),
    ]
    _refuse(checks)
    rest, moves = data[40:whole], []
    for flag in (MOVED2, MOVED):
        if flags & flag:
            moves.append((int.from_bytes(rest[:4]), str(ip_address(rest[4:20]))))
            rest = rest[20:]
        else:
            moves.append((None, None))
    owner, number = str(ip_address(data[8:24])), int.from_bytes(data[36:40])
    second = {"bucket": number, "owner": owner, "since": moves[0][0], "previous": moves[0][1]}
    return {
        "innerProtocol": data[0],
        "hops": data[26] & 15,
        "flags": flags,
        "headerLength": whole,
        "service": int.from_bytes(data[6:8]),
        "bucket": int.from_bytes(data[32:36]),
        "generation": int.from_bytes(data[28:32]),
        "since": moves[1][0],
        "previous": moves[1][1],
        "tag": rest[:8].hex() if flags & TAG else None,
        "late": bool(flags & LATE),
        "second": second if flags & SECOND else None,
    }


def chain(data: bytes, following: str) -> bytes:
    """What a server without a key sends on: one hop more, neither move nor tag; their words become padding."""
    header = read(data)
    flags, kept = header["flags"], header["flags"] & ~(MOVED | TAG)
    chained = bytearray(data)
    chained[26:28] = bytes([data[26] + 1, kept])
    chained[_asked(kept) : _asked(flags)] = bytes(_asked(flags) - _asked(kept))
    if not data[3]:
        chained[8:24] = packed(following)
    return bytes(chained)


def promote(data: bytes) -> bytes:
    """What a server without a key passes on; the move of the second bucket is in the first one's place already."""
    header, promoted = read(data), bytearray(data)
    promoted[3] = 0
    if has_tlv(data):
        flags = header["flags"]
        kept = (MOVED if flags & MOVED2 else 0) | flags & LATE
        promoted[26:28] = bytes([0x10, kept])
        promoted[32:40] = data[36:40] + bytes(4)
        promoted[_asked(kept) : _asked(flags)] = bytes(_asked(flags) - _asked(kept))
    return bytes(promoted)


def mark_late(data: bytes) -> bytes:
    """What a server that has seen a higher generation makes of a packet that it sends on, before it gets a tag."""
    return data[:27] + bytes([data[27] | LATE]) + data[28:] if has_tlv(data) else data


def message(data: bytes) -> bytes:
    """What the tag covers: the same as of GUE's header with these fields, but for the flags."""
    header = read(data)
    head = data[26:28] + data[6:8] + data[32:36] + data[28:32]
    inner = inner_part(data[header["headerLength"] :], header["innerProtocol"])
    return head + moved_part(header) + inner + second_part(header)


def put_tag(key: bytes, data: bytes) -> bytes:
    """The packet with its right tag; it must have the flag TAG."""
    at = _asked(read(data)["flags"]) - 8
    return data[:at] + siphash(key, message(data)).to_bytes(8) + data[at + 8 :]


def tagged(key: bytes, data: bytes) -> bytes:
    """The packet with a tag anew, where the flags place it."""
    renewed = bytearray(data)
    renewed[27] |= TAG
    return put_tag(key, bytes(renewed))
