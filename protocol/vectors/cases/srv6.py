# SPDX-License-Identifier: Apache-2.0
"""srv6.json: Segment Routing Headers as they stand on the wire, right ones and wrong ones."""

import random
from itertools import product

from oracle import RefusedError
from oracle.address import packed
from oracle.srv6 import chain, mark_late, message, promote, put_tag, read, tagged, write

from .inner import TCP_ACK, ipv4, ipv6
from .tag import KEY, NO_TAG

PLAIN = {
    "innerProtocol": 4,
    "hops": 0,
    "service": 1,
    "bucket": 4711,
    "generation": 12,
    "since": None,
    "previous": None,
    "tag": None,
    "second": None,
}
MOVED = PLAIN | {"since": 1_700_000_000, "previous": "2001:db8::21"}
TAG = "0123456789abcdef"
SECOND = {"bucket": 815, "owner": "2001:db8::23", "since": None, "previous": None}
SECOND_MOVED = SECOND | {"since": 1_699_999_990, "previous": "2001:db8::24"}
SELF, NEXT = "2001:db8::22", "2001:db8::21"
HEADERS = {"no move": PLAIN, "a move": MOVED}
SECONDS = {"one bucket": None, "two buckets": SECOND, "two buckets, the second one moved": SECOND_MOVED}
BIG = {"service": 65535, "bucket": 8388607, "generation": 0xFFFFFFFF, "since": 0xFFFFFFFF, "previous": "ffff::ffff"}
INNER = ipv4(6, TCP_ACK)


