# SPDX-License-Identifier: Apache-2.0
"""othello.json: cells and codes of hashes, arrays, patches of them, and every way in which both are refused."""

import random

from oracle import RefusedError
from oracle.delta import header, zstd_frame
from oracle.othello import bits_of, changes_between, code, indexes, patch_body, read_patch, read_whole, whole_body

from .othello_malformed import malformed
from .rows import spoiled

SERVICE = 7
KINDS = ("siphash", "crc32")
HASHES = [0, 1, (1 << 64) - 1, 1 << 63, 1 << 32, 0x0123456789ABCDEF, 0xE27ADF518739F080, 0x00010000_00000001]
SEEDS = [1, (1 << 64) - 1, 0x9E3779B97F4A7C15, 0x00000001_00000001, 0xFFFFFFFF_00000001]
SIZES = [(1, 1), (2, 1), (1, 4), (256, 256), (1 << 28, 1 << 28), (1 << 21, 1 << 20)]
ODD_SIZES = [(3, 5), (1398102, 1048576), ((1 << 28) - 1, 333333)]


def as_crc(flow_hash: int) -> int:
    crc = flow_hash & 0xFFFFFFFF
    return ((crc & 0xFFFF) << 16 | crc >> 16) << 32 | crc


def index_row(name: str, kind: str, flow_hash: int, seed: int, sizes: tuple[int, int]) -> dict:
    flow_hash = as_crc(flow_hash) if kind == "crc32" else flow_hash
    a, b = indexes(kind, flow_hash, seed, *sizes)
    row = {"name": name, "hash": kind, "flowHash64": f"{flow_hash:016x}", "seed": f"{seed:016x}"}
    return row | {"na": sizes[0], "nb": sizes[1], "a": a, "b": b}


def index_rows() -> list[dict]:
    return [
        index_row(f"{kind} hash {flow_hash:x}, seed {seed:x}, {na} and {nb} cells", kind, flow_hash, seed, (na, nb))
        for kind in KINDS
        for flow_hash in HASHES
        for seed in SEEDS
        for na, nb in SIZES + (ODD_SIZES if kind == "siphash" else [])
    ]


def random_arrays(draw: random.Random, kind: str, buckets: int, na: int, nb: int) -> dict:
    cells = [draw.randrange(buckets) for _ in range(na + nb)]
    return {"hash": kind, "seed": f"{draw.getrandbits(64) | 1:016x}", "na": na, "nb": nb, "cells": cells}


def codes_row(draw: random.Random, name: str, arrays: dict, buckets: int, count: int) -> dict:
    hashes = [draw.getrandbits(64) for _ in range(count)]
    hashes = [as_crc(h) for h in hashes] if arrays["hash"] == "crc32" else hashes
    codes = [{"flowHash64": f"{h:016x}", "code": code(arrays, h)} for h in hashes]
    return {"name": name, "buckets": buckets} | arrays | {"codes": codes}


def at(generation: int, base: int, buckets: int) -> dict:
    return {"service": SERVICE, "generation": generation, "base": base, "buckets": buckets}


def whole_row(name: str, arrays: dict, generation: int, buckets: int, **frame) -> dict:
    body = whole_body(arrays, buckets)
    data = header("whole", SERVICE, generation, 0, buckets, body) + zstd_frame(body, **frame)
    assert read_whole(data, arrays["hash"], at(generation, 0, buckets)) == arrays, name
    row = {"name": name, "service": SERVICE, "generation": generation, "buckets": buckets}
    return row | arrays | {"body": body.hex(), "bytes": data.hex()}


def patch_row(name: str, arrays: dict, after: list[int], generations: tuple[int, int], buckets: int) -> dict:
    """generations: those of the arrays before and after."""
    base, generation = generations
    changes = changes_between(arrays["cells"], after, buckets)
    body = patch_body(changes)
    data = header("patch", SERVICE, generation, base, buckets, body) + zstd_frame(body)
    again, found = read_patch(data, arrays, at(generation, base, buckets))
    assert (again["cells"], found) == (after, changes), name
    row = {"name": name, "service": SERVICE, "generation": generation, "buckets": buckets, "base": base}
    row |= {"arrays": arrays, "changes": [{"word": word, "value": f"{value:016x}"} for word, value in changes]}
    return row | {"result": after, "body": body.hex(), "bytes": data.hex()}


def changed(draw: random.Random, cells: list[int], which: list[int], buckets: int) -> list[int]:
    """Each of these cells gets another value."""
    after = list(cells)
    for one in which:
        after[one] ^= draw.randrange(1, buckets)
    return after


