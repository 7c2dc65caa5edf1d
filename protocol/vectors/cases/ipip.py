# SPDX-License-Identifier: Apache-2.0
"""ipip.json: outer headers with the paper's option, right ones and wrong ones."""

import random

from oracle import RefusedError
from oracle.ipip import LENGTH, checksum, forward, read, write

from .rows import changed, cuts, refused_rows, spoiled

PLAIN = {
    "trafficClass": 0,
    "innerLength": 40,
    "source": "10.1.0.11",
    "destination": "10.1.0.22",
    "since": 0,
    "previous": None,
    "generation": 12,
}
MOVED = PLAIN | {"since": 1_700_000_000, "previous": "10.1.0.21"}
INNER = bytes.fromhex("4500001400010000400600000a0201020a630001")
SELF, NEXT = "10.1.0.22", "10.1.0.21"


def _valid(name: str, data: bytes) -> dict:
    fields = read(data)
    return {"name": name, "bytes": data.hex(), "fields": fields, "written": write(fields).hex()}


def _carries_twice() -> dict:
    """A header whose sum carries again when its carry is added: where a careless fold is wrong by one."""
    draw = random.Random("ipip")
    while True:
        header = MOVED | {"generation": draw.randrange(1, 1 << 32), "since": draw.randrange(1, 1 << 32)}
        data = write(header)
        total = sum(int.from_bytes(data[at : at + 2]) for at in range(0, LENGTH, 2) if at != 10)
        if (total & 0xFFFF) + (total >> 16) > 0xFFFF:
            return header


def valid_rows() -> list[dict]:
    greatest = {"generation": 0xFFFFFFFF, "since": 0xFFFFFFFF, "previous": "255.255.255.255"}
    return [
        _valid("no former owner", write(PLAIN)),
        _valid("a former owner: since stands in little-endian order", write(MOVED)),
        _valid("a former owner at second 1, previous 0.0.0.1", write(MOVED | {"since": 1, "previous": "0.0.0.1"})),
        _valid("every number at its greatest", write(PLAIN | greatest | {"trafficClass": 255, "innerLength": 65499})),
        _valid("no inner packet, generation 1", write(PLAIN | {"innerLength": 0, "generation": 1})),
        _valid("a checksum whose fold carries twice", write(_carries_twice())),
        _valid("a previous without a time", changed(write(MOVED), dict.fromkeys(range(28, 32), 0))),
        _valid("a time without a previous", changed(write(MOVED), dict.fromkeys(range(24, 28), 0))),
        _valid("TTL 250 and DF clear, as the paper's mux has it", changed(write(MOVED), {6: 0, 8: 250})),
        _valid("an inner packet behind the header", write(MOVED | {"innerLength": len(INNER)}) + INNER),
    ]


def malformed_rows() -> list[dict]:
    plain, moved = write(PLAIN), write(MOVED)
    none = write(PLAIN | {"generation": 0})
    cases = [
        ("inner protocol 41", changed(plain, {9: 41})),
        ("inner protocol 17", changed(plain, {9: 17})),
        ("no option: a header of 20 bytes", changed(plain, {0: 0x45})),
        ("a header of 60 bytes", changed(plain, {0: 0x4F}) + bytes(24)),
        ("a header one word short", changed(plain, {0: 0x48})),
        ("IPv6", changed(plain, {0: 0x69})),
        ("another option: timestamp", changed(plain, {20: 0x44})),
        ("the option with the copied flag", changed(plain, {20: 0xE1})),
        ("no operation in front", changed(plain, {20: 1})),
        ("an option of 12 bytes", changed(plain, {21: 12})),
        ("an option of 20 bytes", changed(plain, {21: 20})),
        ("an option of 0 bytes", changed(plain, {21: 0})),
        ("a bit in the first byte of padding", changed(plain, {22: 0x80})),
        ("a bit in the second byte of padding", changed(moved, {23: 1})),
        ("generation 0", none),
        ("generation 0 and a former owner", write(MOVED | {"generation": 0})),
        # Two faults: the earlier check gives the word.
        ("inner protocol 41 and no option", changed(plain, {0: 0x45, 9: 41})),
        ("no option's length and another option", changed(plain, {0: 0x45, 20: 0x44})),
        ("another option of another length", changed(plain, {20: 0x44, 21: 12})),
        ("an option of 12 bytes with padding set", changed(plain, {21: 12, 22: 1})),
        ("padding set and generation 0", changed(none, {23: 1})),
    ]
    return refused_rows(read, cases + cuts("a header ", moved))


def forwarded_row(name: str, data: bytes, self: str = SELF, following: str = NEXT) -> dict:
    after = forward(data, self, following)
    assert checksum(after[:LENGTH]) == 0
    return {"name": name, "before": data.hex(), "self": self, "next": following, "after": after.hex()}


def forwarded_rows() -> list[dict]:
    return [
        forwarded_row("a packet loses its former owner", write(MOVED)),
        forwarded_row("a packet without one", write(PLAIN)),
        forwarded_row("the traffic class stays", write(MOVED | {"trafficClass": 0xB9})),
        forwarded_row("TTL and DF are set again", changed(write(MOVED), {4: 0x12, 5: 0x34, 6: 0, 8: 250})),
        forwarded_row("a previous alone goes as well", changed(write(MOVED), dict.fromkeys(range(28, 32), 0))),
        forwarded_row("the inner packet stays", write(MOVED | {"innerLength": len(INNER)}) + INNER),
    ]


def ipip_vectors() -> dict:
    return {"valid": valid_rows(), "malformed": malformed_rows(), "forwarded": forwarded_rows()}


def drawn_ipip(draw: random.Random) -> dict:
    """Right headers, and the same with a bit turned or cut short; the oracle tells which of them are still right."""
    files: dict[str, list] = {"valid": [], "malformed": [], "forwarded": []}
    for number in range(2000):
        header = {key: ".".join(str(b) for b in draw.randbytes(4)) for key in ("source", "destination", "previous")}
        header |= {"trafficClass": draw.randrange(256), "innerLength": draw.randrange(65500)}
        header |= {"since": draw.randrange(1 << 32), "generation": draw.randrange(1, 1 << 32)}
        data = spoiled(draw, write(header) + draw.randbytes(draw.choice([0, 20])), 0.5, 0.1, LENGTH)
        name = f"random header {number}"
        try:
            fields = read(data)
        except RefusedError as refused:
            files["malformed"].append({"name": name, "bytes": data.hex(), "error": refused.args[0]})
            continue
        if fields["innerLength"] >= 0:
            files["valid"].append(_valid(name, data))
        files["forwarded"].append(forwarded_row(name, data, header["destination"], header["source"]))
    return files
