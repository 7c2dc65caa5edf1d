# SPDX-License-Identifier: Apache-2.0
"""steer.json: headers as they stand on the wire, right ones and wrong ones."""

from itertools import product

from oracle import RefusedError
from oracle.steer import chain, mark_late, promote, read, write

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
MOVED = PLAIN | {"since": 1_700_000_000, "previous": "10.1.0.21"}
MOVED6 = PLAIN | {"since": 1_700_000_000, "previous": "2001:db8::21"}
TAG = "0123456789abcdef"
SECOND = {"bucket": 815, "owner": "10.1.0.23", "since": None, "previous": None}
SECOND6 = SECOND | {"owner": "2001:db8::23"}
SECOND_MOVED = SECOND | {"since": 1_699_999_990, "previous": "10.1.0.24"}
SECOND_MOVED6 = SECOND | {"since": 1_699_999_990, "previous": "2001:db8::24"}
SECOND6_MOVED6 = SECOND6 | {"since": 1_699_999_990, "previous": "2001:db8::24"}
SECONDS = {
    "a second bucket of an IPv4 backend": SECOND,
    "a second bucket of an IPv6 backend": SECOND6,
    "a second bucket that moved from IPv4 to IPv4": SECOND_MOVED,
    "a second bucket that moved from IPv6 to IPv4": SECOND_MOVED6,
    "a second bucket that moved from IPv4 to IPv6": SECOND6 | {"since": 1_699_999_990, "previous": "10.1.0.24"},
    "a second bucket that moved from IPv6 to IPv6": SECOND6_MOVED6,
}
BIG = {"service": 65535, "bucket": 8388607, "generation": 0xFFFFFFFF, "since": 0xFFFFFFFF, "previous": "255.1.2.254"}


def _valid(name: str, data: bytes) -> dict:
    fields = read(data)
    return {"name": name, "bytes": data.hex(), "fields": fields, "written": write(fields).hex()}


def valid_rows() -> list[dict]:
    rows = []
    kinds = [("no move", PLAIN), ("moved from an IPv4 backend", MOVED), ("moved from an IPv6 backend", MOVED6)]
    for (name, header), tag, inner, padding in product(kinds, (None, TAG), (4, 41), (0, 1, 5)):
        sentence = f"{name}, {'tag' if tag else 'no tag'}, inner protocol {inner}, {padding} words of padding"
        rows.append(_valid(sentence, write(header | {"tag": tag, "innerProtocol": inner}, padding)))
    for (name, header), (what, second), tag in product(kinds, SECONDS.items(), (None, TAG)):
        sentence = f"{what}, {name}, {'tag' if tag else 'no tag'}"
        rows.append(_valid(sentence, write(header | {"tag": tag, "second": second})))
    rows += [_valid(f"late, {name}", write(header | {"hops": 1, "late": True})) for name, header in kinds]
    rows += [_valid(f"{hops} hops", write(PLAIN | {"hops": hops})) for hops in (1, 2, 3, 4, 15)]
    rows += [
        _valid("every number at its greatest", write(PLAIN | BIG)),
        _valid("numbers at their least", write(PLAIN | {"service": 0, "bucket": 0, "generation": 1})),
        _valid("no bucket: the port named the backend", write(PLAIN | {"bucket": 0xFFFFFFFF})),
        _valid("a move at second 0", write(MOVED | {"since": 0})),
        _valid("a previous of all zero is carried", write(MOVED | {"previous": "0.0.0.0"})),
        _valid("a second bucket without an owner", write(PLAIN | {"second": SECOND | {"owner": "0.0.0.0"}})),
        _valid("a second bucket of an owner of all zero", write(PLAIN | {"second": SECOND | {"owner": "::"}})),
        _valid("no second bucket's number", write(MOVED | {"second": SECOND_MOVED | {"bucket": 0xFFFFFFFF}})),
        _valid("a second bucket and padding", write(MOVED | {"second": SECOND}, 3)),
        _valid("the longest header without padding", write(MOVED6 | {"tag": TAG, "second": SECOND6_MOVED6})),
        _valid("every flag", write(MOVED6 | {"tag": TAG, "second": SECOND6_MOVED6, "late": True})),
        _valid("the longest header that hlen can say", write(MOVED6 | {"tag": TAG}, 21)),
        _valid("padding that is not zero is not looked at", _set(write(PLAIN, 2), {16: 0xFF, 23: 7})),
        _valid(
            "an inner packet behind the header",
            write(MOVED) + bytes.fromhex("4500001400010000400600000a0201020a630001"),
        ),
    ]
    return rows