def valid_rows(draw: random.Random) -> tuple[list[dict], list[dict], list[dict]]:
    codes, wholes, patches = [], [], []
    for kind in KINDS:
        for buckets in (256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536):
            na, nb = (16, 8) if kind == "crc32" else (13, 10)
            arrays = random_arrays(draw, kind, buckets, na, nb)
            name = f"{kind}, {bits_of(buckets)} bits in a cell"
            codes.append(codes_row(draw, name, arrays, buckets, 8))
            wholes.append(whole_row(name, arrays, 40, buckets))
            after = changed(draw, arrays["cells"], [na, na + nb - 1], buckets)
            patches.append(patch_row(f"{name}: the first cell of B and the last", arrays, after, (40, 41), buckets))
    arrays = random_arrays(draw, "siphash", 4096, 1400, 1000)
    total = arrays["na"] + arrays["nb"]
    codes.append(codes_row(draw, "2400 cells", arrays, 4096, 50))
    wholes.append(whole_row("2400 cells", arrays, 4294967295, 4096))
    wholes.append(whole_row("a frame that does not say its size", arrays, 12, 4096, with_size=False))
    wholes.append(whole_row("a frame of many blocks", arrays, 12, 4096, block_max=100))
    single = random_arrays(draw, "crc32", 256, 1, 1)
    codes.append(codes_row(draw, "one cell in each array", single, 256, 4))
    wholes.append(whole_row("one cell in each array", single, 2, 256))
    zero = {"hash": "crc32", "seed": f"{0:016x}", "na": 4, "nb": 4, "cells": [0] * 8}
    codes.append(codes_row(draw, "crc32 with seed 0, cells of 0", zero, 65536, 4))
    wholes.append(whole_row("crc32 with seed 0, cells of 0", zero, 2, 65536))
    for name, which in (
        ("nothing changes", []),
        ("the first cell", [0]),
        ("the last cell", [total - 1]),
        ("a cell that lies in two words", [5]),
        ("words that follow each other", list(range(40, 60))),
        ("a skip of 127 words and of 128", [0, 128 * 16 // 3 + 1, 257 * 16 // 3 + 1]),
        ("every cell", list(range(total))),
        ("cells here and there", sorted(draw.sample(range(total), 30))),
    ):
        after = changed(draw, arrays["cells"], which, 4096)
        patches.append(patch_row(name, arrays, after, (12, 40), 4096))
    return codes, wholes, patches


def othello_vectors() -> dict:
    draw = random.Random("othello")
    codes, wholes, patches = valid_rows(draw)
    arrays = random_arrays(draw, "crc32", 4096, 64, 4)
    expected = {"service": SERVICE, "buckets": 4096, "wholeGeneration": 40, "patchGeneration": 44, "patchBase": 40}
    expected["arrays"] = arrays
    after = changed(draw, arrays["cells"], [0, 50, 67], 4096)
    bodies = whole_body(arrays, 4096), patch_body(changes_between(arrays["cells"], after, 4096))
    vectors = {"indexes": index_rows(), "codes": codes, "whole": wholes, "patches": patches, "malformedFor": expected}
    vectors["malformed"] = malformed(expected, *bodies)
    for one in vectors["malformed"]:
        assert word_for(one, expected) == one["error"], (one["name"], word_for(one, expected))
    return vectors


def word_for(row: dict, expected: dict) -> str | None:
    data, buckets = bytes.fromhex(row["bytes"]), expected["buckets"]
    try:
        if row["kind"] == "whole":
            read_whole(data, row["hash"], at(expected["wholeGeneration"], 0, buckets))
        else:
            read_patch(data, expected["arrays"], at(expected["patchGeneration"], expected["patchBase"], buckets))
    except RefusedError as refused:
        return refused.args[0]
    return None


def drawn_othello(draw: random.Random) -> dict:
    files: dict = {"indexes": [], "codes": [], "whole": [], "patches": [], "malformed": []}
    for number in range(200):
        kind = draw.choice(KINDS)
        sizes = tuple(1 << draw.randrange(29) if kind == "crc32" else draw.randint(1, 1 << 28) for _ in "ab")
        seed = draw.getrandbits(64) | 1
        files["indexes"].append(index_row(f"random hash {number}", kind, draw.getrandbits(64), seed, sizes))
    for number in range(20):
        kind, buckets = draw.choice(KINDS), 1 << draw.randint(8, 16)
        na, nb = (1 << draw.randrange(9) if kind == "crc32" else draw.randint(1, 300) for _ in "ab")
        arrays = random_arrays(draw, kind, buckets, na, nb)
        files["codes"].append(codes_row(draw, f"random arrays {number}", arrays, buckets, 50))
        files["whole"].append(whole_row(f"random arrays {number}", arrays, 1 + draw.getrandbits(31), buckets))
        after = changed(draw, arrays["cells"], draw.sample(range(na + nb), draw.randrange(na + nb)), buckets)
        files["patches"].append(patch_row(f"random patch {number}", arrays, after, (9, 10 + number), buckets))
    buckets = 1 << draw.randint(8, 16)
    arrays = random_arrays(draw, "crc32", buckets, 32, 16)
    expected = {"service": SERVICE, "buckets": buckets, "wholeGeneration": 3, "patchGeneration": 5, "patchBase": 3}
    expected["arrays"] = arrays
    after = changed(draw, arrays["cells"], draw.sample(range(48), 12), buckets)
    bodies = {"whole": whole_body(arrays, buckets)}
    bodies["patch"] = patch_body(changes_between(arrays["cells"], after, buckets))
    for number in range(200):
        row = {"name": f"random fault {number}", "kind": draw.choice(["whole", "patch"]), "hash": draw.choice(KINDS)}
        row["bytes"] = _spoiled(draw, row["kind"], bodies[row["kind"]], expected).hex()
        word = word_for(row, expected)
        if word:
            files["malformed"].append(row | {"error": word})
    return files | {"malformedFor": expected}


def _spoiled(draw: random.Random, kind: str, body: bytes, expected: dict) -> bytes:
    generation, base = expected[f"{kind}Generation"], expected["patchBase"] if kind == "patch" else 0
    body = spoiled(draw, body, 1, 0, min(len(body), draw.choice([16, len(body)])))
    head = header(kind, SERVICE, generation, base, expected["buckets"], body)
    return spoiled(draw, head + zstd_frame(body), 0.3, 0.1, 32)
