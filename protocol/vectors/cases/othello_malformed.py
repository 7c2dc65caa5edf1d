# SPDX-License-Identifier: Apache-2.0
"""Arrays and patches that a reader refuses; as for deltas (delta_malformed.py), the words are stated by hand."""

import struct
from collections.abc import Callable

from oracle.othello import body_range
from oracle.report import varint

from .delta_malformed import Case, Parcel, frame_cases, header_cases

CELLS_MAX = 1 << 28


def spoiler(parcel: Parcel) -> tuple[Callable[..., bytes], tuple[int, int, int], bytes]:
    """What makes whole arrays with another seed, size or words; and those of the good ones."""
    sizes, good = struct.unpack("<QII", parcel.body[:16]), parcel.body[16:]

    def bad(seed: int = sizes[0], na: int = sizes[1], nb: int = sizes[2], words: bytes = good) -> bytes:
        return parcel.make(body=struct.pack("<QII", seed, na, nb) + words)

    return bad, sizes, good


def whole_body_cases(parcel: Parcel) -> list[Case]:
    """Of 64 and 4 cells of 12 bits: 13 words, of whose last 16 bits are behind the cells."""
    bad, (_, na, _), words = spoiler(parcel)
    return [
        ("size", "no cells in A", bad(na=0, nb=68)),
        ("size", "no cells in B", bad(na=128, nb=0)),
        ("size", "a cell too many in A", bad(na=CELLS_MAX + 1)),
        ("size", "a cell too many in B", bad(nb=CELLS_MAX + 1)),
        ("size", "2^29 cells in A", bad(na=CELLS_MAX * 2)),
        ("size", "4294967295 cells in A", bad(na=0xFFFFFFFF)),
        ("size", "2147483648 cells in both, whose sum wraps in 32 bits", bad(na=1 << 31, nb=1 << 31)),
        ("length", "a word too few", bad(words=words[:-8])),
        ("length", "a word too many", bad(words=words + bytes(8))),
        ("length", "a byte behind the words", bad(words=words + b"\0")),
        ("length", "half of the last word", bad(words=words[:-4])),
        ("length", "twice the cells of A", bad(na=2 * na)),
        ("length", "the most cells that there may be", bad(na=CELLS_MAX, nb=CELLS_MAX)),
        ("padding", "a bit behind the last cell", bad(na=2, nb=1, words=struct.pack("<Q", 1 << 36))),
        ("padding", "the last bit of the last word", bad(na=2, nb=1, words=struct.pack("<Q", 1 << 63))),
        ("size", "two faults: size, length", bad(na=0, words=words + b"\0")),
        ("length", "two faults: length, padding", bad(na=2, nb=1, words=struct.pack("<QQ", 1 << 63, 0))),
    ]


def of_hash_cases(parcel: Parcel) -> list[tuple[str, str, str, bytes]]:
    """What one hash refuses and the other one takes."""
    bad, (seed, _, _), _ = spoiler(parcel)
    return [
        ("siphash", "seed", "an even seed", bad(seed=seed - 1)),
        ("siphash", "seed", "seed 0", bad(seed=0)),
        ("siphash", "seed", "two faults: seed, size", bad(seed=0, na=0)),
        ("crc32", "size", "63 cells in A", bad(na=63, nb=4)),
        ("crc32", "size", "5 cells in B", bad(na=64, nb=5)),
        ("crc32", "size", "a cell less than the most in A", bad(na=CELLS_MAX - 1)),
    ]


def patch_body_cases(parcel: Parcel) -> list[Case]:
    """The arrays have 13 words, of whose last 16 bits are behind the cells."""

    def bad(skips: bytes, words: list[int], n: int | None = None, behind: bytes = b"") -> bytes:
        count = len(words) if n is None else n
        return parcel.make(body=struct.pack("<I", count) + skips + struct.pack(f"<{len(words)}Q", *words) + behind)

    return [
        ("length", "one change too few", bad(b"\0", [5], n=2)),
        ("length", "one change too many", bad(b"\0\0", [5, 6], n=1)),
        ("length", "4294967295 changes", bad(b"\0", [5], n=0xFFFFFFFF)),
        ("length", "a number of changes that wraps to its bytes in 32 bits", bad(b"\0", [5], n=0x1C71C71D)),
        ("length", "a byte behind the words", bad(b"\0", [5], behind=b"\0")),
        ("length", "a byte behind no changes", bad(b"", [], behind=b"\0")),
        ("length", "a word without its skip", bad(b"", [5])),
        ("length", "a varint that goes on into the words", bad(b"\x80", [5])),
        ("word", "the word behind the last", bad(varint(13), [5])),
        ("word", "one word more than there are", bad(bytes(14), [5] * 14)),
        ("word", "a word far behind the last", bad(varint((1 << 28) - 1), [5])),
        ("word", "skips whose sum leads behind the last", bad(varint(9) + varint(3), [5, 6])),
        ("word", "a skip of 0 in two bytes", bad(b"\x80\x00", [5])),
        ("word", "a skip of 1 in three bytes", bad(b"\x81\x80\x00", [5])),
        ("word", "a skip in five bytes", bad(b"\x80\x80\x80\x80\x01", [5])),
        ("word", "a skip of 0 in five bytes", bad(b"\x80\x80\x80\x80\x00", [5])),
        ("word", "two faults: a varint too long, a byte behind", bad(b"\x80\x00", [5], behind=b"\0")),
        ("word", "two faults: a word behind the last, its varint before the end", bad(varint(13) + b"\0", [5])),
        ("padding", "a bit behind the last cell", bad(varint(12), [1 << 48])),
        ("padding", "the last bit of the last word", bad(bytes(13), [5] * 12 + [1 << 63])),
        ("length", "two faults: a byte behind, padding", bad(varint(12), [1 << 63], behind=b"\0")),
    ]


def malformed(expected: dict, whole: bytes, patch: bytes) -> list[dict]:
    """Of the arrays of expected: a good whole one, and a good patch."""
    buckets, cells = expected["buckets"], len(expected["arrays"]["cells"])
    at = {"service": expected["service"], "generation": expected["wholeGeneration"], "base": 0, "buckets": buckets}
    of_whole = Parcel("whole", at, body_range("whole", buckets), whole)
    at = at | {"generation": expected["patchGeneration"], "base": expected["patchBase"]}
    of_patch = Parcel("patch", at, body_range("patch", buckets, cells), patch)
    cases = [("crc32", of_whole, case) for case in header_cases(of_whole) + frame_cases(of_whole)]
    cases += [(kind, of_whole, case) for kind in ("siphash", "crc32") for case in whole_body_cases(of_whole)]
    cases += [(kind, of_whole, tuple(case)) for kind, *case in of_hash_cases(of_whole)]
    cases += [
        ("crc32", of_patch, case)
        for case in header_cases(of_patch) + frame_cases(of_patch) + patch_body_cases(of_patch)
    ]
    rows = [
        {"name": f"{of.kind}, {kind}: {name}", "kind": of.kind, "hash": kind, "bytes": data.hex(), "error": error}
        for kind, of, (error, name, data) in cases
    ]
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names), "a name is used twice"
    return rows