def _set(data: bytes, changes: dict[int, int]) -> bytes:
    changed = bytearray(data)
    for at, value in changes.items():
        changed[at] = value
    return bytes(changed)


def malformed_rows() -> list[dict]:
    plain, moved, moved6 = write(PLAIN), write(MOVED), write(MOVED6)
    zero = write(PLAIN | {"generation": 0})
    cases = [
        ("GUE version 1, which is IP directly in UDP", _set(plain, {0: 0x43})),
        ("GUE version 3", _set(plain, {0: 0xC3})),
        ("a GUE control message", _set(plain, {0: 0x23})),
        ("a GUE flag in the first byte", _set(plain, {2: 0x80})),
        ("a GUE flag in the second byte", _set(plain, {3: 1})),
        ("inner protocol 0", _set(plain, {1: 0})),
        ("inner protocol 6, TCP without IP", _set(plain, {1: 6})),
        ("inner protocol 255", _set(plain, {1: 255})),
        ("hlen 0", _set(plain, {0: 0})),
        ("hlen one word short of the 12 bytes", _set(plain, {0: 2})),
        ("MOVED without room for the move", _set(plain, {5: 1})),
        ("MOVED with room for since alone", _set(moved, {0: 4})),
        ("PREVIOUS6 with room for an IPv4 address", _set(moved, {5: 3})),
        ("PREVIOUS6 one word short", _set(moved6, {0: 7})),
        ("TAG without room", _set(plain, {5: 4})),
        ("TAG with room for half of it", _set(write(PLAIN, 1), {5: 4})),
        ("MOVED and TAG with room for the move alone", _set(moved, {5: 5})),
        ("steer version 0", _set(plain, {4: 0x00})),
        ("steer version 3", _set(plain, {4: 0x30})),
        ("steer version 15 with 3 hops", _set(plain, {4: 0xF3})),
        ("SECOND without room", _set(plain, {5: 0x08})),
        ("SECOND with room for the bucket alone", _set(write(PLAIN, 1), {5: 0x08})),
        ("SECOND and MOVED with room for one of them", _set(moved, {5: 0x09})),
        ("SECOND6 one word short", _set(write(PLAIN, 4), {5: 0x18})),
        ("SECOND and MOVED2 with room for SECOND alone", _set(moved, {5: 0x28})),
        ("PREVIOUS2_6 with room for an IPv4 address", _set(write(PLAIN, 4), {5: 0x68})),
        ("SECOND6 without SECOND", _set(write(PLAIN, 20), {5: 0x10})),
        ("SECOND6 without SECOND, beside MOVED", _set(write(MOVED, 20), {5: 0x11})),
        ("MOVED2 without SECOND", _set(write(PLAIN, 20), {5: 0x20})),
        ("MOVED2 and PREVIOUS2_6 without SECOND", _set(write(MOVED, 20), {5: 0x61})),
        ("PREVIOUS2_6 without MOVED2", _set(write(PLAIN, 20), {5: 0x48})),
        ("PREVIOUS2_6 without MOVED2 and SECOND", _set(write(PLAIN, 20), {5: 0x40})),
        ("PREVIOUS6 without MOVED", _set(moved6, {5: 2})),
        ("PREVIOUS6 and TAG without MOVED", _set(write(PLAIN | {"tag": TAG}), {5: 6})),
        ("generation 0", zero),
        ("generation 0 in a moved header", write(MOVED | {"generation": 0})),
        # Two faults: the earlier check gives the word.
        ("GUE version 1 and C bit", _set(plain, {0: 0x63})),
        ("C bit and GUE flags", _set(plain, {0: 0x23, 2: 1})),
        ("GUE flags and inner protocol 6", _set(plain, {1: 6, 3: 1})),
        ("inner protocol 6 and hlen 0", _set(plain, {0: 0, 1: 6})),
        ("hlen 2 and nothing behind the GUE base", _set(plain, {0: 2})[:4]),
        ("hlen beyond the end and steer version 3", _set(plain, {0: 31, 4: 0x30})),
        ("steer version 3 and flags without room", _set(plain, {4: 0x30, 5: 0xF8})),
        ("LATE and PREVIOUS6 alone", _set(plain, {5: 0x82})),
        ("PREVIOUS6 alone and SECOND6 alone", _set(plain, {5: 0x12})),
        ("SECOND6 alone and MOVED2 alone", _set(plain, {5: 0x30})),
        ("MOVED2 alone and PREVIOUS6 alone", _set(plain, {5: 0x22})),
        ("PREVIOUS2_6 alone, without room", _set(plain, {5: 0x48})),
        ("PREVIOUS2_6 alone and generation 0", _set(zero, {5: 0x40})),
        ("PREVIOUS6 alone and generation 0", _set(zero, {5: 2})),
        ("PREVIOUS6 and TAG alone, without room", _set(plain, {5: 6})),
        ("MOVED without room and generation 0", _set(zero, {5: 1})),
        ("MOVED without room in hlen, though the bytes are there", _set(plain, {5: 1}) + bytes(64)),
    ]
    whole = write(MOVED6 | {"tag": TAG, "second": SECOND6_MOVED6}, 1)
    cases += [(f"the longest header and a word of padding cut to {n} bytes", whole[:n]) for n in range(len(whole))]
    cases += [(f"a header without a move cut to {n} bytes", plain[:n]) for n in range(len(plain))]
    return [{"name": name, "bytes": data.hex(), "error": _reason(data)} for name, data in cases]


