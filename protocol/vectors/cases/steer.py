# SPDX-License-Identifier: Apache-2.0
"""steer.json: headers as they stand on the wire, right ones and wrong ones."""

from itertools import product

from oracle import RefusedError
from oracle.steer import chain, read, write

PLAIN = {
    "innerProtocol": 4,
    "hops": 0,
    "service": 1,
    "bucket": 4711,
    "generation": 12,
    "since": None,
    "previous": None,
    "tag": None,
}
MOVED = PLAIN | {"since": 1_700_000_000, "previous": "10.1.0.21"}
MOVED6 = PLAIN | {"since": 1_700_000_000, "previous": "2001:db8::21"}
TAG = "0123456789abcdef"
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
    rows += [_valid(f"{hops} hops", write(PLAIN | {"hops": hops})) for hops in (1, 2, 3, 4, 15)]
    rows += [
        _valid("every number at its greatest", write(PLAIN | BIG)),
        _valid("numbers at their least", write(PLAIN | {"service": 0, "bucket": 0, "generation": 1})),
        _valid("no bucket: the port named the backend", write(PLAIN | {"bucket": 0xFFFFFFFF})),
        _valid("a move at second 0", write(MOVED | {"since": 0})),
        _valid("a previous of all zero is carried", write(MOVED | {"previous": "0.0.0.0"})),
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
        ("steer version 2", _set(plain, {4: 0x20})),
        ("steer version 15 with 3 hops", _set(plain, {4: 0xF3})),
        ("flag bit 3", _set(plain, {5: 0x08})),
        ("flag bit 7", _set(plain, {5: 0x80})),
        ("an unknown flag beside MOVED", _set(moved, {5: 0x11})),
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
        ("hlen beyond the end and steer version 2", _set(plain, {0: 31, 4: 0x20})),
        ("steer version 2 and unknown flags", _set(plain, {4: 0x20, 5: 0xF8})),
        ("an unknown flag and PREVIOUS6 alone", _set(plain, {5: 0x0A})),
        ("PREVIOUS6 alone and generation 0", _set(zero, {5: 2})),
        ("PREVIOUS6 and TAG alone, without room", _set(plain, {5: 6})),
        ("MOVED without room and generation 0", _set(zero, {5: 1})),
        ("MOVED without room in hlen, though the bytes are there", _set(plain, {5: 1}) + bytes(64)),
    ]
    whole = write(MOVED6 | {"tag": TAG}, 1)
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
    cases = [
        ("a packet without a move gets one hop more", write(PLAIN)),
        ("an IPv4 move becomes two words of padding", write(MOVED)),
        ("an IPv6 move becomes five words of padding", write(MOVED6 | {"innerProtocol": 41})),
        ("the third hop", write(MOVED | {"hops": 2})),
        ("a tag becomes two words of padding", write(PLAIN | {"tag": TAG})),
        ("an IPv4 move and a tag become four words of padding", write(MOVED | {"tag": TAG})),
        ("an IPv6 move and a tag become seven words of padding", write(MOVED6 | {"tag": TAG}, 1)),
        ("padding that was there stays", _set(write(MOVED, 2), {30: 9})),
        ("the inner packet stays", write(MOVED) + bytes.fromhex("4500001400010000400600000a0201020a630001")),
    ]
    return [{"name": name, "before": data.hex(), "after": chain(data).hex()} for name, data in cases]


def steer_vectors() -> dict:
    return {"valid": valid_rows(), "malformed": malformed_rows(), "chained": chained_rows()}