def srh(*segments: str, left: int, protocol: int = 4, tlvs: bytes = b"") -> bytes:
    """A foreign headend's header: all segments, the last one first."""
    words = b"".join(packed(segment) for segment in segments) + tlvs
    return bytes([protocol, len(words) // 8, 4, left, len(segments) - 1, 0, 0, 0]) + words


FOREIGN = {
    "a foreign headend's two segments": srh(NEXT, SELF, left=1),
    "a foreign headend's two segments, reduced": srh(NEXT, left=1, protocol=41),
    "a foreign headend's one segment": srh(SELF, left=0),
    "a foreign headend's last of three segments": srh(SELF, NEXT, "2001:db8::29", left=0),
    "a foreign headend's PadN": srh(SELF, left=0, tlvs=bytes([4, 6, 0, 0, 0, 0, 0, 0])),
    "our TLV behind two segments is not looked at": srh(NEXT, SELF, left=1, tlvs=bytes([252, 14]) + bytes(14)),
    "our TLV behind another one is not looked at": srh(SELF, left=0, tlvs=bytes([4, 6] + [0] * 6 + [252, 6] + [0] * 6)),
    "fourteen segments": srh(*[NEXT] * 14, left=1),
}


def _valid(name: str, data: bytes) -> dict:
    fields = read(data)
    written = write(fields, SELF).hex() if fields["generation"] else None
    return {"name": name, "bytes": data.hex(), "fields": fields, "destination": SELF, "written": written}


def _set(data: bytes, changes: dict[int, int]) -> bytes:
    changed = bytearray(data)
    for at, value in changes.items():
        changed[at] = value
    return bytes(changed)


def _forms() -> list[tuple[str, bytes]]:
    """Every form of both buckets, with and without a tag."""
    return [
        (
            f"{what}, {move}, {'tag' if tag else 'no tag'}",
            write(header | {"second": second, "tag": tag, "innerProtocol": 41 if tag else 4}, SELF),
        )
        for (what, second), (move, header), tag in product(SECONDS.items(), HEADERS.items(), (None, TAG))
    ]


def valid_rows() -> list[dict]:
    rows = [_valid(name, data) for name, data in _forms()]
    rows += [_valid(f"{hops} hops", write(PLAIN | {"hops": hops}, SELF)) for hops in (1, 2, 3, 4, 15)]
    rows += [
        _valid(f"late, {name}", write(header | {"hops": 1, "late": True}, SELF)) for name, header in HEADERS.items()
    ]
    rows += [
        _valid("every number at its greatest", write(PLAIN | BIG | {"second": SECOND | {"bucket": 0xFFFFFFFF}}, SELF)),
        _valid("numbers at their least", write(PLAIN | {"service": 0, "bucket": 0, "generation": 1}, SELF)),
        _valid("no bucket: the port named the backend", write(PLAIN | {"bucket": 0xFFFFFFFF}, SELF)),
        _valid("a second bucket without an owner", write(PLAIN | {"second": SECOND | {"owner": "::"}}, SELF)),
        _valid("a previous owner with an IPv4 address", write(MOVED | {"previous": "::ffff:10.1.0.21"}, SELF)),
        _valid("padding", write(MOVED | {"second": SECOND}, SELF, 3)),
        _valid("padding that is not zero is not looked at", _set(write(PLAIN, SELF, 1), {40: 0xFF, 47: 7})),
        _valid("the longest header that is read", write(MOVED | {"tag": TAG}, SELF, 22)),
        _valid("flags of the SRH are not looked at", _set(write(PLAIN, SELF), {5: 0xFF})),
        _valid("another Segment[0] than the destination is not looked at", write(PLAIN, NEXT)),
        _valid("a second bucket's number without SECOND is not looked at", _set(write(PLAIN, SELF), {39: 9})),
        _valid("an inner packet behind the header", write(MOVED, SELF) + INNER),
    ]
    return rows + [_valid(name, data) for name, data in FOREIGN.items()]


def malformed_rows() -> list[dict]:
    plain, moved, two = write(PLAIN, SELF), write(MOVED, SELF), write(PLAIN | {"second": SECOND}, SELF)
    zero = write(PLAIN | {"generation": 0}, SELF)
    foreign = srh(NEXT, SELF, left=1)
    cases = [
        ("TCP without IP", _set(plain, {0: 6})),
        ("no next header", _set(plain, {0: 59})),
        ("no segment", _set(plain, {1: 0})),
        ("half a segment", _set(plain, {1: 1})),
        ("a last entry beyond the header", _set(plain, {4: 2})),
        ("a last entry of 255", _set(foreign, {4: 255})),
        ("31 units of 8 bytes", _set(plain, {1: 31}) + bytes(256)),
        ("two segments left", _set(two, {3: 2})),
        ("255 segments left", _set(foreign, {3: 255})),
        ("three segments, two of them left", srh(NEXT, NEXT, SELF, left=2)),
        ("a TLV that ends before the header", _set(plain, {25: 13})),
        ("a TLV that ends behind the header", _set(plain, {25: 15})),
        ("a TLV of 6 bytes", srh(SELF, left=0, tlvs=bytes([252, 6, 0x10, 0, 0, 0, 0, 1])) + INNER),
        ("steer version 0", _set(plain, {26: 0x00})),
        ("steer version 2", _set(plain, {26: 0x20})),
        ("a flag that tells IPv6 from IPv4", _set(moved, {27: 3})),
        ("the same of the second bucket's owner", _set(two, {27: 0x18})),
        ("the same of its previous owner", _set(two, {27: 0x68})),
        ("MOVED2 without SECOND", _set(moved, {27: 0x21})),
        ("MOVED without room", _set(plain, {27: 1})),
        ("MOVED2 without room", _set(two, {27: 0x28})),
        ("TAG without room", _set(plain, {27: 4})),
        ("TAG in the padding of a move", _set(moved, {27: 5})),
        ("SECOND and no segment left", _set(two, {3: 0})),
        ("a segment left without SECOND", _set(plain, {3: 1})),
        ("generation 0", zero),
        # Two faults: the earlier check gives the word.
        ("TCP without IP and no segment", _set(plain, {0: 6, 1: 0})),
        ("31 units and two segments left", _set(plain, {1: 31, 3: 2})),
        ("beyond the end and two segments left", _set(plain, {1: 6, 3: 2})),
        ("two segments left and a TLV that is too short", _set(two, {3: 2, 25: 13})),
        ("a TLV that is too short and version 2", _set(plain, {25: 13, 26: 0x20})),
        ("version 2 and an unknown flag", _set(plain, {26: 0x20, 27: 2})),
        ("an unknown flag and MOVED2 alone", _set(plain, {27: 0x22})),
        ("MOVED2 alone without room", _set(plain, {27: 0x20})),
        ("MOVED without room and a segment left", _set(plain, {27: 1, 3: 1})),
        ("a segment left without SECOND and generation 0", _set(zero, {3: 1})),
    ]
    whole = write(MOVED | {"tag": TAG, "second": SECOND_MOVED}, SELF, 1)
    cases += [(f"the longest header and padding cut to {n} bytes", whole[:n]) for n in range(len(whole))]
    cases += [(f"a foreign headend's header cut to {n} bytes", foreign[:n]) for n in range(len(foreign))]
    return [{"name": name, "bytes": data.hex(), "error": _reason(data)} for name, data in cases]


def _reason(data: bytes) -> str:
    try:
        read(data)
    except RefusedError as refused:
        return refused.args[0]
    raise AssertionError(f"{data.hex()} was meant to be malformed")


def _chained(name: str, data: bytes) -> dict:
    return {"name": f"chained: {name}", "before": data.hex(), "next": NEXT, "after": chain(data, NEXT).hex()}


def chained_rows() -> list[dict]:
    cases = _forms()
    cases += [
        ("the third hop", write(MOVED | {"hops": 2}, SELF)),
        ("LATE stays", write(MOVED | {"tag": TAG, "second": SECOND_MOVED, "late": True}, SELF)),
        ("padding stays", _set(write(MOVED, SELF, 1), {66: 9})),
        ("the inner packet stays", write(MOVED | {"second": SECOND_MOVED}, SELF) + INNER),
    ]
    return [_chained(name, data) for name, data in cases]


def _promoted(name: str, data: bytes) -> dict:
    return {"name": f"passed on: {name}", "before": data.hex(), "after": promote(data).hex()}


def promoted_rows() -> list[dict]:
    cases = [(name, data) for name, data in [*_forms(), *FOREIGN.items()] if data[3]]
    cases += [
        ("LATE stays", write(MOVED | {"tag": TAG, "second": SECOND_MOVED, "late": True}, SELF)),
        ("hops are 0 again", write(MOVED | {"second": SECOND, "hops": 3}, SELF)),
        ("padding stays", _set(write(PLAIN | {"second": SECOND_MOVED}, SELF, 1), {67: 9})),
        ("the inner packet stays", write(MOVED | {"second": SECOND_MOVED}, SELF) + INNER),
        ("the chained packet", chain(write(MOVED | {"second": SECOND_MOVED}, SELF), NEXT)),
    ]
    return [_promoted(name, data) for name, data in cases]


def late_rows() -> list[dict]:
    cases = {
        "a chained packet": chain(write(MOVED | {"second": SECOND}, SELF), NEXT),
        "a packet that is passed on": promote(write(MOVED | {"second": SECOND_MOVED}, SELF)),
        "it is late already": write(PLAIN | {"late": True}, SELF),
        "a foreign headend's packet has no place for it": promote(srh(NEXT, SELF, left=1)),
    }
    return [{"name": n, "before": data.hex(), "after": mark_late(data).hex()} for n, data in cases.items()]


def tagged_row(name: str, data: bytes) -> dict:
    """A packet with the right tag, and what servers with the key send on."""
    data = put_tag(KEY, data)
    row = {"name": f"tagged: {name}", "bytes": data.hex(), "message": message(data).hex(), "tag": read(data)["tag"]}
    row |= {"next": NEXT, "chained": tagged(KEY, chain(data, NEXT)).hex(), "promoted": None, "both": None}
    if data[3]:
        row["promoted"] = tagged(KEY, promote(data)).hex()
        row["both"] = tagged(KEY, chain(promote(data), NEXT)).hex()
    return row


def tagged_rows() -> list[dict]:
    inner = {"TCP in IPv4": (4, INNER), "TCP in IPv6": (41, ipv6(6, TCP_ACK))}
    return [
        tagged_row(
            f"{what}, {move}, {packet}",
            write(header | {"second": second, "tag": NO_TAG, "innerProtocol": protocol}, SELF) + data,
        )
        for (what, second), (move, header), (packet, (protocol, data)) in product(
            SECONDS.items(), HEADERS.items(), inner.items()
        )
    ]


def srv6_vectors() -> dict:
    rows = {"valid": valid_rows(), "malformed": malformed_rows(), "chained": chained_rows()}
    return {"key": KEY.hex()} | rows | {"promoted": promoted_rows(), "late": late_rows(), "tagged": tagged_rows()}


def _drawn_header(draw: random.Random) -> bytes:
    def address() -> str:
        return ":".join(["2001", "db8"] + [f"{draw.randrange(1, 65536):x}" for _ in range(6)])

    def move() -> dict:
        moved = draw.random() < 0.5
        return {"since": draw.randrange(1 << 32) if moved else None, "previous": address() if moved else None}

    second = {"bucket": draw.randrange(1 << 23), "owner": address()} | move()
    header = {"innerProtocol": draw.choice([4, 41]), "hops": draw.randrange(16), "service": draw.randrange(1 << 16)}
    header |= {"bucket": draw.randrange(1 << 23), "generation": draw.randrange(1, 1 << 32)} | move()
    header |= {"tag": draw.randbytes(8).hex() if draw.random() < 0.3 else None, "late": draw.random() < 0.2}
    header |= {"second": second if draw.random() < 0.5 else None}
    return write(header, SELF, draw.choice([0, 0, 1, 3]))


def drawn_srv6(draw: random.Random) -> dict:
    """Right headers, and the same with a bit turned or cut short; the oracle tells which of them are still right."""
    files: dict[str, list] = {
        "valid": [],
        "malformed": [],
        "chained": [],
        "promoted": [],
        "late": late_rows(),
        "tagged": [],
    }
    for number in range(900):
        foreign = draw.choice(list(FOREIGN.values()))
        data = bytearray(foreign if draw.random() < 0.1 else _drawn_header(draw))
        if draw.random() < 0.5:
            data[draw.choice([0, 1, *range(3, 8), *range(24, min(len(data), 30))])] ^= 1 << draw.randrange(8)
        if draw.random() < 0.2:
            data = data[: draw.randrange(len(data))]
        elif draw.random() < 0.5:
            data += INNER
        data, name = bytes(data), f"random header {number}"
        try:
            fields = read(data)
        except RefusedError as refused:
            files["malformed"].append({"name": name, "bytes": data.hex(), "error": refused.args[0]})
            continue
        files["valid"].append(_valid(name, data))
        if fields["generation"] and fields["hops"] < 3:
            files["chained"].append(_chained(name, data))
        if fields["second"]:
            files["promoted"].append(_promoted(name, data))
        if fields["tag"] and fields["hops"] < 3 and fields["innerProtocol"] == 4 and data.endswith(INNER):
            files["tagged"].append(tagged_row(name, data[: fields["headerLength"]] + INNER))
    return {"key": KEY.hex()} | files