def _reason(data: bytes) -> str:
    try:
        read(data)
    except RefusedError as refused:
        return refused.args[0]
    raise AssertionError(f"{data.hex()} was meant to be malformed")


def chained_rows() -> list[dict]:
    both = {"second": SECOND_MOVED}
    cases = [
        ("a packet without a move gets one hop more", write(PLAIN)),
        ("an IPv4 move becomes two words of padding", write(MOVED)),
        ("an IPv6 move becomes five words of padding", write(MOVED6 | {"innerProtocol": 41})),
        ("the third hop", write(MOVED | {"hops": 2})),
        ("a tag becomes two words of padding", write(PLAIN | {"tag": TAG})),
        ("an IPv4 move and a tag become four words of padding", write(MOVED | {"tag": TAG})),
        ("an IPv6 move and a tag become seven words of padding", write(MOVED6 | {"tag": TAG}, 1)),
        ("a second bucket stays", write(PLAIN | {"second": SECOND})),
        ("a second bucket stays and a move becomes padding", write(MOVED | {"second": SECOND6})),
        ("a second bucket's move stays, a move and a tag become padding", write(MOVED | both | {"tag": TAG}, 1)),
        ("the longest header", write(MOVED6 | {"tag": TAG, "second": SECOND6_MOVED6})),
        ("LATE stays", write(MOVED | both | {"tag": TAG, "hops": 1, "late": True})),
        ("padding that was there stays", _set(write(MOVED, 2), {30: 9})),
        ("the inner packet stays", write(MOVED) + bytes.fromhex("4500001400010000400600000a0201020a630001")),
    ]
    return [{"name": name, "before": data.hex(), "after": chain(data).hex()} for name, data in cases]


def promoted_rows() -> list[dict]:
    """Every form of both buckets, with what else a header has."""
    cases = []
    headers = {"no move": PLAIN, "a move from IPv4": MOVED, "a move from IPv6": MOVED6}
    for (what, second), (move, header), tag in product(SECONDS.items(), headers.items(), (None, TAG)):
        name = f"{what}, after {move}{' and a tag' if tag else ''}"
        cases.append((name, write(header | {"second": second, "tag": tag})))
    inner = bytes.fromhex("4500001400010000400600000a0201020a630001")
    cases += [(f"{hops} hops are 0 again", write(MOVED | {"second": SECOND, "hops": hops})) for hops in (1, 3)]
    cases += [
        ("a second bucket's number of 4294967295", write(PLAIN | {"second": SECOND | {"bucket": 0xFFFFFFFF}})),
        ("LATE stays", write(MOVED | {"second": SECOND_MOVED, "tag": TAG, "late": True})),
        ("padding that was there stays", _set(write(PLAIN | {"second": SECOND_MOVED}, 2), {36: 9})),
        ("the inner packet stays", write(MOVED6 | {"second": SECOND_MOVED6}) + inner),
        ("the chained packet", chain(write(MOVED6 | {"second": SECOND6_MOVED6, "tag": TAG}))),
    ]
    return [{"name": name, "before": data.hex(), "after": promote(data).hex()} for name, data in cases]


def late_rows() -> list[dict]:
    both = {"second": SECOND6_MOVED6}
    cases = [
        ("a chained packet", chain(write(MOVED | {"tag": TAG}))),
        ("a chained packet with a second bucket", chain(write(MOVED6 | both))),
        ("a packet that was passed on", promote(write(MOVED6 | both | {"tag": TAG}))),
        ("it is late already", mark_late(chain(write(PLAIN, 1)))),
    ]
    return [{"name": name, "before": data.hex(), "after": mark_late(data).hex()} for name, data in cases]


def steer_vectors() -> dict:
    rows = {"valid": valid_rows(), "malformed": malformed_rows(), "chained": chained_rows()}
    return rows | {"promoted": promoted_rows(), "late": late_rows()}
