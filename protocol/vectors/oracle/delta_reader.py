# SPDX-License-Identifier: Apache-2.0
"""
Reads deltas and snapshots in the order of checks of protocol/README.md, 5. Of zstd it knows raw and RLE blocks alone:
what the oracle writes, and enough to hold the vectors against a second reading.
"""

import struct
from ipaddress import ip_address

from . import RefusedError
from .address import sixteen
from .delta import MAGICS, ORDERS, ZSTD_MAGIC, owned
from .flow import crc32c


def _refuse_if(wrong: bool, word: str) -> None:
    if wrong:
        raise RefusedError(word)


def unframe(data: bytes) -> bytes:
    """The content of exactly one frame as `zstd_frame` writes it."""
    sized = data[4:5] == b"\xa0"
    _refuse_if(data[:4] != ZSTD_MAGIC or not (sized or data[4:6] == b"\x00\x38"), "compression")
    at, content, last = 9 if sized else 6, b"", False
    while not last:
        _refuse_if(at + 3 > len(data), "compression")
        block = int.from_bytes(data[at : at + 3], "little")
        last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
        at += 3
        _refuse_if(kind > 1 or at + (1 if kind else size) > len(data), "compression")
        content += data[at : at + 1] * size if kind else data[at : at + size]
        at += 1 if kind else size
    _refuse_if(at != len(data), "compression")
    _refuse_if(sized and struct.unpack("<I", data[5:9])[0] != len(content), "compression")
    return content


def read_body(data: bytes, kind: str, at: dict, least: int, most: int) -> bytes:
    """The body of what stands where a reader expects `at`'s fields; its header, frame and checksum checked."""
    _refuse_if(len(data) < 32, "truncated")
    _refuse_if(data[:4] != MAGICS[kind], "magic")
    service, generation, base, buckets, length, crc = struct.unpack("<IIIIQI", data[4:32])
    _refuse_if(service != at["service"], "service")
    _refuse_if(generation != at["generation"] or base != at["base"], "generation")
    _refuse_if(buckets != at["buckets"], "buckets")
    _refuse_if(not least <= length <= most, "length")
    body = unframe(data[32:])
    _refuse_if(len(body) != length, "length")
    _refuse_if(crc32c(data[:28] + body) != crc, "checksum")
    return body


def body_range(kind: str, buckets: int) -> tuple[int, int]:
    """The shortest and the longest possible body of a delta or snapshot."""
    least = 16 if kind == "delta" else 8 + 8 * buckets
    return least, least + 22 * 65535 + (14 * buckets if kind == "delta" else 0)


def _read_backends(body: bytes, count: int) -> list[dict]:
    backends: list[dict] = []
    for at in range(8, 8 + 22 * count, 22):
        id_, flags, weight = struct.unpack("<HHH", body[at : at + 6])
        address = body[at + 6 : at + 22]
        ascends = id_ > (backends[-1]["id"] if backends else 0)
        _refuse_if(not ascends or flags > 1 or address == bytes(16), "backend")
        text = str(ip_address(address[12:] if address[:12] == sixteen("0.0.0.0")[:12] else address))
        backends.append({"id": id_, "address": text, "removed": flags == 1, "weight": weight})
    return backends


def _check_owners(known: dict, current: int, previous: int) -> None:
    _refuse_if(current != 0 and (current not in known or known[current][1]), "run")
    _refuse_if(previous != 0 and previous not in known, "run")


def read_delta(data: bytes, image: dict, generation: int) -> dict:
    """The delta, fit for `apply` to this image."""
    at = {"service": image["service"], "generation": generation, "base": generation - 1, "buckets": image["buckets"]}
    body = read_body(data, "delta", at, *body_range("delta", image["buckets"]))
    committed, count = struct.unpack("<II", body[:8])
    runs_at = 8 + 22 * count
    _refuse_if(len(body) < runs_at + 8, "length")
    run_count, order = struct.unpack("<II", body[runs_at : runs_at + 8])
    _refuse_if(order > 1, "run")
    _refuse_if(len(body) != runs_at + 8 + (12, 14)[order] * run_count, "length")
    backends = _read_backends(body, count)
    known = image["backends"] | {b["id"]: (b["address"], b["removed"], b["weight"]) for b in backends}
    runs = _read_runs(body[runs_at + 8 :], run_count, ORDERS[order], image, known)
    change = {"generation": generation, "committed": committed, "backends": backends}
    return change | {"order": ORDERS[order], "runs": runs}


def _read_runs(columns: bytes, count: int, order: str, image: dict, known: dict) -> list[dict]:
    n, names = count, ("skip", "count", "current", "previous", "owner")
    values = struct.unpack(f"<{2 * n}I{2 * n + (n if order == 'owner' else 0)}H", columns)
    runs: list[dict] = []
    owner, end, most = None, 0, image["buckets"]
    for at in range(count):
        row = dict(zip(names, values[at::n], strict=False))
        if order == "owner" and row["owner"] != owner:
            _refuse_if(owner is not None and row["owner"] < owner, "run")
            owner, end, most = row["owner"], 0, len(owned(image, row["owner"]))
        row["start"] = end + row.pop("skip")
        end = row["start"] + row["count"]
        _refuse_if(row["count"] == 0 or end > most, "run")
        _check_owners(known, row["current"], row["previous"])
        runs.append(row)
    return runs


def read_snapshot(data: bytes, service: int, generation: int, buckets: int) -> dict:
    """The image."""
    expected = {"service": service, "generation": generation, "base": 0, "buckets": buckets}
    body = read_body(data, "snapshot", expected, *body_range("snapshot", buckets))
    _, count = struct.unpack("<II", body[:8])
    at = 8 + 22 * count
    _refuse_if(len(body) != at + 8 * buckets, "length")
    known = {b["id"]: (b["address"], b["removed"], b["weight"]) for b in _read_backends(body, count)}
    columns = struct.unpack(f"<{buckets}H{buckets}H{buckets}I", body[at:])
    rows = {n: (columns[n], columns[buckets + n], columns[2 * buckets + n]) for n in range(buckets)}
    for current, previous, _ in rows.values():
        _check_owners(known, current, previous)
    return {"service": service, "generation": generation, "buckets": buckets, "backends": known, "rows": rows}
