# SPDX-License-Identifier: Apache-2.0
"""
Othello arrays (protocol/README.md, 12). Arrays are {"hash", "seed", "na", "nb", "cells"}: the cells of A, then of B.
The cells of a body are one large number here, whose bits are cut.
"""

import struct

from . import refuse_if
from .delta_reader import read_body
from .report import varint

CELLS_MAX = 1 << 28
M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def mix(v: int) -> int:
    for _ in range(2):
        v = v * 1025 & M32
        v ^= v >> 6
        v = v * 9 & M32
        v ^= v >> 11
        v = v * 32769 & M32
    return v


def key(kind: str, flow_hash: int, seed: int) -> tuple[int, int]:
    """The low and the high half."""
    if kind == "crc32":
        crc = flow_hash & M32
        exchanged = crc >> 16 | (crc & 0xFFFF) << 16
        return mix(crc ^ (seed & M32)), mix(exchanged ^ (seed >> 32))
    product = flow_hash * seed & M64
    return product & M32, product >> 32


def indexes(kind: str, flow_hash: int, seed: int, na: int, nb: int) -> tuple[int, int]:
    low, high = key(kind, flow_hash, seed)
    return low * na // 2**32, high * nb // 2**32


def code(arrays: dict, flow_hash: int) -> int:
    na, nb = arrays["na"], arrays["nb"]
    a, b = indexes(arrays["hash"], flow_hash, int(arrays["seed"], 16), na, nb)
    return arrays["cells"][a] ^ arrays["cells"][na + b]


def bits_of(buckets: int) -> int:
    return buckets.bit_length() - 1


def words_of(cells: list[int], bits: int) -> list[int]:
    number = 0
    for at, cell in enumerate(cells):
        number |= cell << at * bits
    return [number >> 64 * at & M64 for at in range(-(-len(cells) * bits // 64))]


def cells_of(words: list[int], count: int, bits: int) -> list[int]:
    number = sum(word << 64 * at for at, word in enumerate(words))
    refuse_if(number >> count * bits, "padding")
    return [number >> at * bits & (1 << bits) - 1 for at in range(count)]


def whole_body(arrays: dict, buckets: int) -> bytes:
    words = words_of(arrays["cells"], bits_of(buckets))
    head = struct.pack("<QII", int(arrays["seed"], 16), arrays["na"], arrays["nb"])
    return head + struct.pack(f"<{len(words)}Q", *words)


def patch_body(changes: list[tuple[int, int]]) -> bytes:
    """Pairs of a word's number and its new value, by ascending number."""
    skips, end = b"", 0
    for word, _ in changes:
        skips += varint(word - end)
        end = word + 1
    return struct.pack("<I", len(changes)) + skips + struct.pack(f"<{len(changes)}Q", *(value for _, value in changes))


def changes_between(before: list[int], after: list[int], buckets: int) -> list[tuple[int, int]]:
    bits = bits_of(buckets)
    pairs = enumerate(zip(words_of(before, bits), words_of(after, bits), strict=True))
    return [(at, new) for at, (old, new) in pairs if old != new]


def body_range(kind: str, buckets: int, cells: int = 0) -> tuple[int, int]:
    """The shortest and the longest possible body; of a patch, of arrays with so many cells."""
    bits = bits_of(buckets)
    if kind == "patch":
        return 4, 4 + 12 * -(-cells * bits // 64)
    return 24, 16 + CELLS_MAX * 2 * bits // 8


def read_whole(data: bytes, kind: str, at: dict) -> dict:
    """at: the fields that a header must have; kind: the service's hash."""
    body = read_body(data, "whole", at, *body_range("whole", at["buckets"]))
    seed, na, nb = struct.unpack("<QII", body[:16])
    bits = bits_of(at["buckets"])
    refuse_if(kind == "siphash" and seed % 2 == 0, "seed")
    for cells in (na, nb):
        refuse_if(not 1 <= cells <= CELLS_MAX or (kind == "crc32" and cells.bit_count() != 1), "size")
    refuse_if(len(body) - 16 != 8 * -(-(na + nb) * bits // 64), "length")
    words = struct.unpack(f"<{(len(body) - 16) // 8}Q", body[16:])
    return {"hash": kind, "seed": f"{seed:016x}", "na": na, "nb": nb, "cells": cells_of(words, na + nb, bits)}


def _read_skips(body: bytes, count: int) -> tuple[list[int], int]:
    """The numbers of the changed words, and where the varints end."""
    numbers, end, at = [], 0, 4
    for _ in range(count):
        groups: list[int] = []
        while not groups or groups[-1] > 127:
            refuse_if(len(groups) == 4, "word")
            refuse_if(at >= len(body) - 8 * count, "length")
            groups.append(body[at])
            at += 1
        refuse_if(len(groups) > 1 and groups[-1] == 0, "word")
        end += sum((group & 127) << 7 * place for place, group in enumerate(groups))
        numbers.append(end)
        end += 1
    return numbers, at


def read_patch(data: bytes, arrays: dict, at: dict) -> tuple[dict, list[tuple[int, int]]]:
    """The arrays that the patch makes of these, and what it changes."""
    cells, bits = arrays["cells"], bits_of(at["buckets"])
    words = words_of(cells, bits)
    body = read_body(data, "patch", at, *body_range("patch", at["buckets"], len(cells)))
    (count,) = struct.unpack("<I", body[:4])
    refuse_if(len(body) < 4 + 9 * count, "length")
    changes = _read_changes(body, count, len(words))
    for number, value in changes:
        words[number] = value
    return arrays | {"cells": cells_of(words, len(cells), bits)}, changes


def _read_changes(body: bytes, count: int, words: int) -> list[tuple[int, int]]:
    numbers, end = _read_skips(body, count)
    refuse_if(any(number >= words for number in numbers), "word")
    refuse_if(len(body) != end + 8 * count, "length")
    return list(zip(numbers, struct.unpack(f"<{count}Q", body[end:]), strict=True))
